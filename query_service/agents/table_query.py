"""sql and s3: a question over tables, by a semantic query that is compiled, guarded and run on the engine."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection
from sqlglot import exp

from foundation.errors import QueryFailed
from foundation.registry.artefacts import chunks_of
from foundation.registry.database import transaction
from foundation.registry.datasets import one_a_content, sources_of_mart
from foundation.registry.stages import parser_of
from foundation.sql_guard import guard
from foundation.stores import Stores
from foundation.table_sentence import table_sentence
from foundation.types import GuardedSql, Principal, QueryResult, TableInfo
from query_service.agents.stored_values import StoredValues
from query_service.answer import SqlEntry
from query_service.reasoning.compiler import compile as compile_query
from query_service.reasoning.planner import Declined, Engine, Plan, understand
from query_service.reasoning.planner_lexicon import content_words
from query_service.reasoning.table_answer import describe
from query_service.services import Services
from query_service.state import Finding, QuestionState, Span, Statement

logger = logging.getLogger(__name__)

ROUTE_ENGINE: dict[str, Engine] = {"sql": "postgres", "s3": "warehouse"}
SHOWN_ROWS = 50


def understand_tables(
    services: Services, question: str, tables: Sequence[TableInfo], engine: Engine | None
) -> Plan | Declined:
    """What the planner makes of the question over these tables, on that engine if one is given."""
    return understand(
        question,
        one_a_content(readable(tables, engine) if engine else tables, set(re.findall(r"\w+", question.casefold()))),
        engine_hint=engine,
        today=datetime.now(UTC).date(),
        terms=services.terms,
        find_values=_stored_values(services, question, tables),
    )


def answer(services: Services, state: QuestionState, route: str) -> Finding:
    """Plan, compile, guard, run, describe; empty when the tables cannot answer for certain."""
    stores, engine, question = services.stores, ROUTE_ENGINE[route], state["rewritten_question"]
    tables = services.read_tables(state["principal"])
    plan = state.get("plan") or understand_tables(services, question, tables, engine)
    if isinstance(plan, Declined):
        return Finding(route, "empty", why=plan.reason)
    compiled = compile_query(plan.query, tables, dialect_of(stores, engine))
    sql = guarded(stores, compiled.statement, engine, tables, compiled.parameters)
    result = execute(stores, sql, engine, tables)
    used = [table for table in tables if table.name in sql.tables]
    spans, rows = _proof(stores, state["principal"], used, engine)
    return Finding(
        route,
        "done",
        statements=[Statement(describe(question, plan.query, result), spans)],
        sql=[entry(sql, engine, result)],
        tables=rows,
        note=plan.explanation,
    )


def _stored_values(services: Services, question: str, tables: Sequence[TableInfo]) -> StoredValues:
    stores = services.stores

    def run(query: exp.Query, postgres: bool) -> QueryResult:
        engine: Engine = "postgres" if postgres else "warehouse"
        statement = query.sql(dialect=dialect_of(stores, engine))
        try:
            return execute(stores, guarded(stores, statement, engine, tables), engine, tables)
        except QueryFailed as error:
            # The question can still be read from what the column profiles hold, and may not be about tables at all.
            logger.warning("stored values were not looked up: %s", error.code)
            return QueryResult((), (), False, 0.0)

    return StoredValues(tables, run, stores.settings.query.row_limit, content_words(question, services.terms))


def _proof(
    stores: Stores, principal: Principal, used: Sequence[TableInfo], engine: Engine
) -> tuple[tuple[Span, ...], list[dict[str, Any]]]:
    """For each table that was read, the span that introduces it in its file, and the row for the answer's lineage."""
    spans, rows = [], []
    with transaction(stores.engine) as connection:
        sources = [source for table in used for source in _sources(connection, principal, table)]
        for source in sources:
            if source["table_name"] is None:
                continue  # deleted since the mart was read
            rows.append(
                {
                    "dataset_id": source["dataset_id"],
                    "table_name": source["table_name"],
                    "document_id": source["document_id"],
                    "version_id": source["version_id"],
                    "run_id": source["run_id"],
                    "engine": engine,
                }
            )
            if source["version_id"] is not None:
                spans += _introduction(connection, stores, source)
    return tuple(dict.fromkeys(spans)), rows


def _sources(connection: Connection, principal: Principal, table: TableInfo) -> list[dict[str, Any]]:
    own = {
        "dataset_id": table.dataset_id,
        "table_name": table.name,
        "document_id": table.document_id,
        "version_id": table.version_id,
        "run_id": table.run_id,
        "row_count": table.row_count,
        "columns": table.columns,
    }
    return [own] if table.kind == "upload" else [own, *sources_of_mart(connection, table.dataset_id, principal)]


def _introduction(connection: Connection, stores: Stores, source: dict[str, Any]) -> list[Span]:
    version = source["version_id"]
    parser = parser_of(connection, version)
    if parser is None:
        return []
    sentence = table_sentence(source["row_count"], source["columns"])
    start = stores.artefacts.text(version, parser).find(sentence)
    end = start + len(sentence)
    chunk = next((c for c in chunks_of(connection, version) if c["start_char"] <= start < c["end_char"]), None)
    if start < 0 or chunk is None:
        return []
    return [Span(chunk["chunk_id"], version, start, min(end, chunk["end_char"]))]


def execute(stores: Stores, sql: GuardedSql, engine: Engine, tables: Sequence[TableInfo]) -> QueryResult:
    """Run a guarded statement on the engine."""
    if engine == "postgres":
        return stores.relational.query(sql)
    used = [table for table in tables if table.name in sql.tables]
    return stores.warehouse.query(sql, used)


def readable(tables: Sequence[TableInfo], engine: Engine) -> list[TableInfo]:
    """The tables that this engine has: marts are in the warehouse only."""
    return [table for table in tables if engine == "warehouse" or table.postgres]


def guarded(
    stores: Stores, statement: str, engine: Engine, tables: Sequence[TableInfo], parameters: Sequence[Any] = ()
) -> GuardedSql:
    """SqlRefused for a statement that reads anything but these tables, or does anything but read."""
    return guard(
        statement,
        dialect=dialect_of(stores, engine),
        tables={table.name: [column.name for column in table.columns] for table in readable(tables, engine)},
        limit=stores.settings.query.row_limit,
        parameters=parameters,
        relations=relations(tables) if engine == "postgres" else None,
    )


def dialect_of(stores: Stores, engine: Engine) -> Any:
    """postgres, duckdb or athena."""
    return "postgres" if engine == "postgres" else stores.warehouse.dialect


def relations(tables: Sequence[TableInfo]) -> dict[str, str]:
    """Table name → the name that Postgres has for it."""
    return {table.name: table.relation for table in tables if table.relation}


def entry(sql: GuardedSql, engine: Engine, result: QueryResult) -> SqlEntry:
    return SqlEntry(
        engine=engine,
        dialect=sql.dialect,
        statement=sql.shown,
        parameters=[plain(value) for value in sql.parameters],
        columns=list(result.columns),
        rows=[[plain(value) for value in row] for row in result.rows[:SHOWN_ROWS]],
        row_count=len(result.rows),
        truncated=result.truncated,
        tables=list(sql.tables),
    )


def plain(value: Any) -> Any:
    """A value as JSON has it: exact decimals as numbers where they fit, times in RFC 3339."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 1 << 53 else float(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value
