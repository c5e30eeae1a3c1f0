"""Which versions there are, over all days."""

from __future__ import annotations

from sqlalchemy import Connection, select

from foundation.registry.claims import claimed_version
from foundation.registry.tables import document_versions, documents
from foundation.types import ClaimedVersion


def answering_versions(connection: Connection) -> list[ClaimedVersion]:
    """Every version that answers, the oldest arrival first."""
    version = document_versions
    rows = connection.execute(
        select(version, documents.c.file_name, documents.c.landing_key, documents.c.acl, documents.c.document_type)
        .join(documents, documents.c.active_version == version.c.version_id)
        .where(documents.c.document_id == version.c.document_id, documents.c.deleted_at.is_(None))
        .order_by(version.c.arrived_at, version.c.document_id)
    )
    return [claimed_version(row) for row in rows]


def all_contents(connection: Connection) -> list[str]:
    """The version ids of all that is known, history included."""
    return list(connection.execute(select(document_versions.c.version_id).distinct()).scalars())
