"""What of a given file name is kept: for display and as a hint, never as a path."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from foundation.errors import NameRefused
from foundation.media_kinds import BY_EXTENSION

MAX_BYTES = 200
"""Longest name kept, in UTF-8 bytes. Below the 255 of most file systems, so that a suffix still fits."""

FILE = "\u2039file\u203a"
"""Stands for the file's name in what is derived from bytes alone: equal bytes under other names share it."""

_FILE = re.compile(FILE + r"(\.[a-z0-9]{1,10}\b)?")
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


def without_name(file_name: str) -> str:
    """What a parser is told instead of the name: FILE, with the extension when it is one of a known type."""
    suffix = PurePosixPath(file_name).suffix.lower()
    return FILE + (suffix if suffix[1:] in BY_EXTENSION else "")


def with_name(message: str, file_name: str) -> str:
    """A parser's message as the holder of a document reads it."""
    return _FILE.sub(lambda _: file_name, message)


def _shorten(name: str) -> str:
    if len(name.encode()) <= MAX_BYTES:
        return name
    path = PurePosixPath(name)
    suffix = path.suffix if len(path.suffix.encode()) <= MAX_BYTES // 4 else ""
    stem = name[: len(name) - len(suffix)].encode()[: MAX_BYTES - len(suffix.encode())]
    return stem.decode(errors="ignore").rstrip() + suffix
