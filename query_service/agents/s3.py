"""s3: marts and whole-history aggregates, answered from the warehouse (DuckDB; Athena on AWS)."""

from __future__ import annotations

from query_service.agents import table_query
from query_service.services import Services
from query_service.state import Finding, QuestionState


def run(services: Services, state: QuestionState) -> Finding:
    return table_query.answer(services, state, "s3")
