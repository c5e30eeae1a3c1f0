"""Memory that was freed and that the C library keeps for later: long-lived programs give it back once they are loaded.

glibc gives back only what lies at the end of its heap, so one small object keeps the tens of megabytes before it.
"""

from __future__ import annotations

import ctypes
import gc


def give_back() -> None:
    """To the system, some milliseconds; nothing happens where the C library has no such call."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def settle() -> None:
    """Once a program has loaded what it keeps: give back the rest, and leave what is kept out of garbage collections,
    which would write to every object's page, and so copy it in each fork."""
    gc.collect()
    gc.freeze()
    give_back()
