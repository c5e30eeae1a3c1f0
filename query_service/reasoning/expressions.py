"""SQL expressions that mean the same in Postgres, DuckDB and Athena."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlglot import exp

from foundation.errors import InvalidInput
from foundation.types import ColumnType
from query_service.reasoning.semantic_query import Filter, Grain, Scalar

_COMPARE: dict[str, Callable[..., exp.Expression]] = {
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}
_ARITY: dict[str, str] = {"is_null": "none", "not_null": "none", "in": "some", "not_in": "some", "between": "pairs"}


@dataclass(frozen=True, slots=True)
class Value:
    node: exp.Expression
    type: ColumnType


def literal(value: Scalar, kind: ColumnType, where: str) -> exp.Expression:
    """A literal of the column's type; InvalidInput when the value is not one."""
    if kind in {"bigint", "decimal", "double"}:
        if isinstance(value, bool) or not _is_number(value):
            raise InvalidInput(f"{where}: {value!r} is not a number.")
        return exp.Literal.number(str(value))
    if kind == "boolean":
        if not isinstance(value, bool):
            raise InvalidInput(f"{where}: {value!r} is not true or false.")
        return exp.true() if value else exp.false()
    if kind in {"date", "timestamp"}:
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError as error:
            raise InvalidInput(f"{where}: {value!r} is not an ISO date such as 2020-03-31.") from error
        if kind == "date" and moment.time() == datetime.min.time():
            return exp.cast(exp.Literal.string(moment.date().isoformat()), "date")
        return exp.cast(exp.Literal.string(moment.replace(tzinfo=None).isoformat(sep=" ")), "timestamp")
    return exp.Literal.string(str(value))


def _is_number(value: Scalar) -> bool:
    try:
        return float(value) == float(value)
    except ValueError:
        return False


def compare(operator: str, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return _COMPARE[operator](this=left, expression=right)


def not_null(node: exp.Expression) -> exp.Expression:
    return exp.Not(this=exp.Is(this=node.copy(), expression=exp.null()))


def condition(value: Value, item: Filter) -> exp.Expression:
    """The SQL of one filter, text compared in lower case on both sides."""
    _check_arity(item)
    node, where = value.node, f"filters: {item.column}"
    if item.operator == "is_null":
        return exp.Is(this=node, expression=exp.null())
    if item.operator == "not_null":
        return not_null(node)
    if item.operator in {"contains", "starts_with"}:
        if value.type != "text":
            raise InvalidInput(f"{where} is {value.type}; {item.operator} needs text.")
        return _like(node, str(item.values[0]), anchored=item.operator == "starts_with")
    if value.type == "text" and item.operator in {"=", "!=", "in", "not_in"}:
        node = exp.Lower(this=node)
        literals: list[exp.Expression] = [exp.Lower(this=exp.Literal.string(str(v))) for v in item.values]
    else:
        literals = [literal(v, value.type, where) for v in item.values]
    if item.operator in _COMPARE:
        return compare(item.operator, node, literals[0])
    if item.operator in {"in", "not_in"}:
        membership = exp.In(this=node, expressions=literals)
        return membership if item.operator == "in" else exp.Not(this=membership)
    pairs = zip(literals[::2], literals[1::2], strict=True)
    ranges = [exp.Between(this=node.copy(), low=low, high=high) for low, high in pairs]
    return ranges[0] if len(ranges) == 1 else exp.Paren(this=exp.or_(*ranges))


def _check_arity(item: Filter) -> None:
    wanted, given = _ARITY.get(item.operator, "one"), len(item.values)
    if {"none": given, "one": given != 1, "some": not given, "pairs": not given or given % 2}[wanted]:
        raise InvalidInput(f"filters: {item.column} {item.operator} takes {wanted} value(s), not {given}.")


def _like(node: exp.Expression, text: str, *, anchored: bool) -> exp.Expression:
    escaped = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    pattern = exp.Literal.string(escaped + "%" if anchored else f"%{escaped}%")
    like = exp.Like(this=exp.Lower(this=node), expression=pattern)
    return exp.Escape(this=like, expression=exp.Literal.string("\\")) if escaped != text.lower() else like


def truncate(value: Value, grain: Grain, name: str) -> exp.Expression:
    """year → whole number; day, month and quarter → the date on which they begin."""
    if value.type not in {"date", "timestamp"}:
        raise InvalidInput(f"dimensions: {name} is {value.type}; a grain needs a date or a timestamp.")
    if grain == "year":
        return exp.cast(exp.Extract(this=exp.var("YEAR"), expression=value.node), "bigint")
    if grain == "day":
        return exp.cast(value.node, "date")
    return exp.cast(exp.TimestampTrunc(this=value.node, unit=exp.var(grain.upper())), "date")


def aggregate(function: str, node: exp.Expression, dialect: str) -> exp.Expression:
    if function == "count":
        return exp.Count(this=node)
    if function == "count_distinct":
        return exp.Count(this=exp.Distinct(expressions=[node]))
    if function == "sum":
        return exp.Sum(this=node)
    if function == "avg":
        # In double on every engine: Postgres would answer a numeric, DuckDB a double.
        return exp.Avg(this=exp.cast(node, "double"))
    if function in {"min", "max"}:
        return (exp.Min if function == "min" else exp.Max)(this=node)
    if function == "median":
        if dialect == "athena":
            return _sorted_middle(exp.cast(node, "double"))
        return exp.Median(this=exp.cast(node, "double"))
    return _ratio(exp.Count(this=exp.Star()), exp.Count(this=exp.Distinct(expressions=[node])), "1.0")


def _sorted_middle(node: exp.Expression) -> exp.Expression:
    """The exact median where an engine (Athena) has none of its own: the mean of the two values in the middle."""
    known = exp.Where(this=not_null(node))
    values = exp.Filter(this=exp.Anonymous(this="ARRAY_AGG", expressions=[node]), expression=known)
    ordered = exp.Anonymous(this="ARRAY_SORT", expressions=[values])
    count = exp.Count(this=node.copy())

    def half(number: exp.Expression) -> exp.Expression:
        return exp.Div(this=number, expression=exp.Literal.number(2), typed=True, safe=False)

    one = exp.Literal.number(1)
    places = half(exp.Paren(this=exp.Add(this=count, expression=one))), exp.Add(this=half(count.copy()), expression=one)
    lower, upper = (exp.Anonymous(this="ELEMENT_AT", expressions=[ordered.copy(), place]) for place in places)
    return half(exp.Paren(this=exp.Add(this=lower, expression=upper)))


def share(holds: exp.Expression, what: exp.Expression | None) -> exp.Expression:
    """Percent of rows, or of distinct values of `what`, for which `holds` is true; null over no rows."""
    case = exp.Case().when(holds, what.copy() if what is not None else exp.Literal.number(1))
    if what is None:
        return _ratio(exp.Count(this=case), exp.Count(this=exp.Star()), "100.0")
    part = exp.Count(this=exp.Distinct(expressions=[case]))
    return _ratio(part, exp.Count(this=exp.Distinct(expressions=[what.copy()])), "100.0")


def ratio(part: exp.Expression, whole: exp.Expression) -> exp.Expression:
    """Sum by sum, in double; null where the whole is 0."""
    return _ratio(exp.Sum(this=part), exp.Sum(this=whole), "1.0")


def _ratio(part: exp.Expression, whole: exp.Expression, factor: str) -> exp.Expression:
    scaled = exp.Mul(this=exp.cast(exp.Literal.number(factor), "double"), expression=part)
    return exp.Div(
        this=scaled, expression=exp.Nullif(this=whole, expression=exp.Literal.number(0)), typed=False, safe=False
    )


def between(function: str, start: Value, end: Value, dialect: str) -> exp.Expression:
    """Time from start to end: completed years (as an age), calendar days, whole hours and minutes rounded down."""
    if function == "years_between":
        return _years(start, end)
    if start.type == "bigint" or end.type == "bigint":
        raise InvalidInput(f"computed: {function} needs dates, not years.")
    if function == "days_between":
        days = exp.DateDiff(
            this=exp.cast(end.node, "date"), expression=exp.cast(start.node, "date"), unit=exp.var("DAY")
        )
        return days
    seconds = exp.Sub(this=_epoch(end.node), expression=_epoch(start.node))
    unit = exp.Literal.number(3600 if function == "hours_between" else 60)
    return _floor(exp.Div(this=exp.Paren(this=seconds), expression=unit, typed=False, safe=False))


def _epoch(node: exp.Expression) -> exp.Expression:
    return exp.Extract(this=exp.var("EPOCH"), expression=exp.cast(node, "timestamp"))


def _years(start: Value, end: Value) -> exp.Expression:
    if start.type == "bigint":
        last = end.node if end.type == "bigint" else _part("YEAR", end.node)
        return exp.Paren(this=exp.Sub(this=last, expression=start.node))
    if end.type == "bigint":
        raise InvalidInput("computed: years_between from a date to a year; put the year first or use a date.")
    # yyyymmdd as a number: the difference over 10,000 rounded down is the number of birthdays passed.
    difference = exp.Paren(this=exp.Sub(this=_yyyymmdd(end.node), expression=_yyyymmdd(start.node)))
    return _floor(exp.Div(this=difference, expression=exp.Literal.number("10000.0"), typed=False, safe=False))


def _floor(node: exp.Expression) -> exp.Expression:
    return exp.cast(exp.Floor(this=node), "bigint")


def _part(unit: str, node: exp.Expression) -> exp.Expression:
    return exp.Extract(this=exp.var(unit), expression=node.copy())


def _yyyymmdd(node: exp.Expression) -> exp.Expression:
    year = exp.Mul(this=_part("YEAR", node), expression=exp.Literal.number(10000))
    month = exp.Mul(this=_part("MONTH", node), expression=exp.Literal.number(100))
    return exp.Paren(this=exp.Add(this=exp.Add(this=year, expression=month), expression=_part("DAY", node)))
