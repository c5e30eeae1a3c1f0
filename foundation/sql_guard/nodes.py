"""What a tree may hold: classes, the parts of each clause, types, units, and the words of the text that comes out."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from foundation.sql_guard.functions import words

QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
ROOTS = (exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Subquery)

EXPRESSIONS: frozenset[type[Any]] = frozenset(
    {
        # names and values
        exp.Alias, exp.Boolean, exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Parameter, exp.Paren,
        exp.Placeholder, exp.Star, exp.Tuple, exp.Var, exp.Interval, exp.Array,
        # operators
        exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Pow, exp.DPipe, exp.Concat,
        exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.NullSafeEQ,
        exp.NullSafeNEQ, exp.Between, exp.In, exp.Exists, exp.Any, exp.All, exp.Like, exp.ILike, exp.SimilarTo,
        exp.Escape, exp.RegexpLike, exp.RegexpILike, exp.AtTimeZone, exp.Case, exp.If,
        # clauses
        exp.Where, exp.Group, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Having, exp.Qualify, exp.Order, exp.Ordered,
        exp.Limit, exp.Offset, exp.Fetch, exp.LimitOptions, exp.Distinct,
        # windows and aggregates
        exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls,
        # types and calls with a syntax of their own; other calls are Anonymous (see text.py)
        exp.Cast, exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Extract, exp.Substring, exp.Trim, exp.StrPosition,
        exp.Overlay, exp.GroupConcat, exp.Normalize, exp.PercentileCont, exp.PercentileDisc, exp.Replace,
        exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp, exp.Anonymous,
    }
)  # fmt: skip

DUCKDB_ONLY: frozenset[type[Any]] = frozenset({exp.Qualify, exp.Replace})

PARTS: dict[type[Any], frozenset[str]] = {
    exp.Select: words("with_ distinct expressions from_ joins where group having qualify windows order limit offset"),
    exp.Union: words("with_ this expression distinct by_name order limit offset"),
    exp.Subquery: words("with_ this alias joins order limit offset"),
    exp.With: frozenset({"expressions"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.Table: frozenset({"this", "alias", "db", "joins", "version"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.Join: words("this on using side kind method"),
    exp.Lateral: frozenset({"this", "alias"}),
    exp.Version: words("this expression kind"),
    exp.Star: frozenset({"except_", "replace"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Interval: frozenset({"this", "unit"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.Limit: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Column: frozenset({"this", "table", "db"}),
    exp.Group: words("expressions rollup cube grouping_sets all"),
}
PARTS[exp.Intersect] = PARTS[exp.Except] = PARTS[exp.Union]
"""Of these classes nothing else may be set: INTO, FOR UPDATE, TABLESAMPLE, PIVOT and the like are parts of a tree."""

_T = exp.DataType.Type
TYPES = frozenset(
    {
        _T.BOOLEAN, _T.TINYINT, _T.SMALLINT, _T.INT, _T.BIGINT, _T.INT128, _T.DECIMAL, _T.FLOAT, _T.DOUBLE,
        _T.TEXT, _T.VARCHAR, _T.CHAR, _T.BPCHAR, _T.DATE, _T.TIME, _T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIMESTAMPNTZ,
        _T.INTERVAL,
    }
)  # fmt: skip
MAX_TYPE_LENGTH = 1000
"""char(n) pads to n."""

UNITS = words("""
    MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR DECADE CENTURY MILLENNIUM
    MICROSECONDS MILLISECONDS SECONDS MINUTES HOURS DAYS WEEKS MONTHS QUARTERS YEARS DECADES CENTURIES
    DOW DOY ISODOW ISOYEAR EPOCH DAYOFWEEK DAYOFYEAR WEEKDAY JULIAN ISODAY
    DAY_OF_WEEK DAY_OF_YEAR DAY_OF_MONTH YEAR_OF_WEEK YOW""")

WORDS = words("""
    SELECT DISTINCT ON AS FROM WHERE GROUP BY ALL ROLLUP CUBE GROUPING SETS HAVING QUALIFY WINDOW ORDER ASC DESC
    NULLS FIRST LAST LIMIT OFFSET WITH MATERIALIZED NOT UNION INTERSECT EXCEPT NAME JOIN INNER LEFT RIGHT FULL OUTER
    CROSS NATURAL SEMI ANTI USING LATERAL AND OR IS NULL TRUE FALSE IN EXISTS ANY SOME BETWEEN LIKE ILIKE SIMILAR TO
    ESCAPE CASE WHEN THEN ELSE END CAST TRY_CAST EXTRACT SUBSTRING FOR TRIM BOTH LEADING TRAILING POSITION OVERLAY
    PLACING AT TIME ZONE INTERVAL OVER PARTITION ROWS RANGE GROUPS UNBOUNDED PRECEDING FOLLOWING CURRENT ROW FILTER
    WITHIN IGNORE RESPECT EXCLUDE REPLACE NO OTHERS TIES ARRAY VERSION TIMESTAMP OF
    BOOLEAN TINYINT SMALLINT INT INTEGER BIGINT INT128 HUGEINT DECIMAL NUMERIC REAL FLOAT DOUBLE PRECISION TEXT VARCHAR
    CHAR BPCHAR DATE TIMESTAMPTZ CURRENT_DATE CURRENT_TIMESTAMP LOCALTIMESTAMP""")
"""Keywords of the rendered text. Every name in it is quoted, so any other bare word is a function or a trap."""
