"""The encoding of a whole CSV file, which can be larger than memory."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from foundation.charset import SAMPLE, detect_encoding
from foundation.errors import DamagedFile

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class CsvEncoding:
    """`replace`: some bytes are not valid and show as U+FFFD. `has_nul`: characters that no database stores."""

    name: str
    guessed: bool = False
    replace: bool = False
    has_nul: bool = False


def csv_encoding(path: Path, file_name: str) -> CsvEncoding:
    """Byte order mark, UTF-16 pattern, strict UTF-8 over all bytes, else a guess around the first byte that breaks it.

    A few broken bytes among many valid UTF-8 letters are damage, not another encoding. DamagedFile when the file is no
    text.
    """
    with path.open("rb") as file:
        head = file.read(SAMPLE)
    found = detect_encoding(head)
    if found is None:
        raise DamagedFile(f"{file_name} is binary data, not text.", fix="Save it as CSV in UTF-8 and upload it again.")
    if found.startswith(("utf-16", "utf-32")):
        return CsvEncoding(found, replace=True, has_nul=True)
    broken, has_nul = _check_utf8(path)
    if broken is None:
        return CsvEncoding(found if found == "utf-8-sig" else "utf-8", has_nul=has_nul)
    with path.open("rb") as file:
        file.seek(max(0, broken - SAMPLE // 2))
        around = file.read(SAMPLE)
    legacy = detect_encoding(around)
    if found == "utf-8-sig" or legacy is None or legacy.startswith("utf") or _mostly_utf8(around):
        return CsvEncoding("utf-8-sig", replace=True, has_nul=has_nul)
    return CsvEncoding(legacy, guessed=True, replace=True, has_nul=has_nul)


def _mostly_utf8(sample: bytes) -> bool:
    letters = [char for char in sample.decode("utf-8", errors="replace") if not char.isascii()]
    return letters.count("\ufffd") < len(letters) / 4


def _check_utf8(path: Path) -> tuple[int | None, bool]:
    """(offset of the first byte that is not UTF-8, whether there is a NUL before it)."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, has_nul = 0, False
    with path.open("rb") as file:
        while True:
            block = file.read(_BLOCK)
            pending = len(decoder.getstate()[0])
            has_nul = has_nul or b"\0" in block
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return offset - pending + error.start, has_nul
            if not block:
                return None, has_nul
            offset += len(block)
