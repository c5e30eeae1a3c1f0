"""What DuckDB or Postgres take and Athena does not, said in words that help more than Athena's own."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from foundation.sql_guard.text import refuse


def check_select(node: Any) -> None:
    distinct, group = node.args.get("distinct"), node.args.get("group")
    if distinct is not None and distinct.args.get("on") is not None:
        refuse("clause", "Athena has no DISTINCT ON; use row_number() in a derived table.")
    if group is not None and group.args.get("all"):
        refuse("clause", "Athena has no GROUP BY ALL; name the columns, or their numbers.")


def check_star(star: Any) -> None:
    if star.args.get("except_") or star.args.get("replace"):
        refuse("clause", "Athena has no * EXCEPT and no * REPLACE; name the columns.")


def check_function(node: Any) -> None:
    # sqlglot would write the approximate one in its place.
    if type(node) in (exp.PercentileCont, exp.PercentileDisc):
        refuse("function", "Athena has no exact percentile.", fix="Use approx_percentile(column, 0.5).")
    if type(node) is exp.GroupConcat and type(node.this) is not exp.Order:
        refuse(
            "function",
            "Athena joins texts in a given order only.",
            fix="Use listagg(column, ',') WITHIN GROUP (ORDER BY column).",
        )
