"""Athena's statements as Trino takes them: queries, CTAS, views and what dbt-athena asks besides.

Hive's DDL (CREATE EXTERNAL TABLE, partitions) and Iceberg are not played: nothing of ours writes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.engines.athena.client import TrinoError
from tests.engines.athena.trino import CATALOG

_QUERIES = {"SELECT", "WITH", "VALUES", "TABLE"}
_CHANGES = {"INSERT", "UPDATE", "DELETE"}
_UTILITIES = {"SHOW", "DESCRIBE", "DESC", "EXPLAIN"}
# Trino would also run CALL, SET SESSION, GRANT, COMMENT and more, which Athena refuses.
_TAKEN = _QUERIES | _CHANGES | _UTILITIES | {"CREATE", "DROP", "ALTER"}
_LEAD = re.compile(r"\s*(?:--[^\n]*(?:\n|$)|/\*.*?\*/)", re.S)
_PART = r'(?:"[^"]+"|\w+)'
_NAME = rf"({_PART}(?:\.{_PART}){{0,2}})"
_CTAS = re.compile(rf"CREATE\s+TABLE\s+(IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*(WITH\s*\(|AS\b)", re.I)
_VIEW = re.compile(r"CREATE\s+(OR\s+REPLACE\s+)?VIEW\b", re.I)
_MAKE_DATABASE = re.compile(
    rf"CREATE\s+(?:DATABASE|SCHEMA)\s+(IF\s+NOT\s+EXISTS\s+)?{_NAME}(?:.*?LOCATION\s+'([^']+)')?", re.I | re.S
)
_TABLE_PROPERTIES = re.compile(r"ALTER\s+TABLE\s.*SET\s+TBLPROPERTIES", re.I | re.S)
_PASSED_ON = {"format": "format", "partitioned_by": "partitioned_by", "bucketed_by": "bucketed_by",
              "bucket_count": "bucket_count"}  # fmt: skip


@dataclass(slots=True)
class Plan:
    """What Trino runs for one statement of Athena (nothing, if that is empty), and what Athena calls it."""

    sql: str
    kind: str
    """DDL, DML or UTILITY."""
    word: str
    """Athena's SubstatementType."""
    session: dict[str, str] = field(default_factory=dict)
    data: str | None = None
    """Where a CTAS writes; its files go into a manifest."""

    @property
    def has_rows(self) -> bool:
        return self.kind == "UTILITY" or self.word == "SELECT"


def plan(sql: str, schema: str | None, results: str) -> Plan:
    """`results`: the folder of a CTAS without a location. TrinoError SYNTAX_ERROR for what Athena does not take."""
    statement = _without_comments(sql)
    word = (re.findall(r"\w+", statement) or [""])[0].upper()
    if word in _QUERIES:
        return Plan(statement, "DML", "SELECT")
    if word in _CHANGES:
        return Plan(statement, "DML", word)
    if word in _UTILITIES:
        return Plan(statement.replace("`", '"'), "UTILITY", word)
    if found := _CTAS.match(statement):
        return _create_table_as(found, statement, schema, results)
    if _VIEW.match(statement):
        return Plan(statement, "DDL", "CREATE_VIEW")
    hive = statement.replace("`", '"')
    if found := _MAKE_DATABASE.match(hive):
        where = f" WITH (location = '{found[3]}')" if found[3] else ""
        return Plan(f"CREATE SCHEMA {found[1] or ''}{found[2]}{where}", "DDL", "CREATE_DATABASE")
    if _TABLE_PROPERTIES.match(hive):
        return Plan("", "DDL", "ALTER_TABLE")
    if word not in _TAKEN or word == "CREATE":
        raise _syntax_error(f"mismatched input '{statement[:30]}'. Queries of this type are not supported")
    return Plan(re.sub(r"(?i)^DROP\s+DATABASE", "DROP SCHEMA", hive), "DDL", word)


def _without_comments(sql: str) -> str:
    while found := _LEAD.match(sql):
        sql = sql[found.end() :]
    return sql.strip().rstrip(";").strip()


def _create_table_as(found: re.Match[str], statement: str, schema: str | None, results: str) -> Plan:
    properties: dict[str, str] = {}
    rest = statement[found.start(3) :]
    if found[3].upper().startswith("WITH"):
        end = _closing(statement, found.end() - 1)
        properties = _properties(statement[found.end() : end])
        rest = statement[end + 1 :]
    query = re.match(r"\s*AS\s+(.*)$", rest, re.S | re.I)
    if query is None:
        raise _syntax_error("CREATE TABLE without AS")
    if _plain(properties.get("table_type", "hive")).lower() != "hive":
        raise TrinoError("NOT_SUPPORTED", "This double has Hive tables only.")
    data = _plain(properties.get("external_location", "")) or f"{results.rstrip('/')}/tables/"
    data = data if data.endswith("/") else f"{data}/"
    kept = {"format": "'PARQUET'", **{_PASSED_ON[k]: v for k, v in properties.items() if k in _PASSED_ON}}
    kept["format"] = f"'{_plain(kept['format']).upper()}'"
    kept["external_location"] = f"'{data}'"
    packed = properties.get("write_compression") or properties.get("parquet_compression")
    session = {f"{CATALOG}.compression_codec": _plain(packed).upper()} if packed else {}
    database, table = _names(found[2], schema)
    written = ", ".join(f"{name} = {value}" for name, value in kept.items())
    sql = f'CREATE TABLE {found[1] or ""}"{database}"."{table}" WITH ({written}) AS {query[1]}'
    return Plan(sql, "DDL", "CREATE_TABLE_AS_SELECT", session, data)


def _names(name: str, schema: str | None) -> tuple[str, str]:
    parts = [part.strip('"').lower() for part in re.findall(_PART, name)]
    return (parts[-2] if len(parts) > 1 else schema or "default"), parts[-1]


def _plain(value: str) -> str:
    return value.strip().strip("'\"")


def _properties(text: str) -> dict[str, str]:
    pairs = (part.split("=", 1) for part in _split(text))
    return {name.strip().strip('"').lower(): value.strip() for name, value in pairs}


def _outside_quotes(text: str) -> list[tuple[int, str]]:
    """Place and character of what stands outside of quotes."""
    found, quote = [], ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            found.append((place, character))
    return found


def _split(text: str) -> list[str]:
    """At commas outside of quotes and brackets."""
    parts, depth, start = [], 0, 0
    for place, character in _outside_quotes(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [part for part in (*parts, text[start:]) if part.strip()]


def _closing(text: str, opening: int) -> int:
    """Place of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place, character in _outside_quotes(text[opening:]):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return opening + place
    raise _syntax_error("unbalanced parentheses")


def _syntax_error(message: str) -> TrinoError:
    return TrinoError("SYNTAX_ERROR", f"line 1:1: {message}")
