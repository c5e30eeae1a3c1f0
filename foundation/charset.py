"""Which encoding a text is in, from its first bytes; None says that it is no text."""

from __future__ import annotations

import codecs
import re

from charset_normalizer import from_bytes

SAMPLE = 64 * 1024
"""Bytes looked at for a guess; a strict UTF-8 check of the whole is the caller's (see text.py)."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_LEGACY = ["cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp949", "gb18030", "big5"]
"""What text of before Unicode is in, one code page a script; rarer ones only bring wrong guesses on short files."""


def detect_encoding(head: bytes) -> str | None:
    """A Python codec name for text that starts with `head`, or None if it is binary.

    In this order: byte order mark; the NUL pattern of UTF-16 without one; strict UTF-8; charset-normalizer's guess;
    Windows-1252, which is what single-byte Latin text nearly always is.
    """
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding
    sample = head[:SAMPLE]
    if wide := _utf16_without_mark(sample):
        return wide
    if not _few_controls(sample):
        return None
    if _is_utf8(sample):
        return "utf-8"
    return _legacy(sample)


def _utf16_without_mark(sample: bytes) -> str | None:
    pairs = len(sample) // 2
    if pairs < 2:
        return None
    low, high = sample[0 : pairs * 2 : 2], sample[1 : pairs * 2 : 2]
    zeros_low, zeros_high = low.count(0) / pairs, high.count(0) / pairs
    for zeros, other, encoding in ((zeros_high, zeros_low, "utf-16-le"), (zeros_low, zeros_high, "utf-16-be")):
        if zeros > 0.4 and other < 0.05:
            text = sample[: pairs * 2].decode(encoding, errors="replace")
            if sum(c < " " and c not in "\t\n\r\f\v" for c in text) <= len(text) * 0.02:
                return encoding
    return None


def _few_controls(sample: bytes) -> bool:
    return len(_CONTROL.findall(sample)) <= max(2, len(sample) * 0.02)


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _legacy(sample: bytes) -> str | None:
    if b"\0" in sample and not _mostly_ascii(sample):
        return None
    for encoding in ("cp932", "euc_jp"):
        if _is_japanese(sample, encoding):
            return encoding
    matches = from_bytes(sample, cp_isolation=_LEGACY, threshold=0.3)
    best = matches.best()
    if best is None:
        return _single_byte(sample) if _mostly_ascii(sample) else None
    # Short Western text fits several code pages equally well, and Windows-1252 is by far the likeliest.
    if any("cp1252" in match.could_be_from_charset and match.chaos <= best.chaos for match in matches):
        return "cp1252"
    return best.encoding


def _is_japanese(sample: bytes, encoding: str) -> bool:
    """Kana are in any Japanese sentence, and next to no other text decodes to them."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample, final=False)
    wide = [c for c in text if c > "\x7f"]
    return bool(wide) and "\ufffd" not in text and sum("\u3040" <= c <= "\u30ff" for c in wide) >= 0.15 * len(wide)


def _mostly_ascii(sample: bytes) -> bool:
    return sum(byte < 128 for byte in sample) >= 0.7 * len(sample)


def _single_byte(sample: bytes) -> str:
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


# What pages and mails call an encoding, and the larger one that programs write under that name (WHATWG Encoding).
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis_620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "hz": "hz",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso2022_jp": "iso2022_jp_ext",
}
_OTHER_NAMES = {"x-sjis": "cp932", "x-gbk": "gb18030", "ks_c_5601-1987": "cp949", "x-euc-jp": "euc_jp", "unicode": "utf-16"}


def codec_of(label: str) -> str | None:
    """The codec for the name that a page or a mail gives its encoding; None for a name that nobody knows."""
    name = label.strip(" \t\"'").casefold()
    try:
        codec = codecs.lookup(_OTHER_NAMES.get(name, name))
    except (LookupError, ValueError):
        return None
    if not codec._is_text_encoding:  # rot13 and the like
        return None
    return _MEANT.get(codec.name, codec.name)
