"""Locks on contents, across processes: stages that write artefacts of a version share one, its erasure has it alone.

Session-level for the stages (they commit in between), held by a connection of their own: if the process dies, the
server gives them back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

_SPACE = 0x41534B56  # keeps these keys apart from those of landing keys


_ALIAS = 0x41534B41  # held by whoever writes for the index that serves


@contextmanager
def shared(
    engine: Engine,
    version_ids: Sequence[str],
    *,
    for_serving: bool = True,
    on_loss: Callable[[datetime], object] | None = None,
) -> Iterator[None]:
    """Wait for erasures of these contents to end, and keep others from beginning while the block runs.

    `for_serving`: the alias stays where it is meanwhile, since what is written is meant for the index that serves.
    `on_loss` is called at the end, with the time at which they were taken, when the locks did not last (the server was
    restarted): an erasure may have gone through while the block was still writing.
    """
    taken_at: datetime | None = None
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
            taken_at = connection.execute(text("select clock_timestamp()")).scalar_one()
            yield
        finally:
            if not _given_back(connection) and on_loss is not None and taken_at is not None:
                on_loss(taken_at)


def _given_back(connection: Connection) -> bool:
    try:
        connection.execute(text("select pg_advisory_unlock_all()"))
    except DBAPIError:
        connection.invalidate()
        return False
    return True


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
