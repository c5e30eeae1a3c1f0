"""The functions that a question may call, by the name that the engine sees. What is not here is refused.

Left out on purpose: whatever reads files, settings, catalogs or other sessions; whatever makes rows or text out of
nothing (generate_series, range, unnest, repeat, format, printf); whatever takes SQL as text; JSON, XML and lists, but
for the two functions of which the exact median is made in Athena.
"""

from __future__ import annotations

from typing import Literal

Dialect = Literal["postgres", "duckdb", "athena"]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMMON = """
    abs ceil ceiling floor round sign sqrt cbrt exp ln log log10 power pow mod greatest least degrees radians pi
    sin cos tan asin acos atan atan2 random
    coalesce nullif lower upper length char_length trim ltrim rtrim replace substr substring strpos position split_part
    concat concat_ws reverse translate starts_with chr lpad rpad regexp_replace extract cast
    count sum avg min max stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp
    regr_slope regr_intercept regr_r2 regr_count regr_avgx regr_avgy bool_and bool_or array_agg
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
    date_trunc now current_date current_timestamp localtimestamp grouping
"""

_POSTGRES = """
    div width_bucket trunc left right initcap ascii overlay btrim octet_length bit_length character_length to_char
    to_date to_timestamp to_number regexp_match regexp_like regexp_count regexp_substr regexp_instr string_agg every
    percentile_cont percentile_disc mode any_value age date_part date_bin make_date make_interval make_timestamp
    justify_days justify_hours justify_interval isfinite clock_timestamp statement_timestamp transaction_timestamp
    num_nulls num_nonnulls date md5 gen_random_uuid overlaps
"""

_DUCKDB = """
    trunc left right instr contains prefix suffix starts_with ends_with ascii unicode len strlen ucase lcase if ifnull
    string_agg listagg group_concat regexp_matches regexp_extract regexp_full_match strip_accents levenshtein
    damerau_levenshtein jaccard jaro_similarity jaro_winkler_similarity hamming
    mean median mode quantile quantile_cont quantile_disc percentile_cont percentile_disc approx_quantile
    approx_count_distinct any_value first last arbitrary arg_max arg_min max_by min_by count_if countif mad skewness
    kurtosis entropy product geomean favg fsum logical_and logical_or
    strftime strptime try_strptime date date_part datepart datetrunc date_diff datediff date_sub datesub date_add
    age today make_date make_timestamp last_day year quarter month week weekofyear yearweek isoyear day dayofmonth
    dayofweek isodow dayofyear hour minute second decade century era epoch epoch_ms dayname monthname weekday
    time_bucket to_timestamp to_years to_months to_weeks to_days to_hours to_minutes to_seconds julian isnan isinf
    isfinite md5 uuid gen_random_uuid try_cast even gcd lcm fdiv fmod
"""

_ATHENA = """
    truncate width_bucket if try try_cast codepoint levenshtein_distance hamming_distance soundex normalize
    regexp_like regexp_extract regexp_count regexp_position listagg count_if arbitrary any_value max_by min_by
    approx_distinct approx_percentile geometric_mean skewness kurtosis every checksum
    date date_add date_diff date_format date_parse format_datetime parse_datetime from_iso8601_date
    from_iso8601_timestamp from_unixtime to_unixtime to_iso8601 last_day_of_month year quarter month week week_of_year
    year_of_week yow day day_of_month day_of_week dow day_of_year doy hour minute second millisecond current_time
    localtime is_nan is_finite is_infinite nan infinity e uuid rand array_sort element_at
"""

FUNCTIONS: dict[Dialect, frozenset[str]] = {
    "postgres": words((_COMMON + _POSTGRES).upper()),
    "duckdb": words((_COMMON + _DUCKDB).upper()),
    "athena": words((_COMMON + _ATHENA).upper()),
}

SPECIAL_SYNTAX = words(
    """CAST TRY_CAST EXTRACT SUBSTRING TRIM POSITION OVERLAY STRING_AGG LISTAGG GROUP_CONCAT NORMALIZE
    PERCENTILE_CONT PERCENTILE_DISC"""
)
"""Calls that are more than a list of arguments: sqlglot's own classes read and write them."""

PADDING = frozenset({"LPAD", "RPAD"})
"""Their length must be a number in the statement, at most MAX_PADDING: text of a gigabyte is one call away."""
MAX_PADDING = 1000
