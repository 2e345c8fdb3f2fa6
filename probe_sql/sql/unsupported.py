"""Expressions that are refused: without a row, with parts that are not read, texts that may grow.

Privacy: `replace(replace(x, 'a', 'aaaaaaaaaa'), 'a', 'aaaaaaaaaa')` and so on exhausts the memory
where x holds an `a`, and does nothing elsewhere. A failure that depends on a row is a release that
nobody pays for, so texts that multiply are refused from the expression alone, before a row is read.
"""

from __future__ import annotations

import re

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.sql.build import longer, size
from probe_sql.sql.source import Source

MOST_TIMES = 64  # the longest text of a row, so many times over
MOST_NODES = 2_000  # of an expression as it is computed
MOST_COPIES = 20  # nodes of it for each that is written, beyond that
MOST_EXTRA = 10_000  # characters beyond that, from the query itself

# node -> what it is called, why it is refused, what to write instead; None for the usual reason
UNSUPPORTED: dict[type[exp.Expr], tuple[str, str | None, str | None]] = {
    exp.Window: (
        "a window function (OVER)",
        "it makes a row's value depend on other rows",
        "use an aggregate with GROUP BY",
    ),
    exp.Subquery: (
        "a subquery in an expression",
        "it would read rows outside the group",
        "join a public table on its key",
    ),
    exp.Select: (
        "a subquery in an expression",
        "it would read rows outside the group",
        "join a public table on its key",
    ),
    exp.Exists: (
        "EXISTS",
        "it would read rows outside the group",
        "join a public table on its key",
    ),
    exp.Rand: (
        "random()",
        "it gives another value at every call",
        "leave it out: the noise is added for you",
    ),
    exp.CurrentDate: (
        "current_date",
        "it depends on the clock",
        "write the date: DATE 'YYYY-MM-DD'",
    ),
    exp.CurrentTimestamp: (
        "current_timestamp",
        "it depends on the clock",
        "write it: TIMESTAMP 'YYYY-MM-DD HH:MM:SS'",
    ),
    exp.Interval: (
        "an INTERVAL by itself",
        "it has no one length: a month may be 28 days or 31",
        "add it to a constant date, or compare date_diff(...) with a number",
    ),
    exp.RegexpLike: (
        "a regular expression",
        "patterns can be slow or fail",
        "use LIKE, starts_with or contains",
    ),
    exp.SimilarTo: (
        "SIMILAR TO",
        "patterns can be slow or fail",
        "use LIKE, starts_with or contains",
    ),
    exp.Pow: ("power", "it can overflow", "a power from 1 to 4, written as a number"),
    exp.Array: ("a list", None, None),
    exp.Struct: ("a struct", None, None),
    exp.Bracket: ("an element of a list", None, None),
    exp.Star: ("*", None, None),
    exp.Tuple: ("a row value", None, None),
    exp.AtTimeZone: ("AT TIME ZONE", None, None),
    exp.Escape: (
        "LIKE with ESCAPE",
        "its pattern can fail",
        "use contains, starts_with or ends_with",
    ),
    exp.Collate: (
        "COLLATE",
        "it changes what is equal",
        "compare lower(...) with a text in small letters",
    ),
    exp.Any: ("ANY", None, None),
    exp.Lambda: ("a lambda", None, None),
    exp.Placeholder: ("a named parameter", None, None),
}


def check_growth(node: exp.Expr, span: Span | None) -> None:
    """Refuse a text expression whose result may be far longer than what the row holds."""
    times, extra = _reach(node)
    if times > MOST_TIMES or extra > MOST_EXTRA:
        raise Refused(
            "this text may become too long",
            why="memory that runs out for some rows and not for others would reveal them: a "
            f"text may grow to {MOST_TIMES} times what a row holds and {MOST_EXTRA:,} characters",
            fix="compare the parts by themselves",
            span=span,
        )


def check_copies(written: exp.Expr, bound: exp.Expr, span: Span | None) -> None:
    """Refuse an expression that becomes far longer than it is written.

    A guarded function writes its argument twice, so that 30 of them inside each other would be
    written 2^30 times: nobody must be able to stop the engine with a line of text.
    """
    if longer(bound, MOST_NODES) and longer(bound, MOST_NODES + MOST_COPIES * size(written)):
        raise Refused(
            "this expression becomes too long",
            why="functions that guard their argument write it down more than once, and nest",
            fix="put fewer functions inside each other",
            span=span,
        )


def _reach(node: exp.Expr) -> tuple[int, int]:
    """(times, extra): the result has at most `times * longest cell + extra` characters."""
    if isinstance(node, exp.Literal):
        return 0, len(node.this)
    if isinstance(node, exp.Column):
        return 1, 0
    inner = [_reach(child) for child in node.iter_expressions()]
    if isinstance(node, exp.DPipe):
        return sum(times for times, _ in inner), sum(extra for _, extra in inner)
    times = max((times for times, _ in inner), default=0)
    extra = max((extra for _, extra in inner), default=0)
    if isinstance(node, exp.Anonymous) and str(node.this) == "replace":
        search, replacement = (len(part.name) for part in node.expressions[1:])
        factor = -(-replacement // search) if search else 1
        return times * max(1, factor), extra * max(1, factor)
    return times, extra


def check_parts(node: exp.Expr, allowed: tuple[str, ...], source: Source, what: str) -> None:
    """Refuse a node that carries anything beyond the parts that are read."""
    extra = [key for key, value in node.args.items() if value and key not in allowed]
    if extra:
        words = extra[0].replace("_", " ").strip().upper()
        if extra[0] == "pivots":
            words = "UNPIVOT" if node.args["pivots"][0].args.get("unpivot") else "PIVOT"
        raise Refused(
            f"{what} with {words} is not supported",
            why="whatever is not fully understood is refused, never ignored",
            span=source.span(node),
        )


def null_test(node: exp.Is, source: Source) -> Refused:
    """The refusal of IS NULL in HAVING, with the count that says the same where there is one.

    An aggregate is NULL where no row that it reads has a value; a count never is.
    """
    value, span = node.this.unnest(), source.span(node)
    if not isinstance(node.expression, exp.Null):
        words = "IS TRUE and IS FALSE"
        fix, instead = "leave it out, or put NOT before the comparison", None
    else:
        words = "IS NULL"
        plain = isinstance(value, exp.AggFunc) and isinstance(value.this, exp.Column)
        written = "" if span is None else source.sql[span.start : span.end].upper()
        sign = ">" if re.search(r"\bNOT\s*NULL\s*$", written) else "="
        fix = "compare a count with 0, which no row may be behind"
        instead = f"count({value.this.sql(dialect='duckdb')}) {sign} 0" if plain else None
    return Refused(
        f"HAVING takes no {words}",
        why="an aggregate is NULL where no row counts, and that is a count to compare",
        fix=fix if instead is None else None,
        instead=instead,
        span=span,
    )


def unknown(node: exp.Expr, source: Source, span: Span | None) -> Exception:
    """The refusal of a node that nothing binds, by its name."""
    if isinstance(node, exp.AggFunc):
        return SqlError(
            f"an aggregate ({node.sql_name().lower()}) cannot stand here",
            why="aggregates belong to SELECT and HAVING",
            fix="move the condition to HAVING",
            span=span,
        )
    name, why, fix = UNSUPPORTED.get(type(node), (None, None, None))
    if name is None and isinstance(node, exp.Func):
        name = f"the function {source.name_at(span) or node.sql_name().lower()}"
    what = name or f"the expression {node.key.upper()}"
    return Refused(
        f"{what} is not allowed here",
        why=why or "whatever is not known to be total and deterministic is refused",
        fix=fix or "compute the column in a view that the data owner declares",
        span=span or source.find(what),
    )
