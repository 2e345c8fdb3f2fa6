"""The plan's own reasoning, without the walls behind it: what each expression claims is true.

`test_first_wall` looks at measures, in which the clamp and the net of the scan make good whatever
the plan gets wrong. Here DuckDB computes such expressions bare, on the matrix' extreme values.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from sqlglot import exp

from probe_sql.sql.scalar import Scalar, clamp, decimal_limits
from probe_sql.types import parse_type

from . import matrix

A = 2**94 + 2**41
EITHER = f"CASE WHEN a_boolean THEN {A + 1} ELSE {A - 1} END"
CLAIMS = {
    "operands rounded as DOUBLEs": [
        f"{EITHER} - {A}e0", f"abs({EITHER}) - {A}e0", f"nullif({EITHER}, 3) - {A}e0",
        f"-({EITHER}) + {A}e0", f"({EITHER} + a_i8) - {A}e0", f"greatest({EITHER}, 1e0) - {A}e0",
        f"coalesce(a_i8 + {A}, 1e0 * {A}) - {A}e0",
    ],
    "constants rounded as DOUBLEs": [
        f"a_i8 * 0e0 + {2**53 + 1}", f"coalesce(NULL, {2**53 + 1}, 1e0)", f"least({A + 1}, a_x)",
    ],
    "results rounded outward": [
        "a_x + 0.1e0", "a_x * 0.1e0", "a_x / 3", "a_i8 / 7e0", "c_x + 0.1e0", "c_x / 0.7e0",
        "b_x - 0.3e0", "c_i8 * 1.1e0",
    ],
    "bounds from one side": [
        "round(greatest(a_x, 499999999999999), -15)", "ceil(least(1 / nullif(b_x, 0), 0.25e0))",
        "floor(greatest(length(a_s) / length(b_s), 0.9e0))", "round(least(b_x, 0.26e0), 1)",
        "round(greatest(1 / nullif(b_x, 0), 5e0), -2)", "round(least(b_x, -5e14), -15)",
        "round(greatest(a_x, 500e0), -2)", "round(least(a_x, -500e0), -2)",
    ],
    "differences, quotients and rests": [
        "a_i8 - b_i8", "a_x - b_x", "a_i8 / greatest(least(b_i8, 3), -2)", "1 / b_i8",
        "a_i32 // b_i32", "a_i32 % b_i32", "a_i8 % 3", "a_u8 % b_i8", "a_i8 // -2", "a_i8 * b_i8",
    ],
    "operands wider than the result": ["b_i64 * 0", "a_i128 * 0", "b_i64 - b_i64", "a_u64 * 0"],
    "products of decimals": ["a_d18 * b_d186", "b_d186 * b_d186", "b_d18 * b_d18", "a_d9 * b_d18"],
    "parts of moments": [
        *(f"year({side}_{name})" for side in "ab" for name in ("day", "ts", "tsec", "tns")),
        "second(a_ts)", "second(b_tms)", "minute(a_ts)", "week(a_day)", "dayofyear(b_day)",
    ],
    "moments that can be NULL": [
        "date_trunc('year', coalesce(a_day, DATE '2020-02-29'))", "date_trunc('week', a_ts)",
        "date_trunc('month', coalesce(b_ts, TIMESTAMP '2020-02-29 00:00:00'))",
        "coalesce(coalesce(a_day, DATE '2020-02-29'), TIMESTAMP '2020-02-29 00:00:00')",
        "CASE WHEN a_boolean THEN coalesce(a_day, DATE '2020-02-29') ELSE a_ts END",
        "CASE WHEN a_boolean THEN coalesce(a_day, DATE '2020-02-29')"
        " ELSE TIMESTAMP '2020-02-29 00:00:00' END",
    ],
    "extremes of what can be NULL": [
        "greatest(a_i8, 3)", "greatest(nullif(a_i8, 5), b_i8)", "least(nullif(5, b_i8), a_i8)",
        "greatest(nullif(9, a_i8), b_i8)", "least(b_x, nullif(2e0, a_x))",
    ],
    "the smallest integer": ["abs(a_i8)", "abs(a_i32)", "abs(b_i64)", "-b_i64", "a_i64 // -1"],
    "literals as wide as planned": [
        "CASE WHEN a_boolean THEN 50000 ELSE 0 END * 50000", "if(a_boolean, 50000, 0) * 50000",
        "coalesce(nullif(50000, a_i32), 50000) * 50000", "greatest(50000, 1) * 50000",
        "CASE WHEN a_boolean THEN -2147483648 ELSE 1 END // -1",
    ],
    "lists": [
        "CASE WHEN a_boolean THEN 1.5 ELSE 0.5 END IN (0.00000000000000000000000000000000000001)",
        "a_d382 IN (0.00000000000000000000000000000000000001, 1.5)", "a_i8 IN (0.5, 1000)",
        "a_tns IN ('9020-01-01 00:00:00')", "a_tsec IN ('2020-02-29 23:59:59.5')",
        "a_day IN ('2020-02-29 00:00:00')", "a_u64 IN (-1, 0.25)",
    ],
    "comparisons": [
        "a_d38 < b_d3838", "a_d382 = b_d3838", "a_i128 < b_d382", "a_d38 = b_d1", "a_tns < b_day",
        "a_ts = b_day", "a_d186 < 12345678901234567890123456789012345678", "a_u64 = b_d38",
    ],
    "constants that a DOUBLE does not hold": [
        "a_x * (1e-300 * 1e-300)", "a_x + 1e300 * 1e300", "a_x / (1e-200 * 1e-200)",
        "1e200 * 1e200 - 1e200 * 1e200", "least(1e300 * 1e300 - 1e300 * 1e300, 3)",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def extremes() -> matrix.Bench:
    return matrix.Bench()


@pytest.fixture
def bench(extremes: matrix.Bench) -> matrix.Bench:
    extremes.findings.clear()
    extremes.forget()
    return extremes


@pytest.mark.parametrize("what", CLAIMS)
def test_what_the_plan_claims_is_what_is_computed(bench: matrix.Bench, what: str) -> None:
    accepted = bench.check(CLAIMS[what])
    assert not bench.findings, "\n".join(bench.findings)
    assert len(accepted) * 2 > len(CLAIMS[what])


@pytest.mark.parametrize("type_", ["DECIMAL(18,0)", "DECIMAL(9,2)", "BIGINT", "DECIMAL(38,2)"])
@pytest.mark.parametrize(("low", "high"), [("-1/2", "1/2"), ("-1", "511/2"), ("1/3", "99995/1000")])
def test_clamped_values_are_within_the_bounds_and_not_only_near(
    type_: str, low: str, high: str
) -> None:
    known = parse_type(type_)
    ends = (known.low, known.high) if known.precision is None else decimal_limits(known)[:2]
    assert ends[0] is not None
    assert ends[1] is not None
    value = Scalar(exp.column("x"), known, low=Fraction(ends[0]), high=Fraction(ends[1]))
    held = clamp(value, Fraction(low), Fraction(high))
    assert held.low is not None
    assert held.high is not None
    assert Fraction(low) <= held.low <= held.high <= Fraction(high)
