"""sql: row-level and fresh questions, answered from the Postgres copies."""

from __future__ import annotations

from query_service.agents import table_query
from query_service.services import Services
from query_service.state import Finding, QuestionState


def run(services: Services, state: QuestionState) -> Finding:
    return table_query.answer(services, state, "sql")
