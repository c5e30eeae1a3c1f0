"""Which physical search index answers (the alias), which is being built beside it, which waits to be dropped."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from foundation.registry.tables import search_indexes

State = Literal["serving", "building", "rejected", "retired"]


@dataclass(frozen=True, slots=True)
class PhysicalIndex:
    """What every vector and every chunk of one physical index is made with."""

    model: str
    revision: str
    dimension: int
    chunker: str

    @property
    def name(self) -> str:
        chunker = self.chunker.replace("/", "-").replace("@", "-")
        return f"{self.model}-{self.revision[:12]}-{self.dimension}-{chunker}"


def serving(connection: Connection, first: PhysicalIndex) -> PhysicalIndex:
    """The index that answers; `first` becomes it where none does yet."""
    found = _serving(connection)
    if found is None:
        connection.execute(
            upsert(search_indexes)
            .values(**_columns(first), state="serving", serving_since=func.clock_timestamp())
            .on_conflict_do_nothing()
        )
        found = _serving(connection)
    return _index(found) if found is not None else first


def others(connection: Connection) -> list[PhysicalIndex]:
    """The indexes that lie beside the serving one: being built, or retired and not dropped yet."""
    rows = connection.execute(select(search_indexes).where(search_indexes.c.state.in_(["building", "retired"])))
    return [_index(row) for row in rows]


def start_building(connection: Connection, index: PhysicalIndex, *, again: bool) -> bool:
    """Whether this index may be built now: not when it answers already, nor, unless `again`, when it was rejected."""
    state = connection.execute(
        select(search_indexes.c.state).where(search_indexes.c.name == index.name).with_for_update()
    ).scalar_one_or_none()
    if state == "serving" or (state == "rejected" and not again):
        return False
    values: dict[str, Any] = {"state": "building", "reason": None, "retired_at": None, "report": {}}
    statement = upsert(search_indexes).values(**_columns(index), **values)
    connection.execute(statement.on_conflict_do_update(index_elements=[search_indexes.c.name], set_=values))
    return True


def save_report(
    connection: Connection, index: PhysicalIndex, report: dict[str, Any], rejected_because: str | None
) -> None:
    """What the evaluation found of an index that is being built; with a reason, it is rejected."""
    state = "building" if rejected_because is None else "rejected"
    connection.execute(
        update(search_indexes)
        .where(search_indexes.c.name == index.name, search_indexes.c.state == "building")
        .values(state=state, reason=rejected_because, report=report)
    )


def get(connection: Connection, index: PhysicalIndex) -> Row[Any] | None:
    """Its state, reason and report."""
    return connection.execute(select(search_indexes).where(search_indexes.c.name == index.name)).one_or_none()


def move_alias(connection: Connection, index: PhysicalIndex) -> None:
    """From the end of this transaction `index` answers, and the one that did is retired."""
    connection.execute(
        update(search_indexes)
        .where(search_indexes.c.state == "serving")
        .values(state="retired", retired_at=func.clock_timestamp())
    )
    connection.execute(
        update(search_indexes)
        .where(search_indexes.c.name == index.name)
        .values(state="serving", serving_since=func.clock_timestamp())
    )


def retired_before(connection: Connection, grace: timedelta) -> list[PhysicalIndex]:
    """The indexes that have been retired for longer than `grace`."""
    late = search_indexes.c.retired_at < func.clock_timestamp() - grace
    rows = connection.execute(select(search_indexes).where(search_indexes.c.state == "retired", late))
    return [_index(row) for row in rows]


def forget(connection: Connection, index: PhysicalIndex) -> None:
    connection.execute(delete(search_indexes).where(search_indexes.c.name == index.name))


def _serving(connection: Connection) -> Row[Any] | None:
    return connection.execute(select(search_indexes).where(search_indexes.c.state == "serving")).one_or_none()


def _columns(index: PhysicalIndex) -> dict[str, Any]:
    return {
        "name": index.name,
        "model": index.model,
        "revision": index.revision,
        "dimension": index.dimension,
        "chunker": index.chunker,
    }


def _index(row: Row[Any]) -> PhysicalIndex:
    return PhysicalIndex(row.model, row.revision, row.dimension, row.chunker)
