"""Where sentences stand in a text: rules, no model, exact offsets. The chunker and the offline answers both cut here.

Rules after Golden Rules of pragmatic segmenters: a full stop ends a sentence unless an abbreviation, an initial, a
decimal or a list number owns it, or a small letter follows. Blank lines, list items and table rows always part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

Span = tuple[int, int]

_BULLET = r"(?:[•‣⁃∙▪■□●○◦◆➢✓✔\uf0b7\uf0a7]|[-–—*+](?=[ \t])|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{2,5})[.)](?=[ \t]))"
_MARK = re.compile(r"[\n.!?…。！？]")
"""What every candidate starts with: looked for alone, it is found six times as fast."""
_CANDIDATE = re.compile(
    rf"""(?P<blank>\n[^\S\n]*\n\s*)
    | (?P<line>\n[ \t]*)(?=(?P<item>{_BULLET})?)
    | (?P<wide>[。！？]["”’」』）]*)
    | (?P<stop>(?<![.!?…])[.!?…]++["'”’»)\]]*+(?:\[\d[\d,–\-]*+\])?
      |(?<=[a-z)])\.\d{{1,3}}(?:[,–\-]\d{{1,3}}){{0,9}})(?P<gap>\s++)(?=\S)""",
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"“]{1,24}\Z")
_NEXT_WORD = re.compile(r"[\"'“‘(\[]*([A-Za-z']+)")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# An abbreviation that needs a word after it.
_NEVER_LAST = _words(
    """
    dr mr mrs ms prof rev hon gen col capt lt sgt fig figs eq ref refs sec ch vol vols no nos nr art dept est
    approx ca vs cf e.g i.e eg ie viz al resp incl excl max min avg st mt ft bzw vgl z.b d.h u.a s.o jan feb mar
    apr jun jul aug sep sept oct nov dec pp p ed eds trans tab tabl caps inj
    """
)
# One that may end a sentence as well: it does when the next word opens sentences.
_MAYBE_LAST = _words(
    """
    etc inc ltd co corp jr sr a.m p.m ph.d m.d b.i.d t.i.d q.i.d usw
    """
)
_OPENERS = _words(
    """
    the a an this that these those it its he she they we you i there here in on at for from to of with without if
    when while after before as by however but and or so because since although though some many most all each
    every no not do does did is are was were can could may might should would will your our their his her what who
    why how where which take use patients people adults children women men treatment symptoms
    """
)
# A capital after one of these is a kind, not somebody's initial.
_KINDS = _words(
    """
    vitamin hepatitis type group influenza class grade stage table figure appendix schedule factor phase plan part
    option category model strain serogroup immunoglobulin medicare
    """
)


def split_sentences(text: str) -> list[Span]:
    """(start, end) of each sentence of `text`, in order, without outer white space; together they hold all the rest."""
    cuts = [0]
    for match in _candidates(text):
        if _ends_sentence(text, match):
            cuts.append(match.end())
    cuts.append(len(text))
    return [span for start, end in pairwise(cuts) if (span := _trim(text, start, end)) is not None]


def _candidates(text: str) -> Iterator[re.Match[str]]:
    end = 0
    for mark in _MARK.finditer(text):
        if mark.start() >= end and (match := _CANDIDATE.match(text, mark.start())):
            end = match.end()
            yield match


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match["blank"] or match["wide"] or match["item"]:
        return True
    if match["line"]:
        return _in_table(text, match.start(), match.end())
    if match["gap"].count("\n") > 1 or ("\n" in match["gap"] and re.match(_BULLET, text[match.end() :][:8])):
        return True
    if text[match.end()].islower():
        return False  # `asked? he said`, `(approx. five)`
    return match["stop"][0] != "." or len(match["stop"].rstrip("\"'”’»)]")) > 1 or _full_stop(text, match)


def _full_stop(text: str, match: re.Match[str]) -> bool:
    found = _WORD_BEFORE.search(text, max(0, match.start() - 24), match.start())
    if found is None:
        return True
    word = found[0].lower()
    if word in _NEVER_LAST:
        return False
    if word.isdigit() or (len(word) == 1 and word.isalpha()):
        line_start = text.rfind("\n", max(0, found.start() - 80), found.start()) + 1
        if not text[line_start : found.start()].strip() and found.start() - line_start < 80:
            return False  # the number of a list item
    next_word = _NEXT_WORD.match(text, match.end())
    opens = next_word is None or next_word[1].lower() in _OPENERS
    if word in _MAYBE_LAST or re.fullmatch(r"(?:[a-z]\.)+[a-z]", word):
        return opens
    if len(word) == 1 and found[0].isupper():
        before = text[max(0, found.start() - 24) : found.start()].split()
        return opens or (bool(before) and before[-1].lower() in _KINDS)
    return True


def _in_table(text: str, line_end: int, next_line: int) -> bool:
    """Rows are lines whose cells ` | ` parts."""
    before = text[max(text.rfind("\n", 0, line_end), line_end - 400, 0) : line_end]
    stop = text.find("\n", next_line, next_line + 400)
    after = text[next_line : stop if stop >= 0 else next_line + 400]
    return " | " in before or " | " in after


def _trim(text: str, start: int, end: int) -> Span | None:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = start + len(piece.rstrip())
    return (left, right) if left < right else None
