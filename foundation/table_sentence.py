"""The sentence by which a table's text introduces it: the pipelines write it, and an SQL answer cites it."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.types import Column


def table_sentence(row_count: int, columns: Sequence[Column]) -> str:
    labels = ", ".join(" ".join(column.label.split()) for column in columns)
    return f"Table of {row_count} rows with the columns {labels}."
