"""A domain's words for tables, columns and coded values: data of `domains/<domain>/table_terms.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from foundation.errors import ConfigurationError


class _Term(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Entity(_Term):
    """A kind of thing that tables hold. `verbs` imply it; `weak_verbs` only choose between readings of a value."""

    name: str
    words: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    weak_verbs: tuple[str, ...] = ()
    match: Literal["exact", "contains"] = "exact"
    """contains: a value that is named stands for every value that has it inside (a drug and its strengths)."""


class ColumnTerm(_Term):
    """`additive`: a sum over rows means something, so that "the highest" of a group is the highest sum."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    additive: bool = False
    money: bool = False


class Meaning(_Term):
    stored: tuple[str, ...]
    words: tuple[str, ...]


class ValueTerm(_Term):
    columns: tuple[str, ...]
    meanings: tuple[Meaning, ...]


class DateWords(_Term):
    start: tuple[str, ...] = ("start", "date")
    stop: tuple[str, ...] = ("stop", "end")
    birth: tuple[str, ...] = ()
    death: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Terms(_Term):
    entities: tuple[Entity, ...] = ()
    columns: tuple[ColumnTerm, ...] = ()
    labels: tuple[str, ...] = ("name", "description", "title", "label")
    dates: DateWords = DateWords()
    values: tuple[ValueTerm, ...] = ()


def load_terms(path: Path) -> Terms:
    """Terms of a YAML file. ConfigurationError names the file and the field."""
    try:
        return Terms.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (ValidationError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{path}: {error}", fix="Correct the field that the message names.") from error
