"""No row raises, and every claim of the plan holds, for every form, type and extreme value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from sqlglot import exp

from probe_sql.errors import Span
from probe_sql.sql import build, expression, scalar
from probe_sql.sql.arithmetic import small_power
from probe_sql.sql.functions import FUNCTIONS
from probe_sql.sql.functions.row import from_to
from probe_sql.sql.scalar import Scalar
from probe_sql.types import Kind, SqlType

from . import matrix, matrix_forms

PARTS = 8
NESTED = 24_000


@pytest.fixture(scope="module")
def extremes() -> matrix.Bench:
    return matrix.Bench()


@pytest.fixture
def bench(extremes: matrix.Bench) -> Iterator[matrix.Bench]:
    extremes.findings.clear()
    extremes.forget()
    yield extremes
    print(extremes.counts)


def report(bench: matrix.Bench) -> str:
    return f"{len(bench.findings)} findings\n" + "\n".join(bench.findings[:20])


def test_every_entry_of_the_binders_tables_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert matrix_forms.uncovered() == []
    monkeypatch.setitem(expression._HANDLERS, exp.Soundex, expression._null)
    monkeypatch.setitem(expression._CALLS, exp.Cbrt, FUNCTIONS["sqrt"])
    assert matrix_forms.uncovered() == ["Soundex", "Cbrt"]


def test_a_sample(bench: matrix.Bench) -> None:
    rng = Random(14)
    accepted = bench.check(matrix_forms.sample(rng, 4))
    bench.check(matrix_forms.nested(rng, accepted, 200))
    assert not bench.findings, report(bench)
    assert bench.counts["compared"] > 250, bench.counts


def test_joins(bench: matrix.Bench) -> None:
    bench.check_joins()
    assert not bench.findings, report(bench)


@pytest.mark.slow
def test_columns_within_their_bounds(bench: matrix.Bench) -> None:
    bench.check_columns()
    assert not bench.findings, report(bench)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_whole(bench: matrix.Bench, part: int) -> None:
    everything = list(matrix_forms.whole(Random(15), 300))
    Random(16).shuffle(everything)
    accepted = bench.check(everything[part::PARTS])
    bench.check(matrix_forms.nested(Random(17 + part), accepted, NESTED // PARTS))
    assert not bench.findings, report(bench)


# --- negative controls: the matrix sees each wall that is taken away ---------------------


def test_it_sees_a_year_that_is_planned_too_late(
    bench: matrix.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = replace(FUNCTIONS["year"], within=from_to(-400_000, 6_000_000))
    monkeypatch.setitem(expression._CALLS, exp.Year, late)
    bench.check(["year(a_day)"])
    assert "is -5877641, planned at least -400000.0" in report(bench)


def test_it_sees_a_power_that_is_planned_like_its_base(
    bench: matrix.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def narrow(value: Scalar, times: int, span: Span | None) -> Scalar:
        return replace(small_power(value, times, span), low=value.low, high=value.high)

    bench.check(["power(b_i8, 3)"])
    assert not bench.findings
    monkeypatch.setattr("probe_sql.sql.expression.small_power", narrow)
    bench.check(["power(b_i8, 3)"])
    assert "planned at" in report(bench)


def test_it_sees_ends_that_are_not_rounded(
    bench: matrix.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = "CASE WHEN a_boolean THEN 19807040628566084398385987584 ELSE 1 END - 1e0"
    bench.check([chosen])
    assert not bench.findings
    monkeypatch.setattr(scalar, "_CONVERTED", 2**200)
    monkeypatch.setattr(scalar, "outward", lambda low, high: (low, high))
    bench.check([f"{chosen} * b_i128", "greatest(a_i128, b_d382, 0.5e0)", "-(b_d3838 + 1e0)"])
    assert "planned at" in report(bench)


def test_it_sees_literals_of_the_databases_own_type(
    bench: matrix.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = scalar.literal

    def bare(value: Fraction, type_: SqlType) -> exp.Expr:
        if type_.kind is Kind.INTEGER:
            return build.integer_literal(int(value))
        return typed(value, type_)

    monkeypatch.setattr(scalar, "literal", bare)
    bench.check(["CASE WHEN a_boolean THEN 50000 ELSE 0 END * b_i8"])
    assert "planned BIGINT" in report(bench)
    bench.check(["CASE WHEN a_boolean THEN 50000 ELSE 0 END * 50000"])
    assert "raises" in report(bench)
