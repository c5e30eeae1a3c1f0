"""What is taken from a form, a sidecar or front matter, and what is refused by name."""

from __future__ import annotations

import json

import pytest

from foundation.card import LIMITS, checked, described_by, front_matter, merged, read_sidecar, tolerant
from foundation.errors import CardRefused


def test_fields_are_found_under_their_usual_names_and_others_are_left() -> None:
    card = checked({"License": "CC0", "Effective Date": "2026-01-31", "replaces": "old.pdf", "colour": "red"})
    assert card == {"licence": "CC0", "effective_date": "2026-01-31", "supersedes": ["old.pdf"]}


def test_blank_and_missing_fields_are_not_there() -> None:
    assert checked({"licence": "  ", "authority": None, "supersedes": ["", " "]}) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("licence", "x" * (LIMITS["licence"] + 1)),
        ("source_url", "https://example.org/" + "x" * LIMITS["source_url"]),
        ("supersedes", ["x" * (LIMITS["supersedes"] + 1)]),
        ("supersedes", [str(n) for n in range(51)]),
        ("effective_date", "31.01.2026"),
        ("accessed_at", "yesterday"),
        ("authority", "a\0b"),
        ("authority", {"a": 1}),
    ],
)
def test_what_is_wrong_is_refused_with_422_by_its_name(field: str, value: object) -> None:
    with pytest.raises(CardRefused) as caught:
        checked({field: value}, "a.pdf.meta.json")
    assert (caught.value.code, caught.value.status) == ("card_refused", 422)
    assert caught.value.message.startswith(f"a.pdf.meta.json: {field}")
    left = tolerant({field: value, "licence" if field != "licence" else "authority": "kept"}, "a.pdf.meta.json")
    assert "kept" in left.values()
    assert field in left["ignored"][0]


def test_a_sidecar_is_a_json_object_and_says_which_file_it_describes() -> None:
    assert described_by("a.pdf.META.json") == "a.pdf"
    assert described_by("inbound/a.pdf.meta.json") == "inbound/a.pdf"
    assert described_by("a.json") is described_by(".meta.json") is None
    for data in (b"{", b"[1]", b"\xff\xfe", b"[" * 60_000, b"{}" + b" " * 64_000):
        with pytest.raises(CardRefused, match=r"a\.pdf\.meta\.json"):
            read_sidecar(data, "a.pdf.meta.json")
    assert read_sidecar(json.dumps({"licence": "CC0"}).encode(), "a") == {"licence": "CC0"}


def test_front_matter_is_yaml_between_dashes_at_the_top_and_nowhere_else() -> None:
    fields = b"license: CC0\r\neffective_date: 2026-01-31\r\nsupersedes: [a.md, b.md]"
    text = b"\xef\xbb\xbf---\r\n" + fields + b"\r\n---\r\n# Title\r\n"
    assert front_matter(text, "c.md") == {
        "licence": "CC0",
        "effective_date": "2026-01-31",
        "supersedes": ["a.md", "b.md"],
    }
    assert front_matter(b"# Title\n---\nlicense: CC0\n---\n", "c.md") == {}
    assert front_matter(b"---\nA rule above.\n---\n", "c.md") == {}
    assert "c.md" in front_matter(b"---\na: [\n---\n", "c.md")["ignored"][0]
    assert front_matter(b"---\n!!python/object/apply:os.system ['true']\n---\n", "c.md")["ignored"]


def test_the_first_card_that_has_a_field_says_it() -> None:
    form, sidecar, matter = {"licence": "A"}, {"licence": "B", "authority": "B", "ignored": ["x"]}, {"authority": "C"}
    assert merged(form, sidecar, matter) == {"licence": "A", "authority": "B", "ignored": ["x"]}
