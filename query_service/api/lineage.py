"""/lineage: from an answer, a document, a chunk or a table up to the bytes and down to the answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from foundation.registry.documents import get_document
from foundation.registry.lineage import answers_using
from query_service import lineage
from query_service.api.common import ConnectionDep, PrincipalDep, ServicesDep
from query_service.lineage import Lineage

router = APIRouter(tags=["lineage"])


def _new_graph(request: Request, services: ServicesDep) -> Lineage:
    return Lineage(str(request.base_url), services.settings.dagster.url)


GraphDep = Annotated[Lineage, Depends(_new_graph)]


@router.get("/lineage/answers/{answer_id}", summary="From an answer down to the bytes")
def answer(answer_id: str, connection: ConnectionDep, principal: PrincipalDep, graph: GraphDep) -> dict[str, Any]:
    """Claims, citations, SQL, tables, chunks, versions, stored objects and Dagster runs, as nodes and edges."""
    return lineage.of_answer(connection, principal, answer_id, graph)


@router.get("/lineage/documents/{document_id}", summary="A document's versions, objects, runs, tables and answers")
def document(document_id: str, connection: ConnectionDep, principal: PrincipalDep, graph: GraphDep) -> dict[str, Any]:
    """Upstream to the bytes and the runs, downstream to chunks, tables and your own answers."""
    return lineage.of_document(connection, principal, document_id, graph)


@router.get("/lineage/chunks/{chunk_id}", summary="From a chunk down to the bytes")
def chunk(chunk_id: str, connection: ConnectionDep, principal: PrincipalDep, graph: GraphDep) -> dict[str, Any]:
    """The version that it was cut from, its stored object, and the runs of each stage."""
    return lineage.of_chunk(connection, principal, chunk_id, graph)


@router.get("/lineage/tables/{name}", summary="From a table down to the bytes")
def table(name: str, connection: ConnectionDep, principal: PrincipalDep, graph: GraphDep) -> dict[str, Any]:
    """A mart leads to its source tables, and to the run of dbt that published it."""
    return lineage.of_table(connection, principal, name, graph)


@router.get("/documents/{document_id}/answers", summary="Your answers that used this document")
def answers(document_id: str, connection: ConnectionDep, principal: PrincipalDep) -> dict[str, Any]:
    """Reverse lineage; `stale` says that an answer used a version that is not the active one any more."""
    row = get_document(connection, principal, document_id)
    items = [
        {**found, "stale": found["version_id"] != row["active_version"]}
        for found in map(dict, answers_using(connection, document_id, principal.name))
    ]
    return {"items": items, "next_cursor": None}
