"""Reading the repository's Markdown: sections, tables, links, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NOT_OURS = {"tmp", "build", "node_modules"}
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> list[Path]:
    """Every Markdown file of the repository, without hidden and built folders."""
    tops = [p for p in ROOT.iterdir() if not p.name.startswith(".") and p.name not in _NOT_OURS]
    found = [p for p in tops if p.suffix == ".md"]
    for folder in tops:
        if folder.is_dir():
            found += [p for p in folder.rglob("*.md") if not {"target", "node_modules"} & set(p.parts)]
    return sorted(found)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def sections(text: str, level: int) -> dict[str, str]:
    """Heading of this level without backticks → the text under it, up to the next heading of its level or above."""
    blank = _FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence.group()), text)
    heads = [(len(m[1]), m[2].replace("`", ""), m.start(), m.end()) for m in _HEADING.finditer(blank)]
    found = {}
    for place, (own, title, _, end) in enumerate(heads):
        if own == level:
            stop = next((start for other, _, start, _ in heads[place + 1 :] if other <= level), len(text))
            found[title] = text[end:stop]
    return found


def rows(text: str) -> list[list[str]]:
    """The cells of every table row but headers and rules, without backticks around a whole cell."""
    found = []
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("|") and not line.startswith("|---") and not following.startswith("|---"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            found.append([re.sub(r"^`([^`]*)`$", r"\1", cell) for cell in cells])
    return found


def code(text: str) -> set[str]:
    """What stands in backticks, outside of fenced blocks."""
    return set(re.findall(r"`([^`\n]+)`", _FENCE.sub("", text)))


def fences(text: str) -> list[str]:
    return _FENCE.findall(text)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """(file, anchor) of each link of the page that stays in the repository."""
    for target in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z][a-z+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        yield (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", m[2].lower()).replace(" ", "-") for m in _HEADING.finditer(text)}
