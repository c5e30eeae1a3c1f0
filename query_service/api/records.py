"""A document as the API shows it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from sqlalchemy import Connection, RowMapping

from foundation.card import IGNORED
from foundation.names import with_name
from foundation.registry.cards import related_versions, relations_of
from foundation.registry.documents import links_of, list_stages
from foundation.registry.members import visible_members
from foundation.registry.table_names import names_of_version
from foundation.table_catalog import catalog_name
from foundation.types import Principal
from query_service.api.common import get_services

CARD_IGNORED = "card_ignored"
"""Warning: a field of a sidecar or of front matter could not be taken."""


class DocumentError(BaseModel):
    code: str
    message: str
    fix: str


class TableLink(BaseModel):
    version_id: str
    catalog_table: str
    postgres_table: str
    rows: int


class Relation(BaseModel):
    """What the answering version supersedes or amends; the ids are of the document that is meant, if one is there."""

    kind: str
    target: str
    document_id: str | None
    version_id: str | None
    file_name: str | None


class ReplacedBy(BaseModel):
    """A document that says it supersedes or amends this one."""

    kind: str
    document_id: str
    version_id: str
    file_name: str
    effective_date: str | None


class Member(BaseModel):
    """A file that came out of the document: a member of an archive, an attachment of a mail."""

    document_id: str
    file_name: str
    path: str


class DocumentRecord(BaseModel):
    document_id: str
    version_id: str | None
    sha256: str | None
    file_name: str
    media_type: str
    size_bytes: int | None
    status: str
    stage: str | None = None
    active_version: str | None = None
    version_number: int | None = None
    duplicate_of: str | None = None
    document_type: str | None = None
    authority: str | None = None
    domain: str
    source_url: str | None = None
    accessed_at: str | None = None
    licence: str | None = None
    effective_date: str | None = None
    supersedes: list[str] = []
    amends: list[str] = []
    relations: list[Relation] = []
    replaced_by: list[ReplacedBy] = []
    owner: str
    acl: list[str]
    landing_key: str
    parent_id: str | None = None
    """The archive or mail that it came out of."""
    parent_path: str | None = None
    members: list[Member] = []
    created_at: datetime
    arrived_at: datetime | None = None
    indexed_at: datetime | None = None
    deleted_at: datetime | None = None
    attempts: int = 0
    error: DocumentError | None = None
    warnings: list[dict[str, Any]] = []
    counts: dict[str, Any] = {}
    table_links: list[TableLink] = []
    run_ids: list[str] = []
    status_url: str


def record(row: RowMapping, base_url: str) -> DocumentRecord:
    """From a row of foundation.registry.documents; without links and runs, which a single document has."""
    card = row["answering_card"] or row["card"] or {}
    error = None
    if row["error_code"] is not None:
        error = DocumentError(code=row["error_code"], message=row["error_message"], fix=row["error_fix"])
    return DocumentRecord(
        document_id=row["document_id"],
        version_id=row["latest_version"],
        sha256=row["latest_version"],
        file_name=row["file_name"],
        media_type=row["media_type"],
        size_bytes=row["size_bytes"],
        status=row["status"],
        stage=row["stage"],
        active_version=row["active_version"],
        version_number=row["number"],
        duplicate_of=row["duplicate_of"],
        document_type=row["document_type"],
        authority=row["authority"],
        domain=row["domain"],
        source_url=row["source_url"],
        accessed_at=row["accessed_at"],
        licence=row["licence"],
        effective_date=row["effective_date"],
        supersedes=card.get("supersedes", []),
        amends=card.get("amends", []),
        owner=row["owner"],
        acl=list(row["acl"]),
        landing_key=row["landing_key"],
        parent_id=row["parent_id"],
        parent_path=row["parent_path"],
        created_at=row["created_at"],
        arrived_at=row["arrived_at"],
        indexed_at=row["indexed_at"],
        deleted_at=row["deleted_at"],
        attempts=row["attempts"] or 0,
        error=error,
        warnings=[
            *({**w, "message": with_name(w["message"], row["file_name"])} for w in row["warnings"] or ()),
            *({"code": CARD_IGNORED, "message": message} for message in (row["card"] or {}).get(IGNORED, ())),
        ],
        counts=row["counts"] or {},
        status_url=f"{base_url}documents/{row['document_id']}",
    )


def full_record(
    connection: Connection, row: RowMapping, request: Request, principal: Principal | None = None
) -> DocumentRecord:
    """With table links and the runs that worked on its latest version; for a principal also with its relations."""
    found = record(row, str(request.base_url))
    if principal is not None:
        answering = row["active_version"] or row["latest_version"]
        related = relations_of(connection, principal, row["document_id"], answering)
        found.relations = [Relation.model_validate(relation) for relation in related]
        newer = related_versions(connection, principal, [row["document_id"]])
        found.replaced_by = [ReplacedBy.model_validate(dict(relation)) for relation in newer]
    versions = [v for v in {row["active_version"], row["latest_version"]} if v]
    names = {key: name for v in versions for key, name in names_of_version(connection, row["document_id"], v).items()}
    stores = get_services(request).stores
    found.table_links = [
        TableLink(
            version_id=link["version_id"],
            catalog_table=catalog_name(stores, link["dataset_id"], names[link["dataset_id"]]),
            postgres_table=link["postgres_table"],
            rows=link["rows_catalog"],
        )
        for link in links_of(connection, versions)
        if link["dataset_id"] in names  # named once the version has answered
    ]
    held = visible_members(connection, principal or Principal(row["owner"]), row["document_id"])
    found.members = [
        Member(document_id=m["document_id"], file_name=m["file_name"], path=m["parent_path"]) for m in held
    ]
    found.run_ids = _runs(list_stages(connection, row["document_id"]), row["run_id"])
    return found


def _runs(stages: Sequence[RowMapping], latest: str | None) -> list[str]:
    runs = dict.fromkeys(stage["run_id"] for stage in stages)
    if latest:
        runs[latest] = None
    return list(runs)
