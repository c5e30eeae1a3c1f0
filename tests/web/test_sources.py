"""What can be seen in the page's files without a browser: no markup from strings, nothing foreign, enough contrast."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "query_service" / "web"
SCRIPTS = sorted(WEB.glob("*.js"))
_PAIRS = [
    ("text", "ground"), ("text", "surface"), ("text", "raised"), ("text", "accent-ground"), ("text", "bad-ground"),
    ("text", "warn-ground"), ("faint", "ground"), ("faint", "surface"), ("faint", "raised"), ("accent", "ground"),
    ("accent", "surface"), ("accent", "accent-ground"), ("on-accent", "accent"), ("good", "good-ground"),
    ("warn", "warn-ground"), ("bad", "bad-ground"), ("bad", "surface"), ("on-mark", "mark"),
]  # fmt: skip


def test_no_script_makes_markup_or_code_from_a_string() -> None:
    makers = re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|srcdoc)\b")
    assert SCRIPTS
    assert [f"{path.name}: {found[0]}" for path in SCRIPTS if (found := makers.search(path.read_text()))] == []


def test_no_file_names_another_host() -> None:
    named = {
        f"{path.name}: {address}"
        for path in WEB.iterdir()
        for address in re.findall(r"https?://[\w.-]+", path.read_text())
        if address != "http://www.w3.org"  # the namespace of SVG
    }
    assert named == set()


def test_pages_have_no_inline_script_or_style() -> None:
    for path in WEB.glob("*.html"):
        text = path.read_text()
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text), path.name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_by_at_least_4_5_to_1(scheme: str) -> None:
    """Contrast as WCAG 2.2 defines it (success criterion 1.4.3)."""
    light, dark = re.findall(r":root \{(.*?)\}", (WEB / "base.css").read_text(), re.S)[:2]
    colours = _colours(light) | (_colours(dark) if scheme == "dark" else {})
    weak = {pair: round(_contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in _PAIRS}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}


def _colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): #([0-9a-f]{6});", block))


def _contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
