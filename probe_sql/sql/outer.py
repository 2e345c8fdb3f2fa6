"""What stands around private blocks, checked node by node and rendered from our own tree.

Everything that is not listed is refused by name. Functions have DuckDB's names and compute on
released and public values, so none can harm the data: what is left out reads files, settings,
variables, the catalogue or the clock, runs text as SQL, waits, or makes text into other functions.
The process that runs what is rendered holds DuckDB's own parse of it against the same list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from probe_sql.errors import ProbeError, Refused
from probe_sql.sql.script import BLOCK
from probe_sql.sql.source import Source
from probe_sql.text import suggest

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
"""What may be called around private blocks."""


# Parts of a query that read nothing, call nothing and are no statement of their own.
_PARTS: tuple[type[exp.Expr], ...] = (
    exp.Select, exp.Subquery, exp.Union, exp.Except, exp.Intersect, exp.From, exp.Join, exp.Where,
    exp.Group, exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Fetch,
    exp.With, exp.CTE, exp.TableAlias, exp.Table, exp.Values, exp.Distinct, exp.Cube, exp.Rollup,
    exp.GroupingSets,
    exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Boolean, exp.Null, exp.Alias, exp.Paren,
    exp.Tuple, exp.Interval, exp.Var, exp.DataType, exp.DataTypeParam, exp.IntervalSpan,
    exp.And, exp.Or, exp.Xor, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape,
    exp.Exists, exp.Any, exp.All, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod,
    exp.DPipe, exp.Pow, exp.Bracket, exp.BitwiseAnd, exp.BitwiseOr,
    exp.Cast, exp.TryCast, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Extract, exp.Array,
    exp.Window, exp.WindowSpec, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls,
)  # fmt: skip
_TYPES = frozenset(
    {
        "BIGINT", "BOOLEAN", "CHAR", "DATE", "DATETIME", "DECIMAL", "DOUBLE", "FLOAT", "INT",
        "INT128", "INTERVAL", "SMALLINT", "TEXT", "TIME", "TIMESTAMP", "TIMESTAMPNTZ",
        "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TINYINT", "UBIGINT", "UINT",
        "USMALLINT", "UTINYINT", "VARCHAR", "LIST", "ARRAY",
    }
)  # fmt: skip


def check_outer(query: exp.Query, source: Source, tables: Iterable[str]) -> None:
    """Raise `Refused` for the first thing that may not stand around private blocks.

    `tables` are the public tables that may be read; blocks are known by their names.
    """
    known = {name.lower() for name in tables}
    try:
        for node in query.walk():
            _check(node, source, known | _ctes(node))
    except ProbeError as error:
        raise error.located(source.sql)  # noqa: B904 - the same error, with its text


def render_outer(query: exp.Query) -> str:
    """The SQL that is run, rendered from the tree."""
    return query.sql(dialect="duckdb", comments=False)


def _ctes(node: exp.Expr) -> set[str]:
    """The names of WITH that a node can see."""
    found: set[str] = set()
    above: exp.Expr | None = node
    while above is not None:
        clause = above.args.get("with_")
        if clause is not None:
            found |= {cte.alias.lower() for cte in clause.expressions}
        above = above.parent
    return found


def _check(node: exp.Expr, source: Source, tables: set[str]) -> None:
    if isinstance(node, exp.Table):
        _check_table(node, source, tables)
    elif isinstance(node, exp.DataType):
        if node.this.value not in _TYPES and not isinstance(node.this, str):
            raise _refused(f"the type {node.sql(dialect='duckdb')}", None, node.parent, source)
    elif isinstance(node, _PARTS):
        _check_clauses(node, source)
    elif isinstance(node, exp.LimitOptions):
        for key, words in (("percent", "PERCENT of the rows"), ("with_ties", "WITH TIES")):
            if node.args.get(key):
                raise _refused(words, None, node.parent, source)
    elif isinstance(node, exp.Func):
        name = _name(node, source)
        if name not in OUTER_FUNCTIONS:
            raise _refused(f"the function {name}", suggest(name, OUTER_FUNCTIONS), node, source)
    elif not isinstance(node.parent, exp.Func):
        # What is no function and stands in one belongs to it, and DuckDB's parse shows it.
        raise _refused(type(node).__name__.upper(), None, node, source)


def _name(node: exp.Func, source: Source) -> str:
    """A function's name as DuckDB is going to read it."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    text = node.sql(dialect="duckdb", comments=False)
    head = text.partition("(")[0].strip().lower()
    if head.isidentifier():
        return head
    return (source.name_at(source.span(node)) or node.sql_name()).lower()


_CLAUSES = {
    "sample": "a sample", "pivots": "PIVOT", "laterals": "LATERAL", "locks": "FOR UPDATE",
    "into": "INTO", "hint": "a hint", "kind": "SELECT AS", "operation_modifiers": "a modifier",
    "match": "MATCH_RECOGNIZE", "cluster": "CLUSTER BY", "connect": "CONNECT BY",
    "recursive": "WITH RECURSIVE", "when": "a time travel",
}  # fmt: skip


def _check_clauses(node: exp.Expr, source: Source) -> None:
    for key, words in _CLAUSES.items():
        if node.args.get(key) and (key != "kind" or isinstance(node, exp.Select)):
            raise _refused(words, None, node, source)


def _check_table(node: exp.Table, source: Source, tables: set[str]) -> None:
    named = isinstance(node.this, exp.Identifier)
    allowed = ("this", "alias", "joins")
    extra = [key for key, value in node.args.items() if value and key not in allowed]
    if not named or extra:
        raise Refused(
            "FROM takes a table, a view, a CTE or a subquery",
            why="a table function could read files, settings or the network",
            fix="name a table that the policy declares",
            span=source.span(node),
        )
    if node.name.lower() not in tables and not node.name.startswith(BLOCK):
        raise _refused(f"the table {node.name}", None, node, source)


def _refused(what: str, close: str | None, at: exp.Expr | None, source: Source) -> Refused:
    return Refused(
        f"{what} is not allowed around private blocks",
        why="whatever is not known to compute on released values alone is refused",
        fix="docs/dialect.md lists what is allowed"
        if close is None
        else f"did you mean {close}? docs/dialect.md lists what is allowed",
        span=source.span(at),
    )


def shown_outer(query: exp.Query, names: Mapping[str, str]) -> str:
    """The SQL around the blocks for people, with the blocks by their names."""
    tree = query.copy()
    shown = {
        table: exp.to_identifier(name, quoted=not name.replace("_", "a").isalnum())
        for table, name in names.items()
    }
    for table in list(tree.find_all(exp.Table)):
        if table.name in names:
            same = table.alias.lower() == names[table.name].lower()
            table.set("alias", None if same else table.args.get("alias"))
            table.set("this", shown[table.name].copy())
    for column in list(tree.find_all(exp.Column)):
        if column.table in names:
            column.set("table", shown[column.table].copy())
    return tree.sql(dialect="duckdb", comments=False, pretty=True)
