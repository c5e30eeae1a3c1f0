"""How often the offline planner answers a question over tables rightly, answers wrongly, or declines.

OMOP (Eunomia, 2,694 patients): execution accuracy, equal multisets of rows. The question templates are split in two
by their number: all questions were read before the rules were written, outcomes were looked at for one half only.
EHRSQL 2024: whether questions that the schema cannot answer (label null) are declined; its database is not public, so
the values that its gold SQL names stand for the stored ones, and no answer is executed. Samples: the table questions
of samples/questions.yaml over the files beside it.

    .venv/bin/python -m bench.text_to_sql
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
import yaml
from sqlglot import exp

from foundation.types import Column, ColumnType, QueryResult, TableInfo
from pipelines.parsing.dispatch import parse_tables
from pipelines.parsing.table_names import table_name
from query_service.reasoning.compiler import compile
from query_service.reasoning.planner import Plan, plan
from query_service.reasoning.planner_terms import Terms, load_terms
from query_service.reasoning.table_answer import describe

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("ASKLINE_TEST_DATA", ROOT.parent / "shared" / "data")) / "text_to_sql"
COMMAND = ".venv/bin/python -m bench.text_to_sql"
TODAY = date(2024, 6, 1)
_TYPES: dict[str, ColumnType] = {
    "BIGINT": "bigint", "DOUBLE": "double", "BOOLEAN": "boolean", "DATE": "date", "TIMESTAMP": "timestamp",
    "INT": "bigint", "DECIMAL": "decimal",
}  # fmt: skip


def run() -> dict[str, dict[str, Any]]:
    """{name: {value, unit, bare, ratio, command}}; `bare` is None: no other tool answers without a model."""
    terms = load_terms(ROOT / "domains" / "healthcare" / "table_terms.yaml")
    result = {}
    for half, (right, answered, total) in omop(terms).items():
        result[f"omop_{half}_accuracy_among_answered"] = _entry(100 * right / max(answered, 1), "%")
        result[f"omop_{half}_answered"] = _entry(100 * answered / total, f"% of {total}")
    right, answered, total = samples(terms)
    result["samples_accuracy_among_answered"] = _entry(100 * right / max(answered, 1), "%")
    result["samples_answered"] = _entry(100 * answered / total, f"% of {total}")
    counts = ehrsql(terms)
    declined = counts["unanswerable declined"]
    unanswerable = declined + counts["unanswerable answered"]
    answerable = counts["answerable declined"] + counts["answerable answered"]
    result["ehrsql_unanswerable_declined"] = _entry(100 * declined / unanswerable, f"% of {unanswerable}")
    result["ehrsql_answerable_planned"] = _entry(100 * counts["answerable answered"] / answerable, f"% of {answerable}")
    return result


def _entry(value: float, unit: str) -> dict[str, Any]:
    return {"value": round(value, 1), "unit": unit, "bare": None, "ratio": None, "command": COMMAND}


# -- OMOP -------------------------------------------------------------------------------------------------------


def omop(
    terms: Terms, report: Callable[[str, str, bool | None, Any, Any], None] | None = None
) -> dict[str, tuple[int, int, int]]:
    """(right, answered, asked) by half: questions and their paraphrases. `report` gets each question's outcome."""
    connection = omop_database()
    names = [r[0] for r in connection.execute("select table_name from information_schema.tables order by 1").fetchall()]
    tables = [info for n in names if (info := profile(connection, n)).row_count]
    find = finder(connection)
    rows = [json.loads(line) for line in (DATA / "omop_eunomia" / "gold_dev.jsonl").read_text().splitlines()]
    rows = [r for r in rows if not r.get("time_dependent") and not r.get("order_unstable")]
    templates = sorted({r.get("source_id") or r["id"] for r in rows})
    tally = {"developed_on": [0, 0, 0], "held_out": [0, 0, 0]}
    for row in rows:
        half = "developed_on" if templates.index(row.get("source_id") or row["id"]) % 2 == 0 else "held_out"
        for question in (row["question"], *row["paraphrases"]):
            made = plan(question, tables, today=TODAY, terms=terms, find_values=find)
            tally[half][2] += 1
            outcome, got = None, None
            if made is not None:
                got = connection.execute(compile(made.query, tables, "duckdb").statement).fetchall()
                outcome = same_rows(got, row["result"])
                tally[half][1] += 1
                tally[half][0] += outcome
            if report is not None:
                report(half, question, outcome, made.explanation if made else None, (got, row["result"]))
    return {half: (right, answered, total) for half, (right, answered, total) in tally.items()}


def omop_database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    folder = DATA / "omop_eunomia"
    connection.execute((folder / "schema_duckdb.sql").read_text())
    for file in sorted((folder / "csv").glob("*.csv.gz")):
        connection.execute(f"""insert into "{file.name.split(".")[0]}" select * from read_csv('{file}', header=true)""")
    return connection


def profile(connection: duckdb.DuckDBPyConnection, name: str) -> TableInfo:
    """The table with its column profiles, as an upload has them."""
    count = connection.execute(f'select count(*) from "{name}"').fetchall()[0][0]
    columns = []
    for header, kind, *_ in connection.execute(f'describe "{name}"').fetchall():
        quoted = f'"{header}"'
        sql = f'select count(distinct {quoted}), count(*) - count({quoted}) from "{name}"'
        distinct, nulls = connection.execute(sql).fetchall()[0]
        sql = f'select {quoted}::varchar from "{name}" where {quoted} is not null'
        sql += " group by 1 order by count(*) desc, 1 limit ?"
        samples = tuple(r[0] for r in connection.execute(sql, [50 if distinct <= 50 else 5]).fetchall())
        exact = distinct if distinct <= 1_000 else None
        columns.append(Column(header, header, _TYPES.get(kind, "text"), nulls=nulls, distinct=exact, samples=samples))
    return TableInfo(name, name, tuple(columns), count, "upload", "", True, f"dst_{name}")


def finder(connection: duckdb.DuckDBPyConnection) -> Callable[[str, str, str], list[str]]:
    known: dict[tuple[str, str, str], list[str]] = {}

    def find_values(table: str, column: str, text: str) -> list[str]:
        key = (table, column, text.casefold())
        if key not in known:
            sql = f'select distinct "{column}" from "{table}" where contains(lower("{column}"), ?) order by 1 limit 50'
            known[key] = [r[0] for r in connection.execute(sql, [text.lower()]).fetchall()]
        return known[key]

    return find_values


def same_rows(got: Sequence[Sequence[Any]], gold: Sequence[Sequence[Any]]) -> bool:
    """Equal as multisets of rows; numbers to nine digits, dates as text."""

    def plain(value: Any) -> Any:
        if isinstance(value, bool) or value is None or isinstance(value, str):
            return value
        try:
            number = float(value)
        except (TypeError, ValueError):
            return str(value)
        return float(f"{number:.9g}") if math.isfinite(number) else None

    return Counter(tuple(plain(v) for v in r) for r in got) == Counter(tuple(plain(v) for v in r) for r in gold)


# -- samples ----------------------------------------------------------------------------------------------------


def samples(terms: Terms, report: Callable[[str, bool | None, Any], None] | None = None) -> tuple[int, int, int]:
    """(right, answered, asked) over the table questions of samples/questions.yaml: every fact has to be in the answer.

    The files go through the real parser, so column types and profiles are those of an upload.
    """
    connection = duckdb.connect()
    with tempfile.TemporaryDirectory() as folder:
        tables = _sample_tables(connection, Path(folder))
    find, tally = finder(connection), (0, 0, 0)
    for item in yaml.safe_load((ROOT / "samples" / "questions.yaml").read_text("utf-8")):
        if item["route"] not in {"sql", "s3"}:
            continue
        made = plan(item["question"], tables, today=TODAY, terms=terms, find_values=find)
        outcome, text = None, ""
        if made is not None:
            compiled = compile(made.query, tables, "duckdb")
            rows = connection.execute(compiled.statement).fetchall()
            result = QueryResult(compiled.columns, tuple(rows), False, 0.0)
            text = " ".join([describe(item["question"], made.query, result), *(str(v) for r in rows for v in r)])
            facts = [f if isinstance(f, list) else [f] for f in item["facts"]]
            outcome = all(any(str(option).casefold() in text.casefold() for option in fact) for fact in facts)
        tally = (tally[0] + bool(outcome), tally[1] + (made is not None), tally[2] + 1)
        if report is not None:
            report(item["question"], outcome, made.explanation if made else None)
    return tally


def _sample_tables(connection: duckdb.DuckDBPyConnection, folder: Path) -> list[TableInfo]:
    found: list[TableInfo] = []
    for file in sorted((ROOT / "samples").iterdir()):
        kind = file.suffix.lstrip(".")
        if kind not in {"csv", "xlsx"}:
            continue
        workbook = parse_tables(file, file.name, kind, folder / file.stem)
        for table in workbook.tables:
            name = table_name(file.name, table.sheet, len(workbook.tables), [t.name for t in found])
            connection.execute(f'create table "{name}" as select * from read_parquet(?)', [table.parquet_path])
            info = TableInfo(name, table.label or file.stem, table.columns, table.row_count, "upload", "", True, name)
            found.append(replace(info, file_name=file.name, sheet=table.sheet))
    return found


# -- EHRSQL -----------------------------------------------------------------------------------------------------


def ehrsql(terms: Terms, report: Callable[[str, bool, Plan | None], None] | None = None) -> Counter[str]:
    folder = DATA / "ehrsql2024"
    questions = json.loads((folder / "valid" / "data.json").read_text())["data"]
    labels = json.loads((folder / "valid" / "label.json").read_text())
    values = _gold_values([s for s in labels.values() if s and s != "null"])
    tables = _schema_tables((folder / "mimic_iv.sql").read_text(), values)

    def find_values(table: str, column: str, text: str) -> list[str]:
        return [v for v in values.get(f"{table}.{column}", ()) if text.casefold() in v.casefold()][:50]

    counts: Counter[str] = Counter()
    for item in questions:
        answerable = labels[item["id"]] not in (None, "null")
        made = plan(item["question"], tables, today=date(2100, 12, 31), terms=terms, find_values=find_values)
        counts[f"{'answerable' if answerable else 'unanswerable'} {'answered' if made else 'declined'}"] += 1
        if report is not None:
            report(item["question"], answerable, made)
    return counts


def _gold_values(statements: Sequence[str]) -> dict[str, list[str]]:
    """Values that gold SQL compares a column with, as far as they name it by `table.column = 'value'`."""
    found: dict[str, dict[str, None]] = {}
    for statement in statements:
        for table, column, value in re.findall(r"(\w+)\.(\w+) = '((?:[^']|'')*)'", statement):
            found.setdefault(f"{table}.{column}", {})[value.replace("''", "'")] = None
    return {reference: sorted(values) for reference, values in found.items()}


def _schema_tables(ddl: str, values: dict[str, list[str]]) -> list[TableInfo]:
    tables = []
    for statement in sqlglot.parse(ddl, read="postgres"):
        if not isinstance(statement, exp.Create) or not isinstance(statement.this, exp.Schema):
            continue
        name, columns = statement.this.this.name, []
        for item in statement.this.expressions:
            if not isinstance(item, exp.ColumnDef):
                continue
            kinds = {type(c.kind) for c in item.constraints}
            unique = bool(kinds & {exp.UniqueColumnConstraint, exp.PrimaryKeyColumnConstraint})
            kind = str(item.kind.this.value if item.kind else "TEXT")
            samples = tuple(values.get(f"{name}.{item.name}", ())[:5])
            optional = 0 if exp.NotNullColumnConstraint in kinds else 1
            columns.append(
                Column(
                    item.name,
                    item.name,
                    _TYPES.get(kind, "text"),
                    nulls=optional,
                    distinct=1_000 if unique else 900,
                    samples=samples,
                )
            )
        tables.append(TableInfo(name, name, tuple(columns), 1_000, "upload", "", True, f"dst_{name}"))
    return tables


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
