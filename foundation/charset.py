"""Which encoding a text is in, from its first bytes; None says that it is no text."""

from __future__ import annotations

import codecs
import re
import unicodedata

import chardet

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
_WESTERN = "cp1252"
_UNSURE = 0.1
_FEW = 4
"""So few letters prove nothing."""
_CLOSE = (0.25, 0.05)
"""Below the first confidence, a rival must be better than Windows-1252 by the second."""
_LIKELY = frozenset(
    "cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp874 iso8859-2 iso8859-5 iso8859-7 iso8859-15 koi8-r "
    "koi8-u cp866 cp850 cp852 cp437 mac-roman mac-cyrillic big5hkscs gb18030 cp932 euc_jp cp949 hz iso2022_jp_ext "
    "iso2022_kr utf-16-le utf-16-be utf-32-le utf-32-be".split()
)
"""What text of before Unicode is in; rarer ones only bring wrong guesses on short files."""
_WIDE_SCRIPTS = (
    "CJK",
    "HIRAGANA",
    "KATAKANA",
    "HANGUL",
    "THAI",
    "IDEOGRAPHIC",
    "FULLWIDTH",
    "HALFWIDTH",
    "LATIN",
    "DIGIT",
)


def detect_encoding(head: bytes) -> str | None:
    """A Python codec name for text that starts with `head`, or None if it is binary.

    In this order: byte order mark; the NUL pattern of UTF-16 or -32 without one; the escapes of ISO 2022; strict UTF-8;
    chardet's guess, with Windows-1252 as what short Western text nearly always is.
    """
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding
    sample = head[:SAMPLE]
    if wide := _utf16_without_mark(sample):
        return wide
    if escaped := _iso2022(sample):
        return escaped
    if not _few_controls(sample):
        return _wide(sample)
    if _is_utf8(sample):
        return "utf-8"
    return _legacy(sample) or _wide(sample)


def decoded(raw: bytes, otherwise: str = "cp1252") -> str:
    """`raw` in the encoding that it looks like, or in `otherwise` where it looks like no text."""
    return raw.decode(detect_encoding(raw) or otherwise, errors="replace")


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
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=len(sample) < SAMPLE)
    except UnicodeDecodeError:
        return False
    return True


def _iso2022(sample: bytes) -> str | None:
    """Japanese and Korean of mails and old systems: ASCII bytes with escape sequences, and Chinese HZ."""
    if sample.startswith(b"\x1b$)C") or b"\n\x1b$)C" in sample:
        return "iso2022_kr"
    if b"\x1b$B" in sample or b"\x1b$@" in sample:
        return "iso2022_jp_ext"
    if b"~{" in sample and b"~}" in sample and sample.isascii():
        pairs = re.findall(rb"~\{((?:[\x21-\x77][\x21-\x7e]){2,})~\}", sample)
        return "hz" if pairs and sum(map(len, pairs)) * 4 >= len(sample) else None
    return None


def _wide(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, in a script whose characters have no zero bytes."""
    guess = chardet.detect(sample)["encoding"] if b"\0" in sample else None
    codec = codec_of(guess) if guess else None
    if codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be") and _reads_well(sample, codec):
        return codec
    return next((codec for codec in ("utf-16-le", "utf-16-be") if _reads_well(sample, codec, scripts=True)), None)


def _reads_well(sample: bytes, codec: str, *, scripts: bool = False) -> bool:
    """Whether nearly all characters are assigned; with `scripts`, of the East and with their own punctuation."""
    text = sample[: len(sample) // 4 * 4].decode(codec, errors="replace")[:2000]
    strange = sum(
        c == "\ufffd" or (unicodedata.category(c) in ("Cn", "Co", "Cs", "Cc") and c not in "\t\r\n") for c in text
    )
    if not text or strange * 100 > len(text):
        return False
    if not scripts:
        return True
    eastern = sum(unicodedata.name(c, "").startswith(_WIDE_SCRIPTS) for c in text)
    marks = sum(c in "\n 、。，．・\u3000" for c in text)
    return len(text) >= 8 and marks > 0 and (eastern + marks) * 20 >= len(text) * 19


def _legacy(sample: bytes) -> str | None:
    if b"\0" in sample and not _mostly_ascii(sample):
        return None
    for encoding in ("cp932", "euc_jp"):
        if _is_japanese(sample, encoding):
            return encoding
    guesses = ((codec_of(g["encoding"] or ""), g["confidence"]) for g in chardet.detect_all(sample))
    likely = [(codec, confidence) for codec, confidence in guesses if codec in _LIKELY]
    if not likely:
        return _single_byte(sample) if _mostly_ascii(sample) else None
    best, confidence = likely[0]
    few = sum(byte > 127 for byte in sample) < _FEW
    if not _mostly_ascii(sample) and not few:
        return best
    western = dict(reversed(likely)).get(_WESTERN, 0.0)
    close = confidence < _CLOSE[0] and confidence - western <= _CLOSE[1]
    first = _WESTERN if confidence < _UNSURE or close or few else best
    rivals = dict.fromkeys([first, _WESTERN, *(codec for codec, _ in likely[:5]), "cp850", "mac-roman"])
    chosen = min(rivals, key=lambda codec: _oddities(sample, codec))  # the first of equals
    return _single_byte(sample) if chosen == _WESTERN else chosen


def _is_japanese(sample: bytes, encoding: str) -> bool:
    """Kana are in any Japanese sentence, and next to no other text decodes to them."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(sample, final=False)
    wide = [c for c in text if c > "\x7f"]
    return bool(wide) and "\ufffd" not in text and sum("\u3040" <= c <= "\u30ff" for c in wide) >= 0.15 * len(wide)


def _oddities(sample: bytes, codec: str) -> int:
    """Letters of words that come out as signs, as controls, or as capitals after a small letter."""
    text = sample.decode(codec, errors="replace")
    odd = 0
    for match in re.finditer(r"[^\x00-\x7f]", text):
        char, before, after = match[0], text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        if char == "\ufffd" or unicodedata.category(char) == "Cc":
            odd += 1
        elif char.isalpha():
            odd += char.isupper() and before.islower()
        else:
            odd += before.isalpha() and after.isalpha() and char not in "’‘´·-–—"
    return odd


def _mostly_ascii(sample: bytes) -> bool:
    return sum(byte < 128 for byte in sample) >= 0.7 * len(sample)


def _single_byte(sample: bytes) -> str:
    try:
        sample.decode(_WESTERN)
    except UnicodeDecodeError:
        return "latin-1"
    return _WESTERN


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
_OTHER_NAMES = {
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "x-euc-jp": "euc_jp",
    "unicode": "utf-16",
}


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
