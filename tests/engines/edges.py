"""Values at the edges of every type, written as SQL, and random expressions over them."""

from __future__ import annotations

import random

from probe_sql.policy import Policy, parse_policy
from tests.examples.policies import one_table

POLICY = one_table(
    "edges",
    """
k = { keys = { integers = [0, 2] } }
d = {}
at = {}
x = { bounds = [-1e30, 1e30] }
y = { bounds = [-5, 5] }
r = { bounds = [-100, 100] }
n = { bounds = [-1000, 1000] }
w = {}
i = { bounds = [-1000, 1000] }
j = {}
s = {}
""",
    rows=60,
)
COLUMNS = {
    "k": "INTEGER", "d": "DATE", "at": "TIMESTAMP", "x": "DOUBLE PRECISION",
    "y": "DOUBLE PRECISION", "r": "REAL", "n": "DECIMAL(12,2)", "w": "DECIMAL(30,10)",
    "i": "BIGINT", "j": "SMALLINT", "s": "VARCHAR",
}  # fmt: skip

_DAYS = (
    "1969-12-31", "1970-01-01", "2000-02-29", "1900-02-28", "2019-12-30", "2020-12-31",
    "2021-01-03", "0001-01-01", "9999-12-31", "10000-01-01", "294246-12-31", "294247-01-10",
    "294247-01-11", "5000000-02-28", "5874897-12-31", "infinity", "-infinity",
    "0001-12-31 (BC)", "0044-03-15 (BC)", "4712-01-01 (BC)",
)  # fmt: skip
_MOMENTS = (
    "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1960-02-29 12:34:56.5",
    "2019-12-30 00:00:00", "2021-01-03 23:59:59", "2020-12-31 23:00:00.000001", "infinity",
    "-infinity", "0044-03-15 (BC) 01:02:03", "294246-12-31 23:59:59.999999",
    "0001-12-31 (BC) 23:59:59", "9999-12-31 23:59:59",
)  # fmt: skip
_FLOATS = (
    "0", "-0.0", "5e-324", "-5e-324", "1e-320", "2.2250738585072014e-308", "1e-160", "0.1", "0.5",
    "-0.5", "0.49999999999999994", "1.5", "2.5", "-2.5", "127.5", "-128.5", "32767.5", "1e15",
    "4503599627370497.5", "9007199254740993", "9.223372036854775e18", "9.223372036854776e18",
    "-9.223372036854776e18", "1e154", "1.3407807929942596e154", "8.98846567431158e307",
    "1.7976931348623157e308", "-1.7976931348623157e308", "inf", "-inf", "nan", "2147483647.5",
    "-2147483648.5", "99.95", "0.005", "-1.005",
)  # fmt: skip
_SINGLES = ("0", "0.1", "-3.4028235e38", "1e-45", "inf", "nan", "16777217", "2.5")
_DECIMALS = (
    "0", "0.01", "-0.01", "0.5", "1.5", "2.5", "-2.5", "127.49", "127.5", "-128.5", "9.95",
    "999.99", "9999999999.99", "-9999999999.99",
)  # fmt: skip
_WIDE = ("0", "0.0000000001", "12345678901234567890.1234567891", "-99999999999999999999.5", "7.5")
_INTEGERS = ("0", "1", "-1", "7", "-7", "127", "128", "-129", "9223372036854775807",
             "-9223372036854775808", "4611686018427387904", "999999")  # fmt: skip
_SMALL = ("0", "1", "-1", "32767", "-32768", "100")
_TEXTS = ("", "abc", " abc ", "\u00a0abc", "a%c", "ÀÉ", "日本語", "b", "B", "\u3000", "it's", "\\")

_VALUES = {
    "k": ("0", "1", "2", "3"), "d": _DAYS, "at": _MOMENTS, "x": _FLOATS, "y": _FLOATS,
    "r": _SINGLES, "n": _DECIMALS, "w": _WIDE, "i": _INTEGERS, "j": _SMALL, "s": _TEXTS,
}  # fmt: skip


def policy() -> Policy:
    """The policy of the table."""
    return parse_policy(POLICY)


def rows(count: int, seed: int) -> list[dict[str, str | None]]:
    """Rows as texts in DuckDB's spelling; every value occurs once there are enough of them."""
    draw = random.Random(seed)
    return [
        {
            name: None
            if draw.random() < 0.06
            else values[(i * 7 + draw.randrange(3)) % len(values)]
            for name, values in _VALUES.items()
        }
        for i in range(count)
    ]


class Conditions:
    """Random conditions over the table's columns."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def condition(self) -> str:
        """A comparison of an expression with a constant or another one."""
        kind = self._draw.choice(("float", "float", "integer", "integer", "day", "moment", "text"))
        left = getattr(self, f"_{kind}")(2)
        if self._draw.random() < 0.08:
            return f"{left} IS NULL"
        op = self._draw.choice(("=", "<", "<=", ">", ">=", "<>", "IS DISTINCT FROM"))
        right = getattr(self, f"_{kind}_constant")()
        if self._draw.random() < 0.2:
            right = getattr(self, f"_{kind}")(1)
        return f"{left} {op} {right}"

    def _float_constant(self) -> str:
        return self._draw.choice(
            (
                "0.0",
                "1e0",
                "0.1",
                "2.5",
                "1e300",
                "-1e300",
                "1e-300",
                "100.0",
                "3e0",
                "-2e0",
                "1e18",
            )
        )

    def _integer_constant(self) -> str:
        return self._draw.choice(
            ("0", "1", "-1", "2", "7", "127", "-128", "2020", "12", "400", "1000000000000", "-43")
        )

    def _day_constant(self) -> str:
        return self._draw.choice(("DATE '1970-01-01'", "DATE '2020-01-01'", "DATE '9999-12-31'"))

    def _moment_constant(self) -> str:
        return self._draw.choice(
            (
                "TIMESTAMP '1970-01-01 00:00:00'",
                "DATE '2019-12-30'",
                "TIMESTAMP '2020-12-31 23:00:00'",
            )
        )

    def _text_constant(self) -> str:
        return self._draw.choice(("''", "'abc'", "'b'", "'0.50'", "'1'", "'日'", "'a%c'", "'7'"))

    def _float(self, depth: int) -> str:
        pick = self._draw.choice
        if depth == 0:
            return pick(("x", "y", "x", "CAST(i AS DOUBLE)", "CAST(n AS DOUBLE)", "r", "x"))
        inner = self._float(depth - 1)
        c = self._float_constant()
        return pick(
            (
                f"({inner} * {c})",
                f"({inner} + {c})",
                f"({inner} - {c})",
                f"({c} - {inner})",
                f"({c} * {inner})",
                f"({inner} / nullif({c}, 0))",
                f"({inner} / 7)",
                f"(-{inner})",
                f"abs({inner})",
                f"floor({inner})",
                f"ceil({inner})",
                f"round({inner})",
                f"round({inner}, {pick((1, 2, 5, 15, -1, -3, -15))})",
                f"sqrt({inner})",
                f"least({inner}, {c})",
                f"greatest({inner}, {c})",
                f"coalesce({inner}, {c})",
                f"least(greatest({inner}, -1e9), 1e9) * least(greatest(y, -1e9), 1e9)",
                f"(least(greatest({inner}, -1e9), 1e9) * j)",
                f"(j / {inner})",
                "(i / j)",
                "(n / i)",
                f"({inner} + least(greatest(y, -1e9), 1e9))",
                f"nullif({inner}, {c})",
                f"CASE WHEN {inner} > {c} THEN {inner} ELSE y END",
                "CAST(w AS DOUBLE)",
            )
        )

    def _integer(self, depth: int) -> str:
        pick = self._draw.choice
        if depth == 0:
            return pick(("i", "j", "k", "i", "sign(x)", "length(s)"))
        inner = self._integer(depth - 1)
        c = self._integer_constant()
        integer = pick(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "UINTEGER"))
        part = pick(
            (
                "year",
                "quarter",
                "month",
                "week",
                "day",
                "dayofweek",
                "isodow",
                "dayofyear",
                "hour",
                "minute",
                "second",
            )
        )
        unit = pick(("year", "quarter", "month", "week", "day", "hour", "minute", "second"))
        return pick(
            (
                f"({inner} + {c})",
                f"({inner} * {c})",
                f"({inner} - {inner})",
                f"(-{inner})",
                f"abs({inner})",
                f"({inner} % 7)",
                f"({inner} // 7)",
                f"({inner} // j)",
                f"({inner} % j)",
                f"least({inner}, {c})",
                f"coalesce({inner}, {c})",
                f"CAST({self._float(depth - 1)} AS {integer})",
                f"CAST(n AS {integer})",
                f"CAST({inner} AS {integer})",
                f"CAST(n * 3 AS {integer})",
                f"CAST(x > 0 AS {integer})",
                f"{part}({self._moment(depth - 1)})",
                f"{part}({self._day(depth - 1)})",
                f"date_diff('{unit}', {self._moment(depth - 1)}, {self._moment(0)})",
                f"date_diff('{unit}', {self._day(depth - 1)}, {self._moment_constant()})",
                f"length({self._text(depth - 1)})",
                f"CAST(w AS {integer})",
                "CAST(CAST(x AS DECIMAL(9,2)) * 100 AS BIGINT)",
                "CAST(CAST(n AS DECIMAL(5,1)) AS BIGINT)",
                "CAST(CAST(i AS DECIMAL(7,3)) AS BIGINT)",
                "CAST(round(x, 2) AS BIGINT)",
            )
        )

    def _day(self, depth: int) -> str:
        if depth == 0:
            return self._draw.choice(("d", "CAST(at AS DATE)", "d"))
        c = self._day_constant()
        inner = self._day(depth - 1)
        return self._draw.choice(
            (
                f"CAST({self._moment(depth - 1)} AS DATE)",
                f"coalesce({inner}, {c})",
                f"least({inner}, {c})",
                f"greatest({inner}, {c})",
            )
        )

    def _moment(self, depth: int) -> str:
        if depth == 0:
            return self._draw.choice(("at", "CAST(d AS TIMESTAMP)", "at"))
        unit = self._draw.choice(("minute", "hour", "day", "week", "month", "quarter", "year"))
        inner = self._draw.choice((self._moment(depth - 1), self._day(depth - 1)))
        return self._draw.choice(
            (
                f"date_trunc('{unit}', {inner})",
                f"date_trunc('{unit}', {inner})",
                f"coalesce({self._moment(depth - 1)}, {self._moment_constant()})",
            )
        )

    def _text(self, depth: int) -> str:
        pick = self._draw.choice
        if depth == 0:
            return pick(
                ("s", "s", "CAST(i AS VARCHAR)", "CAST(n AS VARCHAR)", "CAST(j AS VARCHAR)")
            )
        inner = self._text(depth - 1)
        start, size = pick((-9, -2, -1, 0, 1, 2, 5)), pick((-3, -1, 0, 1, 2, 9))
        return pick(
            (
                f"substring({inner}, {start}, {size})",
                f"substring({inner}, {start})",
                f"left({inner}, {abs(size)})",
                f"right({inner}, {abs(size)})",
                f"trim({inner})",
                f"ltrim({inner})",
                f"rtrim({inner})",
                f"replace({inner}, 'b', 'bb')",
                f"({inner} || s)",
                f"coalesce({inner}, 'b')",
                f"greatest({inner}, 'b')",
                f"CASE WHEN contains({inner}, 'b') THEN s ELSE {inner} END",
                f"CASE WHEN ends_with({inner}, 'c') OR starts_with({inner}, '') THEN {inner} END",
                f"CAST({self._integer(depth - 1)} AS VARCHAR)",
                "CAST(n * 2 AS VARCHAR)",
                "CAST(x > 0 AS VARCHAR)",
            )
        )
