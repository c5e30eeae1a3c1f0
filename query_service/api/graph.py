"""/graph: the question graph as it runs, and the knowledge graph as the principal may see it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from query_service.api.common import PrincipalDep, ServicesDep
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
