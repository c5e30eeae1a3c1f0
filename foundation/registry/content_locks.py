"""Locks on contents, across processes: stages that write artefacts of a version share one, its erasure has it alone.

Session-level for the stages (they commit in between), held by a connection of their own: if the process dies, the
server gives them back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

_SPACE = 0x41534B56  # keeps these keys apart from those of landing keys


_ALIAS = 0x41534B41  # held by whoever writes for the index that serves


@contextmanager
def shared(engine: Engine, version_ids: Sequence[str], *, for_serving: bool = True) -> Iterator[None]:
    """Wait for erasures of these contents to end, and keep others from beginning while the block runs.

    `for_serving`: the alias stays where it is meanwhile, since what is written is meant for the index that serves.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        try:
            if for_serving:
                connection.execute(text("select pg_advisory_lock_shared(:alias)"), {"alias": _ALIAS})
            connection.execute(  # in one order, so that two runs cannot wait for each other
                text(
                    "select pg_advisory_lock_shared(hashtextextended(version, :space))"
                    " from (select version from unnest(cast(:versions as text[])) version order by 1) ordered"
                ),
                {"versions": sorted(set(version_ids)), "space": _SPACE},
            )
            yield
        finally:
            if not connection.closed and not connection.invalidated:
                connection.execute(text("select pg_advisory_unlock_all()"))


def try_alias(connection: Connection) -> bool:
    """Until the transaction ends, nobody writes for the index that serves; False when somebody does so now."""
    return bool(connection.execute(text("select pg_try_advisory_xact_lock(:alias)"), {"alias": _ALIAS}).scalar_one())


def try_exclusive(connection: Connection, version_ids: Sequence[str]) -> bool:
    """Until the transaction ends, no stage writes artefacts of these contents; False when one does so now."""
    return all(
        connection.execute(
            text("select pg_try_advisory_xact_lock(hashtextextended(:version, :space))"),
            {"version": version_id, "space": _SPACE},
        ).scalar_one()
        for version_id in sorted(set(version_ids))
    )
