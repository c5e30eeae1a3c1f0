"""The one answer shape, as docs/api.md has it: what POST /ask returns, SSE ends with, and the registry stores."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

AnswerStatus = Literal["answered", "partial", "refused", "no_evidence", "escalated", "needs_review"]
RouteState = Literal["done", "late", "failed", "empty"]


class Claim(BaseModel):
    text: str
    citations: list[int]
    supported: bool = True
    why: str | None = None


class Citation(BaseModel):
    """quote == parsed text[start:end] of the version, always: it is cut by the server from the stored text."""

    n: int
    document_id: str
    version_id: str
    chunk_id: str
    file_name: str
    page: int | None = None
    start: int
    end: int
    quote: str
    box: list[float] | None = None
    source_url: str | None = None
    accessed_at: str | None = None
    licence: str | None = None
    authority: str | None = None
    effective_date: str | None = None
    supersedes: list[str] = []
    amends: list[str] = []
    stale: bool = False
    """The version is not the active one any more, or its document was deleted: looked up whenever it is shown."""


class SqlEntry(BaseModel):
    engine: Literal["postgres", "warehouse"]
    dialect: str
    statement: str
    parameters: list[Any] = []
    columns: list[str] = []
    rows: list[list[Any]] = []
    row_count: int = 0
    truncated: bool = False
    tables: list[str] = []


class RouteReport(BaseModel):
    name: str
    reason: str
    state: RouteState
    ms: int = 0


class GraphView(BaseModel):
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    answers: list[str] = []
    """Of a question over paths: the name of each thing that answers it, all of them."""


class AnswerWarning(BaseModel):
    code: str
    message: str


class Usage(BaseModel):
    input: int = 0
    cached: int = 0
    output: int = 0
    cost_usd: float = 0.0


class Answer(BaseModel):
    answer_id: str
    session_id: str
    status: AnswerStatus
    text: str
    claims: list[Claim] = []
    citations: list[Citation] = []
    sql: list[SqlEntry] = []
    chart: dict[str, Any] | None = None
    graph: GraphView | None = None
    routes: list[RouteReport] = []
    rewritten_question: str
    language: str = "en"
    model: str = "offline"
    prompt_versions: dict[str, str] = {}
    stale: bool = False
    """A version that it cites, or whose table it read, does not answer any more: looked up whenever it is shown."""
    usage: Usage = Usage()
    timings: dict[str, int] = {}
    warnings: list[AnswerWarning] = []
