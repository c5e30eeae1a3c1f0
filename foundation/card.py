"""A document's knowledge card: where it comes from, since when it holds, what it takes the place of.

It comes from form fields, from a sidecar `NAME.meta.json` beside the file `NAME`, or from the front matter of a
Markdown file; in this order, field by field.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any

import yaml

from foundation.errors import CardRefused

KEPT_FIELDS = ("document_type", "authority", "source_url", "accessed_at", "licence")
"""A new version that does not say them keeps those of the version before."""
VERSION_FIELDS = ("effective_date", "supersedes", "amends")
"""Of one version: the next one has them only if it says so itself."""
RELATIONS = ("supersedes", "amends")
FIELDS = KEPT_FIELDS + VERSION_FIELDS
IGNORED = "ignored"
"""Key of the card under which stands what could not be taken, for the reader."""

LIMITS = {
    "document_type": 100, "authority": 200, "source_url": 2000, "accessed_at": 40, "licence": 200,
    "effective_date": 40, "supersedes": 300, "amends": 300,
}  # fmt: skip
"""Most characters of a field; of `supersedes` and `amends`, of each entry."""
MOST_ENTRIES = 50
SIDECAR = ".meta.json"
SIDECAR_BYTES = 64_000
FRONT_MATTER_BYTES = 64_000

Card = dict[str, Any]
"""Field → text, or for a relation a list of texts; only what was given."""

_OTHER_NAMES = {"license": "licence", "url": "source_url", "source": "source_url", "accessed": "accessed_at",
                "type": "document_type", "effective": "effective_date", "effective_from": "effective_date",
                "replaces": "supersedes", "amendment_to": "amends"}  # fmt: skip
_FRONT_MATTER = re.compile(rb"\A(?:\xef\xbb\xbf)?---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def checked(values: Mapping[str, Any], where: str = "") -> Card:
    """The card's fields among these values. CardRefused names the field, and `where` it stands, when one is wrong."""
    card: Card = {}
    for given, value in values.items():
        key = re.sub(r"[\s-]+", "_", str(given).strip().casefold())
        name = _OTHER_NAMES.get(key, key)
        if name not in FIELDS or value is None:
            continue
        found = _entries(name, value, where) if name in RELATIONS else _text(name, value, where)
        if found:
            card[name] = found
    if "effective_date" in card:
        card["effective_date"] = _moment(card, "effective_date", where).date().isoformat()
    if "accessed_at" in card:
        _moment(card, "accessed_at", where)
    return card


def tolerant(values: Mapping[str, Any], where: str) -> Card:
    """`checked`, but a wrong field is left out and named under IGNORED: for what nobody waits to have corrected."""
    card: Card = {}
    for given, value in values.items():
        try:
            card.update(checked({given: value}, where))
        except CardRefused as error:
            card.setdefault(IGNORED, []).append(error.message)
    return card


def merged(*cards: Card) -> Card:
    """The first card that has a field says it."""
    whole: Card = {}
    for card in cards:
        for name, value in card.items():
            if name == IGNORED:
                whole[IGNORED] = [*whole.get(IGNORED, []), *value]
            else:
                whole.setdefault(name, value)
    return whole


def described_by(name: str) -> str | None:
    """The name of the file that the sidecar `name` describes; None when it is no sidecar."""
    stem = name[: -len(SIDECAR)]
    return stem if name.casefold().endswith(SIDECAR) and PurePosixPath(stem).name else None


def read_sidecar(data: bytes, name: str) -> dict[str, Any]:
    """The JSON object of a sidecar. CardRefused."""
    if len(data) > SIDECAR_BYTES:
        raise CardRefused(f"{name} has {len(data):,} bytes; a sidecar has at most {SIDECAR_BYTES:,}.")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        line = f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
        raise CardRefused(
            f"{name}: {line}it is no JSON.", fix="Write one JSON object with the card's fields."
        ) from error
    if not isinstance(value, dict):
        raise CardRefused(f"{name} holds no JSON object.", fix='Write one such as {"licence": "CC0"}.')
    return value


def front_matter(head: bytes, name: str) -> Card:
    """The card out of the YAML at the top of a Markdown file; empty when there is none, or it is something else."""
    found = _FRONT_MATTER.match(head[:FRONT_MATTER_BYTES])
    if found is None:
        return {}
    try:
        value = yaml.safe_load(found[1].decode())
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        return {IGNORED: [f"{name}: the lines between --- at its top are no YAML."]}
    return tolerant(value, name) if isinstance(value, dict) else {}


def _text(name: str, value: Any, where: str) -> str:
    if isinstance(value, datetime | date):
        value = value.isoformat()
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise CardRefused(f"{_at(where)}{name} is no text.", fix=f"Write {name} as text.")
    text = " ".join(str(value).split())
    if len(text) > LIMITS[name]:
        raise CardRefused(f"{_at(where)}{name} has {len(text):,} characters; at most {LIMITS[name]} are kept.")
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
        raise CardRefused(f"{_at(where)}{name} holds a control character.", fix="Leave it out.")
    return text


def _entries(name: str, value: Any, where: str) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    if len(values) > MOST_ENTRIES:
        raise CardRefused(f"{_at(where)}{name} has {len(values)} entries; at most {MOST_ENTRIES} are kept.")
    return list(dict.fromkeys(text for entry in values if (text := _text(name, entry, where))))


def _moment(card: Card, name: str, where: str) -> datetime:
    try:
        return datetime.fromisoformat(card[name])
    except ValueError as error:
        raise CardRefused(
            f"{_at(where)}{name}: {card[name]!r} is no date.", fix="Write it as YYYY-MM-DD, such as 2026-01-31."
        ) from error


def _at(where: str) -> str:
    return f"{where}: " if where else ""
