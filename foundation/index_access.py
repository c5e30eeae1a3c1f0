"""Who may find what in the search index: what the registry says, also of what changes while it is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from sqlalchemy import Connection, Engine

from foundation.ports.search import SearchIndex
from foundation.registry.database import transaction
from foundation.registry.documents import Access, access_of
from foundation.types import Chunk, IndexedChunk, Vector

Read = Callable[[Connection, Collection[str]], dict[str, Access]]


def write_versions(
    engine: Engine,
    search: SearchIndex,
    versions: Mapping[str, Sequence[tuple[Chunk, Vector]]],
    read: Read = access_of,
) -> set[str]:
    """Write these versions whole, with what filters see of them.

    Returns those that were written: what no document has any more is left out.
    """
    access = {version_id: now for version_id, now in _read(engine, read, versions).items() if now.document_ids}
    search.write_versions(
        {
            version_id: [IndexedChunk(chunk, vector, *now) for chunk, vector in versions[version_id]]
            for version_id, now in access.items()
        }
    )
    _tell(engine, search, read, access)
    return set(access)


def tell_index(engine: Engine, search: SearchIndex, *version_ids: str) -> None:
    """What filters see of these versions is what the registry says now. For after the change is committed."""
    _tell(engine, search, access_of, dict.fromkeys(version_ids))


def _tell(engine: Engine, search: SearchIndex, read: Read, told: Mapping[str, Access | None]) -> None:
    """Until the registry says what the index was told: of two that tell it at once the later need not know more."""
    told = dict(told)
    while late := {v: now for v, now in _read(engine, read, told).items() if now != told[v]}:
        for version_id, now in late.items():
            if now.document_ids:
                search.update_access(version_id, *now)
            else:
                search.delete_versions([version_id])
        told |= late


def _read(engine: Engine, read: Read, version_ids: Collection[str]) -> dict[str, Access]:
    if not version_ids:
        return {}
    with transaction(engine) as connection:
        return read(connection, version_ids)
