"""By which name a table is known. Names belong to documents; what a principal sees is the name by a document of theirs.

Stored names are distinct among the tables of one owner. Where a principal may read tables of several owners that bear
one name, the later ones get a number when they are listed, so that nobody's name tells of a table that they cannot see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from sqlalchemy import Connection, and_, delete, exists, func, insert, not_, select

from foundation.access import may_see, visible_documents
from foundation.registry.tables import datasets, document_tables, document_versions, documents, mart_sources
from foundation.types import Principal

_NAME_LOCK = 0x41534B4E


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as one principal knows it; `document_id` is None for a mart."""

    name: str
    dataset_id: str
    document_id: str | None


def names_taken(connection: Connection, document_id: str) -> set[str]:
    """Names that marts and other living documents of the owner hold. Takes the lock that orders who chooses names."""
    connection.execute(select(func.pg_advisory_xact_lock(_NAME_LOCK)))
    owner = select(documents.c.owner).where(documents.c.document_id == document_id).scalar_subquery()
    others = (
        select(document_tables.c.table_name)
        .join(documents, documents.c.document_id == document_tables.c.document_id)
        .where(documents.c.document_id != document_id, documents.c.owner == owner, documents.c.deleted_at.is_(None))
    )
    marts = select(datasets.c.table_name).where(datasets.c.kind == "mart")
    return set(connection.execute(others.union(marts)).scalars())


def names_of_document(connection: Connection, document_id: str) -> dict[tuple[int, str | None], str]:
    """(ordinal, sheet) → the table name that the document's latest version with such a table has: names stay."""
    rows = connection.execute(
        select(datasets.c.ordinal, datasets.c.sheet, document_tables.c.table_name)
        .join(datasets, datasets.c.dataset_id == document_tables.c.dataset_id)
        .join(
            document_versions,
            and_(
                document_versions.c.document_id == document_tables.c.document_id,
                document_versions.c.version_id == document_tables.c.version_id,
            ),
        )
        .where(document_tables.c.document_id == document_id)
        .order_by(document_versions.c.number)
    )
    return {(row.ordinal, row.sheet): row.table_name for row in rows}


def save_names(connection: Connection, document_id: str, version_id: str, names: Mapping[str, str]) -> None:
    """The document calls the tables of its version so. `names`: dataset_id → name, all of them."""
    connection.execute(
        delete(document_tables).where(
            document_tables.c.document_id == document_id, document_tables.c.version_id == version_id
        )
    )
    if names:
        rows = [
            {"document_id": document_id, "dataset_id": dataset_id, "version_id": version_id, "table_name": name}
            for dataset_id, name in names.items()
        ]
        connection.execute(insert(document_tables), rows)


def names_of_version(connection: Connection, document_id: str, version_id: str) -> dict[str, str]:
    """dataset_id → the stored name, of a version that answers or has answered."""
    rows = connection.execute(
        select(document_tables.c.dataset_id, document_tables.c.table_name).where(
            document_tables.c.document_id == document_id, document_tables.c.version_id == version_id
        )
    )
    return {row.dataset_id: row.table_name for row in rows}


def answering_documents(connection: Connection, version_id: str) -> list[tuple[str, str]]:
    """(document_id, file name) of the living documents that answer from this content, the oldest first."""
    rows = connection.execute(
        select(documents.c.document_id, documents.c.file_name)
        .where(documents.c.active_version == version_id, documents.c.deleted_at.is_(None))
        .order_by(documents.c.document_id)
    )
    return [(row.document_id, row.file_name) for row in rows]


def visible_names(connection: Connection, principal: Principal) -> list[TableName]:
    """The tables that the principal may read, one a document and dataset, by distinct names; their own come first."""
    uploads = connection.execute(
        select(document_tables.c.table_name, document_tables.c.dataset_id, documents.c.document_id)
        .join(
            documents,
            and_(
                documents.c.document_id == document_tables.c.document_id,
                documents.c.active_version == document_tables.c.version_id,
            ),
        )
        .join(datasets, datasets.c.dataset_id == document_tables.c.dataset_id)
        .where(visible_documents(principal), datasets.c.postgres_table.is_not(None))
        .order_by(
            documents.c.owner != principal.name, documents.c.created_at, documents.c.document_id, datasets.c.ordinal
        )
    ).all()
    taken: set[str] = set()
    found = [TableName(_free(r.table_name, "", taken), r.dataset_id, r.document_id) for r in uploads]
    marts = connection.execute(_visible_marts(principal)).all()
    return [*found, *(TableName(_free(r.table_name, "_mart", taken), r.dataset_id, None) for r in marts)]


def name_in(names: Iterable[TableName], dataset_id: str, document_id: str | None) -> str | None:
    """The name of this dataset by this document among those that a principal sees."""
    return next((n.name for n in names if (n.dataset_id, n.document_id) == (dataset_id, document_id)), None)


def _visible_marts(principal: Principal):  # type: ignore[no-untyped-def]
    hidden_source = exists(
        select(mart_sources.c.mart_id).where(
            mart_sources.c.mart_id == datasets.c.dataset_id,
            not_(
                exists(
                    select(documents.c.document_id).where(
                        documents.c.active_version == mart_sources.c.version_id,
                        documents.c.deleted_at.is_(None),
                        may_see(principal),
                    )
                )
            ),
        )
    )
    has_source = exists(select(mart_sources.c.mart_id).where(mart_sources.c.mart_id == datasets.c.dataset_id))
    return (
        select(datasets.c.table_name, datasets.c.dataset_id)
        .where(and_(datasets.c.kind == "mart", has_source, ~hidden_source))
        .order_by(datasets.c.table_name)
    )


def _free(name: str, suffix: str, taken: set[str]) -> str:
    """`name`, else with the suffix, else with a number behind it; added to `taken`."""
    candidates = [name, *([f"{name}{suffix}"] if suffix else [])]
    numbered = (f"{candidates[-1]}_{number}" for number in count(2))
    chosen = next((c for c in candidates if c not in taken), None) or next(c for c in numbered if c not in taken)
    taken.add(chosen)
    return chosen
