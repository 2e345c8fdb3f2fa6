"""Random queries over the extremes: every operator and function of the dialect, oddly combined."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

NUMBERS = ["i8", "i32", "i64", "i128", "u64", "d2", "d18", "d38", "f", "x"]
TEXTS = ["s", "word"]
MOMENTS = ["day", "ts", "tsec", "tsn"]
CONSTANTS = [
    "0", "1", "-1", "2", "7", "0.5", "-0.25", "100", "1000000007", "9223372036854775807", "1e9",
    "1e-9", "1e300", "1e-300", "0.0000000001", "99999999999999999999", "12345678901234567890.5",
]  # fmt: skip
STRINGS = ["''", "'x'", "'a'", "'12'", "'NaN'", "'é'", "'2020-02-29'", "'%'", "'😀'"]
DATES = ["DATE '2020-02-29'", "TIMESTAMP '2020-02-29 23:59:59'", "DATE '0001-01-01'"]
PARTS = ["year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "hour", "minute",
         "second"]  # fmt: skip
TRUNCATIONS = ["minute", "hour", "day", "week", "month", "quarter", "year"]
NUMERIC_TYPES = [
    "TINYINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "UINTEGER", "DOUBLE", "FLOAT",
    "DECIMAL(3,1)", "DECIMAL(18,4)", "DECIMAL(38,20)",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Soup:
    """Draws expressions of a wanted kind; `depth` limits how far they nest."""

    rng: Random

    def pick(self, options: list[str]) -> str:
        return self.rng.choice(options)

    def number(self, depth: int) -> str:
        """A numeric expression over one row."""
        if depth <= 0 or self.rng.random() < 0.15:
            return self.pick(NUMBERS) if self.rng.random() < 0.75 else self.pick(CONSTANTS)
        inner = depth - 1
        kind = self.rng.randrange(16)
        if kind < 4:
            op = self.pick(["+", "-", "*", "/"])
            return f"({self.number(inner)} {op} {self.number(inner)})"
        if kind == 4:
            return f"({self.number(inner)} {self.pick(['//', '%'])} {self.number(inner)})"
        if kind == 5:
            name = self.pick(
                ["abs", "sign", "floor", "ceil", "round", "sqrt", "ln", "log10", "log2"]
            )
            return f"{name}({self.number(inner)})"
        if kind == 6:
            return f"round({self.number(inner)}, {self.rng.randrange(-15, 16)})"
        if kind == 7:
            return f"{self.pick(['least', 'greatest'])}({self.number(inner)}, {self.number(inner)})"
        if kind == 8:
            low, high = sorted([self.rng.randrange(-50, 50), self.rng.randrange(-50, 50)])
            return f"least(greatest({self.number(inner)}, {low}), {high})"
        if kind == 9:
            default = f" ELSE {self.number(inner)}" if self.rng.random() < 0.5 else ""
            return f"CASE WHEN {self.boolean(inner)} THEN {self.number(inner)}{default} END"
        if kind == 10:
            return f"coalesce({self.number(inner)}, {self.number(inner)})"
        if kind == 11:
            return f"nullif({self.number(inner)}, {self.number(inner)})"
        if kind == 12:
            what = self.pick([self.number(inner), self.text(inner), self.boolean(inner)])
            return f"CAST({what} AS {self.pick(NUMERIC_TYPES)})"
        if kind == 13:
            return f"length({self.text(inner)})"
        if kind == 14:
            return f"date_part('{self.pick(PARTS)}', {self.moment(inner)})"
        unit = self.pick([*TRUNCATIONS, "second"])
        return f"date_diff('{unit}', {self.moment(inner)}, {self.moment(inner)})"

    def text(self, depth: int) -> str:
        """A text expression over one row."""
        if depth <= 0 or self.rng.random() < 0.3:
            return self.pick(TEXTS) if self.rng.random() < 0.8 else self.pick(STRINGS)
        inner = depth - 1
        kind = self.rng.randrange(9)
        if kind == 0:
            return f"({self.text(inner)} || {self.text(inner)})"
        if kind == 1:
            return f"{self.pick(['lower', 'upper', 'trim', 'ltrim', 'rtrim'])}({self.text(inner)})"
        if kind == 2:
            return f"replace({self.text(inner)}, {self.pick(STRINGS)}, {self.pick(STRINGS)})"
        if kind == 3:
            start, size = self.rng.randrange(-9, 9), self.rng.randrange(0, 9)
            return f"substring({self.text(inner)}, {start}, {size})"
        if kind == 4:
            return f"{self.pick(['left', 'right'])}({self.text(inner)}, {self.rng.randrange(9)})"
        if kind == 5:
            what = self.pick([self.number(inner), self.moment(inner), self.boolean(inner)])
            return f"CAST({what} AS VARCHAR)"
        if kind == 6:
            return f"coalesce({self.text(inner)}, {self.text(inner)})"
        if kind == 7:
            return f"nullif({self.text(inner)}, {self.text(inner)})"
        return f"CASE WHEN {self.boolean(inner)} THEN {self.text(inner)} END"

    def moment(self, depth: int) -> str:
        """A date or timestamp expression over one row."""
        if depth <= 0 or self.rng.random() < 0.4:
            return self.pick(MOMENTS) if self.rng.random() < 0.8 else self.pick(DATES)
        inner = depth - 1
        kind = self.rng.randrange(5)
        if kind == 0:
            return f"date_trunc('{self.pick(TRUNCATIONS)}', {self.moment(inner)})"
        if kind == 1:
            source = self.pick([self.text(inner), self.moment(inner)])
            return f"CAST({source} AS {self.pick(['DATE', 'TIMESTAMP'])})"
        if kind == 2:
            return f"coalesce({self.moment(inner)}, {self.moment(inner)})"
        if kind == 3:
            return f"{self.pick(['least', 'greatest'])}({self.moment(inner)}, {self.moment(inner)})"
        return f"CASE WHEN {self.boolean(inner)} THEN {self.moment(inner)} END"

    def boolean(self, depth: int) -> str:
        """A condition on one row."""
        inner = depth - 1
        if depth <= 0:
            return self.pick(["b", "i32 > 0", "word = 'a'", "x < 0", "s IS NULL", "d2 = 0.01"])
        kind = self.rng.randrange(12)
        op = self.pick(["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"])
        if kind < 3:
            return f"({self.number(inner)} {op} {self.number(inner)})"
        if kind == 3:
            return f"({self.text(inner)} {op} {self.text(inner)})"
        if kind == 4:
            return f"({self.moment(inner)} {op} {self.moment(inner)})"
        if kind == 5:
            return f"({self.boolean(inner)} {self.pick(['AND', 'OR'])} {self.boolean(inner)})"
        if kind == 6:
            return f"(NOT {self.boolean(inner)})"
        if kind == 7:
            pattern = self.pick(["'%x%'", "'_'", "''", "'%'", "'a%'", "'\\'"])
            return f"({self.text(inner)} {self.pick(['LIKE', 'NOT LIKE', 'ILIKE'])} {pattern})"
        if kind == 8:
            low, high = self.pick(CONSTANTS), self.pick(CONSTANTS)
            return f"({self.number(inner)} BETWEEN {low} AND {high})"
        if kind == 9:
            options = ", ".join(self.rng.sample(CONSTANTS, 3))
            return f"({self.number(inner)} IN ({options}))"
        if kind == 10:
            name = self.pick(["starts_with", "ends_with", "contains"])
            return f"{name}({self.text(inner)}, {self.text(inner)})"
        return f"({self.number(inner)} IS NOT NULL)"

    def filtered(self, call: str, depth: int) -> str:
        """An aggregate call, sometimes with FILTER; filters that exclude each other come often."""
        roll = self.rng.random()
        if roll < 0.5:
            return call
        if roll < 0.75:
            test = self.pick(
                [
                    "d2 = 0.01",
                    "d2 = CAST('0.013' AS DECIMAL(9,2))",
                    "x > 0",
                    "x <= 0",
                    "b",
                    "NOT b",
                    "word = 'a'",
                    "word = 'A'",
                    "word IN ('a', 'é')",
                    "i32 < 5",
                    "i32 >= 5",
                    "f = 1e-45",
                    "f = 0",
                    "d38 = 0",
                    "d38 > 0",
                    "day = DATE '2020-02-29'",
                    "ts < TIMESTAMP '2020-02-29 23:59:59'",
                    "u64 = 18446744073709551615",
                ]
            )
            return f"{call} FILTER (WHERE {test})"
        return f"{call} FILTER (WHERE {self.boolean(depth)})"

    def aggregate(self, depth: int) -> str:
        """A numeric aggregate."""
        kind = self.rng.randrange(8)
        if kind < 3:
            return self.filtered(f"sum({self.number(depth)})", depth)
        if kind == 3:
            return self.filtered(f"avg({self.number(depth)})", depth)
        if kind == 4:
            return self.filtered("count(*)", depth)
        if kind == 5:
            what = self.pick([self.number(depth), self.text(depth), self.moment(depth)])
            return self.filtered(f"count({self.pick(['', 'DISTINCT '])}{what})", depth)
        if kind == 6:
            return f"count_if({self.boolean(depth)})"
        return f"coalesce(sum({self.number(depth)}), 0)"

    def atom(self, depth: int) -> str:
        """One comparison of HAVING."""
        op = self.pick(["<", "<=", ">", ">=", "="])
        bound = self.pick(["0", "1", "-3", "2.5", "1000", "-0.001"])
        kind = self.rng.randrange(12)
        if kind < 6:
            return f"{self.aggregate(depth)} {op} {bound}"
        if kind == 6:
            return f"{self.aggregate(depth)} + {self.aggregate(depth)} {op} {bound}"
        if kind == 7:
            return f"{self.aggregate(depth)} {op} {bound} * {self.aggregate(depth)}"
        if kind == 8:
            return f"{self.aggregate(depth)} / count(*) {op} {bound}"
        if kind == 9:
            name = self.pick(["min", "max", "median"])
            return f"{name}({self.number(depth)}) {op} {self.pick(CONSTANTS)}"
        if kind == 10:
            name = self.pick(["min", "max"])
            return f"{name}({self.moment(depth)}) {op} {self.pick(DATES)}"
        public = self.pick(["caps.cap", "caps.rate", "caps.frac", "2 * caps.cap - 1"])
        return f"{self.aggregate(depth)} {op} {public}"

    def query(self, depth: int = 2) -> str:
        """A whole query, grouped by the number of the group."""
        atoms = [self.atom(depth) for _ in range(self.rng.randrange(1, 4))]
        having = self.pick([" AND ", " OR "]).join(atoms)
        where = f"WHERE {self.boolean(depth)} " if self.rng.random() < 0.5 else ""
        join = "JOIN caps ON caps.g = rows.g " if "caps." in having else ""
        extra = self.rng.randrange(9)
        if extra == 0:
            join += f"LEFT JOIN days ON days.at = {self.moment(1)} "
        elif extra == 1:
            join += f"LEFT JOIN wide ON wide.n = {self.number(1)} "
        elif extra == 2:
            join += f"JOIN words ON words.w = {self.text(1)} "
        return f"SELECT rows.g FROM rows {join}{where}GROUP BY rows.g HAVING {having}"
