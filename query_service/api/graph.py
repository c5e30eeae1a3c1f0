"""/graph: the question graph as it runs, and the knowledge graph as the principal may see it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from foundation.registry.audit import record
from query_service.api.common import AdminDep, ConnectionDep, PrincipalDep, ServicesDep
from query_service.question_graph import topology

router = APIRouter(prefix="/graph", tags=["graph"])


@router.get("/topology", summary="Nodes, edges and routes of the question graph")
def get_topology(request: Request, principal: PrincipalDep) -> dict[str, Any]:
    """As it was compiled, with Mermaid text of the same."""
    return topology(request.app.state.graph)


@router.get("/entities", summary="Entities of the knowledge graph")
def list_entities(
    services: ServicesDep,
    principal: PrincipalDep,
    q: Annotated[str | None, Query(max_length=200)] = None,
    type: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """By name, alias, or the beginning of a word of one; without `q` the most mentioned ones."""
    nodes = services.stores.graph.search_nodes(principal, q, type, limit)
    return {"items": [asdict(node) for node in nodes], "next_cursor": None}


@router.get("/entities/{node_id}", summary="An entity with its neighbourhood, aliases and evidence")
def get_entity(
    node_id: str,
    services: ServicesDep,
    principal: PrincipalDep,
    hops: Annotated[int, Query(ge=0, le=3)] = 1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> dict[str, Any]:
    """Each piece of evidence names the chunk, version, span and surface form that it was seen in."""
    graph = services.stores.graph
    node = graph.get_node(principal, node_id)
    nodes, edges = graph.neighbourhood(principal, [node_id], hops, limit) if hops else ([node], [])
    evidence = graph.evidence(principal, node_ids=[node_id])
    edge_evidence = graph.evidence(principal, edge_ids=[edge.edge_id for edge in edges], limit=200) if edges else []
    return {
        **asdict(node),
        "evidence": [asdict(mention) for mention in evidence],
        "nodes": [asdict(n) for n in nodes],
        "edges": [
            asdict(edge) | {"evidence": [asdict(m) for m in edge_evidence if m.edge_id == edge.edge_id]}
            for edge in edges
        ],
    }


class PinRequest(BaseModel):
    left_id: str = Field(max_length=100, description="An entity")
    right_id: str = Field(max_length=100, description="Another entity")
    same: bool = Field(description="true: they are one thing; false: they are two")
    reason: str = Field(min_length=1, max_length=500, description="Why; it is shown with the decision")


@router.get("/merges", summary="What was decided about entities that may be one thing")
def list_merges(
    services: ServicesDep,
    principal: PrincipalDep,
    same: bool | None = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """Each merge and each refusal with its rule and reason, newest first, where both entities can be seen."""
    found = services.stores.graph.merges(principal, same=same, text=q, limit=limit)
    return {"items": [asdict(merge) for merge in found], "next_cursor": None}


@router.post("/merges", status_code=201, summary="Decide in place of the rules whether two entities are one")
def pin_merge(
    asked: PinRequest, services: ServicesDep, connection: ConnectionDep, principal: AdminDep
) -> dict[str, Any]:
    """Holds until it is taken back, also when the documents go and come again."""
    graph = services.stores.graph
    graph.pin_merge(principal, asked.left_id, asked.right_id, same=asked.same, reason=asked.reason)
    ends = {"left_id": asked.left_id, "right_id": asked.right_id}
    record(connection, principal.name, "pin_merge", asked.left_id, {**ends, "same": asked.same})
    return {**ends, "same": asked.same, "reason": asked.reason, "pinned_by": principal.name}


@router.delete("/merges/{left_id}/{right_id}", status_code=204, summary="Leave two entities to the rules again")
def unpin_merge(
    left_id: str, right_id: str, services: ServicesDep, connection: ConnectionDep, principal: AdminDep
) -> Response:
    """The rules decide at once."""
    services.stores.graph.unpin_merge(principal, left_id, right_id)
    record(connection, principal.name, "unpin_merge", left_id, {"left_id": left_id, "right_id": right_id})
    return Response(status_code=204)
