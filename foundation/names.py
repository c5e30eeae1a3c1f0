"""What of a given file name is kept: for display and as a hint, never as a path."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from foundation.errors import NameRefused

MAX_BYTES = 200
"""Longest name kept, in UTF-8 bytes. Below the 255 of most file systems, so that a suffix still fits."""

_SEPARATORS = re.compile(r"[/\\]+")
# Cc control, Cf format (bidi overrides, zero-width), Cs lone surrogates, Co private use, Zl/Zp line separators.
_DROPPED = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def safe_name(raw: str) -> str:
    """The last path part of `raw` in NFC without control, format or bidi characters, at most MAX_BYTES long.

    A name that is too long loses the end of its stem and keeps its extension. Raises NameRefused for a NUL, or when
    nothing is left of the name.
    """
    if "\0" in raw:
        raise NameRefused("The file name holds a NUL character.")
    last = _SEPARATORS.split(raw.strip())[-1]
    kept = "".join(c for c in unicodedata.normalize("NFC", last) if unicodedata.category(c) not in _DROPPED)
    name = " ".join(kept.split())
    if not name.strip(". "):
        raise NameRefused("The file name has no visible character in its last path part.")
    return _shorten(name)


def _shorten(name: str) -> str:
    if len(name.encode()) <= MAX_BYTES:
        return name
    path = PurePosixPath(name)
    suffix = path.suffix if len(path.suffix.encode()) <= MAX_BYTES // 4 else ""
    stem = name[: len(name) - len(suffix)].encode()[: MAX_BYTES - len(suffix.encode())]
    return stem.decode(errors="ignore").rstrip() + suffix
