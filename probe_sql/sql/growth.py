"""How long a text may become: a bound from the expression alone, before any row is read.

Privacy: `replace(replace(x, 'a', 'aaaaaaaaaa'), 'a', 'aaaaaaaaaa')` and so on exhausts the
memory where x holds an `a`, and does nothing elsewhere. A failure that depends on a row
is a release that nobody pays for, so texts that multiply are refused here.
"""

from __future__ import annotations

from sqlglot import exp

from probe_sql.errors import Refused, Span

MOST_TIMES = 64  # the longest text of a row, so many times over
MOST_EXTRA = 10_000  # characters beyond that, from the query itself


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
