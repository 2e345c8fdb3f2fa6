"""The functions that may be called around private blocks, by DuckDB's names.

They compute on released and public values, so none can harm the data: what is left out reads files,
settings, variables, the catalogue or the clock, runs text as SQL, waits, or makes text into other
functions. Both our own tree and DuckDB's parse of what was rendered are held against this list.
"""

from __future__ import annotations

_OPERATORS = """
    + - * / // % ** ^ || & | ~ << >> !~~ ~~ !~~* ~~* ~~~ like_escape not_like_escape
    ilike_escape not_ilike_escape ! @
"""
_NUMBERS = """
    abs ceil ceiling floor round round_even even trunc sign sqrt cbrt exp ln log log10 log2 pow
    power mod fmod pi sin cos tan asin acos atan atan2 sinh cosh tanh cot degrees radians
    greatest least isnan isinf isfinite divide multiply add subtract gamma lgamma factorial gcd
    lcm bit_count xor nextafter
"""
_TEXTS = """
    lower upper lcase ucase length len strlen char_length character_length substring substr left
    right trim ltrim rtrim replace concat concat_ws starts_with ends_with prefix suffix contains
    instr position strpos lpad rpad reverse split_part string_split str_split repeat ascii chr
    regexp_matches regexp_full_match regexp_extract regexp_replace translate format printf
    levenshtein editdist3 damerau_levenshtein hamming jaccard jaro_similarity
    jaro_winkler_similarity md5 sha256 unicode ord strip_accents
"""
_TIMES = """
    date_trunc datetrunc date_part datepart date_diff datediff date_add date_sub datesub year
    month day hour minute second millisecond microsecond quarter week weekday weekofyear
    yearweek isoyear isodow dayofmonth dayofweek dayofyear decade century era epoch
    epoch_ms epoch_us epoch_ns dayname monthname strftime strptime try_strptime make_date
    make_time make_timestamp last_day time_bucket age julian to_years to_months to_weeks to_days
    to_hours to_minutes to_seconds to_milliseconds to_microseconds to_timestamp
"""
_CONDITIONS = "coalesce ifnull nullif if constant_or_null isdistinctfrom"
_AGGREGATES = """
    count count_star sum avg mean min max median mode stddev stddev_samp stddev_pop variance
    var_samp var_pop quantile quantile_cont quantile_disc count_if countif bool_and bool_or
    bit_and bit_or string_agg group_concat listagg list array_agg first last any_value arg_min
    arg_max min_by max_by argmin argmax corr covar_pop covar_samp regr_slope regr_intercept
    regr_r2 regr_count skewness kurtosis kurtosis_pop entropy product fsum sumkahan favg
    approx_count_distinct approx_quantile grouping grouping_id geomean geometric_mean
"""
_WINDOWS = """
    row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value
    last_value nth_value
"""
_LISTS = """
    list_value array_length list_sort list_sum list_avg list_min list_max list_contains
    array_to_string array_contains list_distinct list_count unnest struct_pack row
"""

OUTER_FUNCTIONS: frozenset[str] = frozenset(
    name
    for names in (
        _OPERATORS,
        _NUMBERS,
        _TEXTS,
        _TIMES,
        _CONDITIONS,
        _AGGREGATES,
        _WINDOWS,
        _LISTS,
    )
    for name in names.split()
)
"""All of them."""
