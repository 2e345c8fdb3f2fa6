"""The table of aggregates: what has no row is refused. Each is a tally with a known sensitivity."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate. `plan.normal` makes tallies of it, `plan.sensitivity` says what a row adds.

    `order` says that it is a value of some row, which is compared and never released. `plain` says
    that it takes one expression and nothing else.
    """

    name: str
    node: type[exp.Expr]
    written: tuple[str, ...]
    means: str
    order: bool = False
    plain: bool = True


AGGREGATES = (
    Aggregate("count", exp.Count, ("COUNT(*)", "COUNT(x)", "COUNT(DISTINCT x)"),
              "a group without rows counts 0", plain=False),
    Aggregate("count_if", exp.CountIf, ("COUNT_IF(condition)",),
              "the same as `COUNT(*) FILTER (WHERE condition)`: never NULL", plain=False),
    Aggregate("sum", exp.Sum, ("SUM(x)",),
              "numbers are clamped to the bounds that the policy declares; NULL without rows, "
              "`COALESCE(SUM(x), 0)` is 0"),
    Aggregate("avg", exp.Avg, ("AVG(x)",), "clamped too; NULL without rows"),
    Aggregate("min", exp.Min, ("MIN(x)",),
              "of numbers, texts, dates, timestamps; read as they are, not clamped", order=True),
    Aggregate("max", exp.Max, ("MAX(x)",), "as MIN", order=True),
    Aggregate("median", exp.Median, ("MEDIAN(x)",),
              "the lower of the two middle values where their number is even", order=True),
    Aggregate("quantile_disc", exp.PercentileDisc, ("QUANTILE_DISC(x, p)",), "0 < p <= 1",
              order=True, plain=False),
    Aggregate("quantile", exp.Quantile, ("QUANTILE(x, p)",), "another name of QUANTILE_DISC",
              order=True, plain=False),
)  # fmt: skip

# What to write instead of aggregates that are none of these, by the keys of their nodes.
HINTS = {
    "stddev": "compare AVG or a quantile, or select it and compare what is released",
    "mode": "compare counts of the values you care about",
    "logicalor": "use COUNT_IF(condition) > 0",
    "logicaland": "use COUNT_IF(NOT condition) = 0",
    "anyvalue": "use MIN or MAX",
    "first": "use MIN or MAX",
}
