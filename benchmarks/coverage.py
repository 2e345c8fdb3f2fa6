"""How often the exact value lies within the margin that is printed, for every kind of value.

Every group of a query is a repetition, for groups do not see each other. What is judged is the text
that people read, rounded as it is. Each cell is judged once more with margins that are cut to
`CUT` of what is printed: an audit that could not see that would see nothing.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.engine import seed_of
from benchmarks.provenance import write_records
from benchmarks.seeded import SeededWords
from probe_sql.answer import Answer
from probe_sql.answer.table import parts
from probe_sql.database import Database
from probe_sql.ledger import Ledger
from probe_sql.policy import parse_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

SEED = 18
CONFIDENCE = 0.95
SIZES = (0, 1, 5, 50, 500, 5000)  # margins of means are bought for the last but one
GROUPS = 200  # of each size
CUT = 0.6
POLICY = """
[budget]
epsilon = 1000000.0
per_query = 0.5
[reuse]
answers = "none"
[tables.events]
unit = "row"
rows_per_group = 500
[tables.events.columns]
g = {{ keys = {{ integers = [0, {last}] }} }}
x = {{ bounds = [0, 100] }}
skewed = {{ bounds = [0, 1000], scale = 2 }}
zero = {{ bounds = [0, 1000] }}
signed = {{ bounds = [-50, 50] }}
gaps = {{ bounds = [0, 100] }}
p = {{}}
d = {{}}
[tables.lists]
unit = "row"
[tables.lists.columns]
g = {{ keys = {{ integers = [0, 40] }} }}
signed = {{ bounds = [-1, 2] }}
[tables.visits]
unit = {{ column = "person", max_rows = 30, max_rows_per_group = 1 }}
[tables.visits.columns]
person = {{}}
g = {{ keys = {{ integers = [0, 40] }} }}
"""
LISTS = """
CREATE TABLE lists AS SELECT g, (i % 4 - 1)::INTEGER AS signed
    FROM range(41) t(g), range(400) s(i) WHERE i < 400 - 9 * g;
CREATE TABLE visits AS SELECT i AS person, g
    FROM range(41) t(g), range(800) s(i) WHERE (i * 41 + g) * 2654435761 % 4096 < 3000 - 70 * g
"""
ROWS = """
SELECT (b * {kinds} + {kind})::INTEGER AS g, (i * 37 % 101)::INTEGER AS x,
    CAST(0.9 * exp((i * 61 % 700) / 100.0) AS DECIMAL(8, 2)) AS skewed,
    (CASE WHEN i % 50 = 0 THEN i % 7 ELSE 0 END)::INTEGER AS zero,
    (i * 13 % 61 - 20)::INTEGER AS signed,
    CASE WHEN i % 4 > 0 THEN i % 100 END::INTEGER AS gaps,
    i % 10 = 0 AS p, (i % greatest({size} // 3, 1))::INTEGER AS d
FROM range({groups}) t(b), range({size}) s(i)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A value of the SELECT list with its options; `ranked` is the share of a quantile.

    `exact` is the same in DuckDB, where its words are others.
    """

    kind: str
    value: str
    options: dict[str, Any] = field(default_factory=dict)
    ranked: tuple[str, Fraction] | None = None
    exact: str = ""
    beside: str = ""


def ranked(kind: str, value: str, column: str, share: str, **options: Any) -> Case:
    return Case(kind, value, options, (column, Fraction(share)))


CASES = (
    Case("count", "count(*)"),
    Case("count", "count_if(p)"),
    Case("count, margin 10", "count(*)", {"margin": 10}),
    Case("count beside a mean", "count(*)", beside="avg(x)"),
    Case("distinct", "count(DISTINCT d)"),
    Case("sum", "sum(x)"),
    Case("sum, skewed", "sum(skewed)"),
    Case("sum, nearly all 0", "sum(zero)"),
    Case("sum of both signs", "sum(signed)"),
    Case("sum, margin 2000", "sum(x)", {"margin": 2000}),
    Case("relative, 5 %", "count(*)", {"margin": "5%", "epsilon": 2.0}),
    Case("relative, 20 % or 5 rows", "sum(x)", {"margin": "20% or 5 rows", "epsilon": 2.0}),
    Case("relative, 20 % or 5 rows", "avg(x)", {"margin": "20% or 5 rows", "epsilon": 2.0}),
    Case("relative, 30 % or 5 rows", "avg(skewed)", {"margin": "30% or 5 rows", "epsilon": 2.0}),
    Case("relative, 10 %", "count_if(p) / count(*)", {"margin": "10%", "epsilon": 2.0}),
    Case("mean", "avg(x)"),
    Case("mean, skewed", "avg(skewed)"),
    Case("mean, nearly all 0", "avg(zero)"),
    Case("mean of both signs", "avg(signed)"),
    Case("mean, some NULL", "avg(gaps)"),
    Case("mean, margin 2", "avg(x)", {"margin": 2}),
    Case("mean, skewed, margin 20", "avg(skewed)", {"margin": 20}),
    Case("share", "count_if(p) / count(*)"),
    Case("share, margin .02", "count_if(p) / count(*)", {"margin": 0.02}),
    Case("ratio", "sum(skewed) / sum(x)"),
    Case("ratio of both signs", "sum(signed) / count_if(p)"),
    Case("variance", "var_pop(x)"),
    Case("standard deviation", "stddev(skewed)"),
    Case("arithmetic", "2 * avg(x) - 3 * avg(gaps)"),
    Case("product", "avg(x) * avg(skewed)"),
    Case("product, 40 %", "avg(x) * avg(skewed)", {"margin": "40% or 5 rows", "epsilon": 4.0}),
    Case("product, margin 1000", "avg(x) * avg(gaps)", {"margin": 1000}),
    Case("root, margin 30", "sqrt(sum(x))", {"margin": 30}),
    ranked("minimum", "min(x)", "x", "0"),
    ranked("maximum", "max(skewed)", "skewed", "1"),
    ranked("maximum, margin 300 rows", "max(x)", "x", "1", margin=300),
    ranked("median", "median(x)", "x", "1/2"),
    ranked("median, nearly all 0", "median(zero)", "zero", "1/2"),
    ranked("median, margin 150 rows", "median(skewed)", "skewed", "1/2", margin=150),
    ranked("quantile .9", "quantile_disc(skewed, 0.9)", "skewed", "9/10"),
)


@dataclass(frozen=True, slots=True)
class Record:
    """One kind of value in groups of one size: how often there was a margin, and how it held.

    `covered` and `cut` are of those with a margin: as printed, and cut to `CUT`.
    """

    kind: str
    value: str
    size: int
    tried: int
    given: int
    covered: float | None
    cut: float | None


@dataclass(frozen=True, slots=True)
class ListCase:
    """The first groups by a value, of `lists` (each row counts) or of `visits` (each person)."""

    table: str
    value: str
    order: str
    epsilon: float


LIST_CASES = (
    ListCase("lists", "count(*)", "DESC", 0.5),
    ListCase("lists", "count(*)", "ASC", 0.5),
    ListCase("lists", "sum(signed)", "DESC", 0.5),
    ListCase("visits", "count(*)", "DESC", 0.5),
    ListCase("visits", "count(*)", "DESC", 2.0),
    ListCase("visits", "count(*)", "ASC", 2.0),
)
LIMIT = 5


@dataclass(frozen=True, slots=True)
class ListRecord:
    """How often all was true that is said of a list at once, and what there was to say."""

    case: str
    way: str
    runs: int
    true: float
    certain: float
    limited: float


class Wide(Sampler):
    """A negative control: noise that is wider than its epsilon says."""

    def discrete_laplace(self, n: int, epsilon: Any, delta: int) -> Any:
        return super().discrete_laplace(n, 0.7 * float(epsilon), delta)


@contextmanager
def opened(seed: int, groups: int, sampler: type[Sampler] = Sampler) -> Iterator[Connection]:
    """A database with `groups` groups of each size, and a ledger that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="probe-coverage-") as name:
        folder = Path(name)
        path = folder / "coverage.duckdb"
        with duckdb.connect(path) as plain:
            kinds = len(SIZES)
            made = [
                ROWS.format(kinds=kinds, kind=kind, size=size, groups=groups)
                for kind, size in enumerate(SIZES)
            ]
            plain.execute(f"CREATE TABLE events AS {' UNION ALL '.join(made)}")
            plain.execute(LISTS)
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = name
        try:
            policy = parse_policy(POLICY.format(last=len(SIZES) * groups - 1))
            backend = open_backend(str(path), policy)
            typed = policy.with_types(backend.schemas())
            ledger = Ledger.open(folder / "ledger", budget=typed.budget, identity="coverage")
            noise = sampler(SeededWords(seed_of(seed, "coverage")))
            with Connection(Database(backend, typed, ledger, noise)) as connection:
                yield connection
        finally:
            os.environ.pop("XDG_STATE_HOME")
            if before is not None:
                os.environ["XDG_STATE_HOME"] = before


def judge(connection: Connection, case: Case, runs: int) -> list[Record]:
    """Ask a case and compare what is printed with the truth, by the size of the groups."""
    held = [[0, 0, 0, 0] for _ in SIZES]  # tried, given, covered, covered when cut
    off = _judge_of(case)
    beside = f", {case.beside}" if case.beside else ""
    query = f"SELECT g, {case.value} AS v{beside} FROM events GROUP BY g ORDER BY g"
    for _ in range(runs):
        options = {"confidence": CONFIDENCE, **case.options}
        answer = connection.sql(query, **options)
        assert isinstance(answer, Answer)
        assert answer.status == "answered", f"{case.kind}: {answer}"
        for row, cells in zip(answer.rows, parts(answer), strict=True):
            kind = row[0] % len(SIZES)
            count = held[kind]
            count[0] += 1
            text, margin = cells[1]
            if not margin:
                continue
            error = off(kind, _number(text))
            if error is None:  # no exact value: what is printed can be neither right nor wrong
                continue
            count[1] += 1
            width = _number(margin)
            count[2] += error <= width * (1 + 1e-12)
            count[3] += error <= CUT * width
    return [
        Record(case.kind, case.value, size, tried, given, *_shares(given, covered, cut))
        for size, (tried, given, covered, cut) in zip(SIZES, held, strict=True)
    ]


def _shares(given: int, covered: int, cut: int) -> tuple[float | None, float | None]:
    return (covered / given, cut / given) if given else (None, None)


def _number(text: str) -> float:
    """The number in a cell, or in what follows it."""
    [found] = re.findall(r"-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?", text)
    return float(found.replace(",", ""))


def _judge_of(case: Case) -> Callable[[int, float], float | None]:
    """How far a printed value is off in a group of a kind; None where there is no exact one."""
    with duckdb.connect() as plain:
        tables = [
            ROWS.format(kinds=len(SIZES), kind=kind, size=size, groups=1)
            for kind, size in enumerate(SIZES)
        ]
        if case.ranked is None:
            asked = case.exact or case.value
            values = [plain.execute(f"SELECT {asked} FROM ({t})").fetchall()[0][0] for t in tables]
            if case.value.startswith("sum") and "/" not in case.value:
                values = [0 if value is None else value for value in values]

            def off(kind: int, printed: float) -> float | None:
                exact = values[kind]
                known = exact is not None and math.isfinite(exact)
                return abs(printed - float(exact)) if known else None

            return off
        column, share = case.ranked
        lists = [
            [float(value) for (value,) in plain.execute(f"SELECT {column} FROM ({t})").fetchall()]
            for t in tables
        ]
    ordered = [sorted(values) for values in lists]

    def rows_off(kind: int, printed: float) -> float:
        values = ordered[kind]
        below = bisect_left(values, printed)
        above = len(values) - bisect_right(values, printed)
        if share in (0, 1):
            return float(above if share else below)
        n = len(values)
        return max(0.0, float(below - share * n), float(above - (1 - share) * n))

    return rows_off


def judge_list(connection: Connection, case: ListCase, runs: int) -> ListRecord:
    """Ask for the first groups; true is a run where all marks and the limit are right at once."""
    with duckdb.connect() as plain:
        plain.execute(LISTS)
        # A person keeps 30 rows of at most 41: all do here, which the test of the table holds.
        found = plain.execute(f"SELECT g, {case.value} FROM {case.table} GROUP BY g").fetchall()
    exact = {int(group): float(value) for group, value in found}
    sign = 1 if case.order == "DESC" else -1
    last = sorted((sign * value for value in exact.values()), reverse=True)[LIMIT - 1]
    query = (
        f"SELECT g, {case.value} AS n FROM {case.table} GROUP BY g ORDER BY n {case.order}"
        f" LIMIT {LIMIT}"
    )
    true = certain = limited = 0
    way = ""
    for _ in range(runs):
        answer = connection.sql(query, epsilon=case.epsilon, confidence=0.8)
        assert isinstance(answer, Answer)
        assert answer.status == "answered"
        said = answer.privacy.sentence
        way = "chosen" if "chosen without" in said else "all measured"
        sure = [
            row[0] for row, mark in zip(answer.rows, answer.marks, strict=True) if mark == "certain"
        ]
        right = all(sign * exact[group] >= last for group in sure)
        limit = re.search(r"lies (?:above|below) (-?[0-9][0-9,.]*[0-9]|[0-9])", said)
        if limit:
            end = sign * float(limit.group(1).replace(",", ""))
            shown = {row[0] for row in answer.rows}
            hidden = max(sign * value for group, value in exact.items() if group not in shown)
            right = right and hidden <= end
        true += right
        certain += len(sure)
        limited += bool(limit)
    name = f"{case.value} of {case.table}, {case.order}, epsilon {case.epsilon:g}"
    return ListRecord(name, way, runs, true / runs, certain / runs, limited / runs)


def show(records: Sequence[Record], console: Console) -> None:
    """One line for each kind, one column for each size."""
    table = Table(title=f"coverage of printed margins, {CONFIDENCE:g} asked for")
    table.add_column("value")
    for size in SIZES:
        table.add_column(f"{size:,} rows", justify="right")
    table.add_column(f"cut to {CUT:g}", justify="right")
    for name, *cells in lines(records):
        table.add_row(name, *cells)
    console.print(table)


def show_lists(records: Sequence[ListRecord], console: Console) -> None:
    """One line for each list."""
    table = Table(title=f"the first {LIMIT} of 41, all that is said at once; .8 asked for")
    for name in ("list", "way", "true", "certain of them", "with a limit"):
        table.add_column(name)
    for r in records:
        table.add_row(r.case, r.way, f"{r.true:.3f}", f"{r.certain:.2f}", f"{r.limited:.2f}")
    console.print(table)


def lines(records: Sequence[Record]) -> list[list[str]]:
    """The cells of the table; in brackets the share of groups that had a margin, where not all."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record.kind, record.value), []).append(record)
    return [
        [f"{kind}: {value}", *map(_cell, cells), _least(cells)]
        for (kind, value), cells in found.items()
    ]


def _cell(record: Record) -> str:
    if record.covered is None:
        return "-"
    text = f"{record.covered:.3f}"
    return text if record.given == record.tried else f"{text} ({record.given / record.tried:.2f})"


def _least(cells: Sequence[Record]) -> str:
    return f"{min(cell.cut for cell in cells if cell.cut is not None):.3f}"


def main(argv: list[str] | None = None) -> int:
    """Ask every case, print the table, and write JSON where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help=f"each of {GROUPS} groups of a size")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--wide", action="store_true", help="the control with too wide noise")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    records: list[Record] = []
    with opened(options.seed, GROUPS, Wide if options.wide else Sampler) as connection:
        for case in CASES:
            records += judge(connection, case, options.runs)
            print(".", end="", flush=True, file=sys.stderr)
        lists = [judge_list(connection, case, 50 * options.runs) for case in LIST_CASES]
    print(file=sys.stderr)
    show(records, Console(width=150))
    show_lists(lists, Console(width=150))
    if options.json is not None:
        write_records(options.json, "coverage", options.seed, [*records, *lists], runs=options.runs)
    return 0
