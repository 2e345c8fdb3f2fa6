"""Pairs of queries: one in the dialect, one in plain SQL that must select the same groups.

The plain side is written here by hand, atom by atom, and shares nothing with the engine: it
aggregates the rows, joins the key domain to that (a group without rows has counts of 0 and
NULL for the rest) and evaluates the condition as SQL does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

TABLES = 8

POLICY_HEAD = """
[budget]
epsilon = 1e6
per_query = 9000.0
[defaults]
algorithm = "apex"
u = 1.0 # where the region lies decides nothing without noise, but what it costs
fnr = 0.4
[public.limits]
key = ["k"]
[public.limits.columns]
k = "INTEGER"
cap = { type = "INTEGER", bounds = [-1000, 1000] }
dcap = { type = "DECIMAL(9,2)", bounds = [-1000, 1000] }
rate = { type = "DECIMAL(5,2)", bounds = [0, 10] }
grade = "VARCHAR"
"""
POLICY_TABLE = """
[tables.t{number}]
rows_per_group = 1000
[tables.t{number}.columns]
k = {{ keys = [1, 2, 3, 4, 5, 6] }}
w = {{ keys = ["a", "b", "c"] }}
day = {{ keys = {{ dates = ["2020-02-27", "2020-03-05"] }} }}
i = {{ bounds = [-20, 20] }}
j = {{ bounds = [0, 10] }}
d = {{ bounds = [-100, 100], scale = 2 }}
x = {{ bounds = [-64, 64], granularity = 0.125 }}
s = {{}}
b = {{}}
ts = {{}}
"""


def policy() -> str:
    return POLICY_HEAD + "".join(POLICY_TABLE.format(number=n) for n in range(TABLES))


def statements(rng: Random) -> list[str]:
    """Tables of a few rows with many ties, NULLs, and keys outside of the domain."""

    def cell(options: list[str]) -> str:
        return "NULL" if rng.random() < 0.15 else rng.choice(options)

    made = [
        "CREATE TABLE limits (k INTEGER, cap INTEGER, dcap DECIMAL(9,2), rate DECIMAL(5,2), "
        "grade VARCHAR)",
        "INSERT INTO limits VALUES (1, 3, 0.29, 0.5, 'x'), (2, NULL, 1.1, 2.25, 'y'), "
        "(3, 0, -0.07, NULL, 'x'), (4, -4, NULL, 0, NULL), (6, 2, 5.55, 1, 'y'), "
        "(9, 1, 1, 1, 'x')",
    ]
    for number in range(TABLES):
        rows = []
        for _ in range(rng.choice([0, 5, 25, 60])):
            rows.append(
                "("
                + ", ".join(
                    [
                        cell(["1", "2", "3", "4", "7"]),
                        cell(["'a'", "'b'", "'z'"]),
                        cell(["'2020-02-28'", "'2020-02-29'", "'2020-03-02'", "'2021-01-01'"]),
                        cell(["-3", "-1", "0", "1", "2", "2", "5", "20"]),
                        cell(["0", "1", "2", "7"]),
                        cell(["-1.05", "0", "0.01", "0.29", "0.3", "2.5", "99.99"]),
                        cell(["-1.5", "0", "0.125", "0.5", "0.625", "3"]),
                        cell(["''", "'a'", "'A'", "'ab'", "'é'"]),
                        cell(["true", "false"]),
                        cell(["'2020-02-29 23:59:59'", "'2020-03-01 00:00:00'"]),
                    ]
                )
                + ")"
            )
        made.append(
            f"CREATE TABLE t{number} (k INTEGER, w VARCHAR, day DATE, i INTEGER, j BIGINT, "
            "d DECIMAL(9,2), x DOUBLE, s VARCHAR, b BOOLEAN, ts TIMESTAMP)"
        )
        if rows:
            made.append(f"INSERT INTO t{number} VALUES {', '.join(rows)}")
    return made


@dataclass(frozen=True, slots=True)
class Key:
    """A GROUP BY expression and its domain as plain SQL with one column."""

    text: str
    domain: str


KEYS = [
    Key("k", "SELECT unnest([1, 2, 3, 4, 5, 6])"),
    Key("w", "SELECT unnest(['a', 'b', 'c'])"),
    Key("day", "SELECT unnest(generate_series(DATE '2020-02-27', DATE '2020-03-05', "
        "INTERVAL 1 DAY))::DATE"),
    Key("date_trunc('week', day)", "SELECT unnest([TIMESTAMP '2020-02-24', "
        "TIMESTAMP '2020-03-02'])"),
    Key("date_part('month', day)", "SELECT unnest([2, 3])"),
    Key("k // 2", "SELECT unnest([0, 1, 2, 3])"),
    Key("CASE WHEN w = 'a' THEN 'first' ELSE 'rest' END", "SELECT unnest(['first', 'rest'])"),
]  # fmt: skip
ROWS = [
    "b", "NOT b", "i > 0", "i BETWEEN -1 AND 2", "s IN ('a', 'ab')", "s LIKE 'a%'", "d = 0.3",
    "x >= 0.5", "j % 2 = 1", "day > DATE '2020-02-28'", "i IS NULL", "s IS NOT NULL",
    "i + j > 2", "lower(s) = 'a'", "ts < TIMESTAMP '2020-03-01 00:00:00'", "NOT (i > 1 AND b)",
    "i <> 2 OR d < 0.29", "coalesce(i, 0) = 0", "length(s) = 1", "s || w = 'aa'", "x * 2 = 1",
    "CASE WHEN b THEN i > 0 ELSE j > 1 END", "i IS DISTINCT FROM 2", "abs(i) = 1",
    "date_part('day', day) = 29", "i NOT IN (1, 2)", "d * 2 > 0.58",
    "TRY_CAST(s AS INTEGER) IS NULL",
]  # fmt: skip
NUMBERS = ["i", "j", "d", "x", "i + j", "2 * i - j", "d + i", "abs(i)", "i * j", "-d", "x / 2",
           "CASE WHEN b THEN i ELSE j END", "CASE WHEN i > 0 THEN d END", "greatest(i, 0)",
           "coalesce(d, 1)", "least(length(s), 9)", "i // 2"]  # fmt: skip
BOUNDS = ["0", "1", "2", "3", "5", "-1", "0.29", "0.3", "0.5", "-2.5", "1000"]
BINARY = ["0", "1", "2", "-1", "0.5", "0.125", "-2.5"]
OPS = ["<", "<=", ">", ">=", "=", "<>"]


@dataclass(slots=True)
class Pair:
    """A query under construction; `found` are the plain aggregates its conditions read."""

    rng: Random
    joined: bool
    keyed: bool
    found: list[tuple[str, bool]] = field(default_factory=list)

    def slot(self, text: str, counted: bool) -> str:
        """The name of a plain aggregate's value: a count of no row is 0, the rest are NULL."""
        if (text, counted) not in self.found:
            self.found.append((text, counted))
        index = self.found.index((text, counted))
        return f"coalesce(v.a{index}, 0)" if counted else f"v.a{index}"

    def atom(self) -> tuple[str, str]:
        """One comparison: in the dialect, and plain."""
        pick = self.rng.choice
        op, bound, row = pick(OPS), pick(BOUNDS), pick(ROWS)
        kind = self.rng.randrange(18 if self.joined and self.keyed else 15)
        ending = f" FILTER (WHERE {row})" if self.rng.random() < 0.35 else ""
        if kind < 2:
            return f"count(*){ending} {op} {bound}", (
                f"{self.slot('count(*)' + ending, True)} {op} {bound}"
            )
        if kind == 2:
            text = f"count({pick(['i', 's', 'DISTINCT s', 'DISTINCT i', 'DISTINCT d'])}){ending}"
            return f"{text} {op} {bound}", f"{self.slot(text, True)} {op} {bound}"
        if kind < 5:
            text = f"sum({pick(NUMBERS)}){ending}"
            return f"{text} {op} {bound}", f"{self.slot(text, False)} {op} {bound}"
        if kind == 5:
            what = pick(NUMBERS)
            if "x" in what:
                bound = pick(BINARY)
            plain = (
                f"{self.slot(f'sum({what}){ending}', False)} {op} "
                f"{bound} * {self.slot(f'count({what}){ending}', True)}"
            )
            return f"avg({what}){ending} {op} {bound}", plain
        if kind == 6:
            text = f"{pick(['min', 'max'])}({pick(NUMBERS)}){ending}"
            return f"{text} {op} {bound}", f"{self.slot(text, False)} {op} {bound}"
        if kind == 7:
            what = pick(["day", "ts"])
            text = f"{pick(['min', 'max'])}({what}){ending}"
            against = "DATE '2020-02-29'"
            return f"{text} {op} {against}", f"{self.slot(text, False)} {op} {against}"
        if kind == 8:
            what = pick(["i", "j", "d", "x"])
            plain = f"{self.slot(f'quantile_disc({what}, 0.5){ending}', False)} {op} {bound}"
            return f"median({what}){ending} {op} {bound}", plain
        if kind == 9:
            text = f"quantile_disc({pick(['i', 'j', 'd'])}, {pick(['0.1', '0.75', '1'])}){ending}"
            return f"{text} {op} {bound}", f"{self.slot(text, False)} {op} {bound}"
        if kind == 10:
            plain = f"{self.slot(f'count(*) FILTER (WHERE {row})', True)} {op} {bound}"
            return f"count_if({row}) {op} {bound}", plain
        if kind == 11:
            part, share = f"count(*) FILTER (WHERE {row})", pick(["0.25", "0.5", "0", "1"])
            all_rows = self.slot("count(*)", True)
            plain = (
                f"CASE WHEN {all_rows} > 0 THEN {self.slot(part, True)} {op} "
                f"{share} * {all_rows} END"
            )
            return f"{part} / count(*) {op} {share}", plain
        if kind == 12:
            a, b = pick(["i", "j", "d"]), pick(["i", "j"])
            plain = f"{self.slot(f'sum({a})', False)} {op} 2 * {self.slot(f'sum({b})', False)} + 1"
            return f"sum({a}) {op} 2 * sum({b}) + 1", plain
        if kind == 13:
            inner = f"sum({pick(NUMBERS)})"
            return f"coalesce({inner}, 0) {op} {bound}", f"{self.slot(inner, True)} {op} {bound}"
        if kind == 14:
            least, most = sorted(self.rng.sample(range(-2, 8), 2))
            number = self.slot("count(*)", True)
            form = pick(
                ["BETWEEN {} AND {}", "NOT BETWEEN {} AND {}", "IN ({}, {})", "NOT IN ({}, {})"]
            ).format(least, most)
            return f"count(*) {form}", f"{number} {form}"
        if kind == 15:
            cap = pick(["cap", "2 * {}cap", "{}cap - 1", "dcap", "rate"])
            cap = cap if "{" in cap else "{}" + cap
            text, counted = pick([("count(*)", True), ("sum(i)", False), ("sum(d)", False)])
            plain = f"{self.slot(text, counted)} {op} {cap.format('l.')}"
            return f"{text} {op} {cap.format('limits.')}", plain
        if kind == 16:
            what = pick(["i", "j", "d"])
            cap = pick(["cap", "dcap"])
            plain = (
                f"{self.slot(f'sum({what})', False)} {op} "
                f"l.{cap} * {self.slot(f'count({what})', True)}"
            )
            return f"avg({what}) {op} limits.{cap}", plain
        what = pick(["min(i)", "max(d)", "max(j)"])
        cap = pick(["cap", "dcap"])
        return f"{what} {op} limits.{cap}", f"{self.slot(what, False)} {op} l.{cap}"

    def condition(self, depth: int) -> tuple[str, str]:
        """A condition of HAVING: in the dialect, and plain."""
        if depth == 0 or self.rng.random() < 0.3:
            return self.atom()
        roll = self.rng.random()
        if roll < 0.2:
            inner = self.condition(depth - 1)
            return f"NOT ({inner[0]})", f"NOT ({inner[1]})"
        word = self.rng.choice([" AND ", " OR "])
        parts = [self.condition(depth - 1) for _ in range(2)]
        return (
            "(" + word.join(part[0] for part in parts) + ")",
            "(" + word.join(part[1] for part in parts) + ")",
        )


def pair(rng: Random) -> tuple[str, str]:
    """A query of the dialect and its plain counterpart; both order by all keys."""
    keys = rng.sample(KEYS, rng.choice([1, 1, 2, 3]))
    table = f"t{rng.randrange(TABLES)}"
    joined = rng.random() < 0.4
    keyed = any(key.text == "k" for key in keys)
    work = Pair(rng, joined, keyed)
    dialect, plain = work.condition(rng.choice([0, 1, 2]))
    where = rng.choice(ROWS) if rng.random() < 0.4 else ""
    if joined and rng.random() < 0.3:
        where = " AND ".join(filter(None, [where, "grade = 'x'"]))
    source = table
    if joined:
        kind = rng.choice(["JOIN", "LEFT JOIN"])
        source = f"{table} {kind} limits ON limits.k = {table}.k"
    texts = [f"{table}.k" if joined and key.text == "k" else key.text for key in keys]
    texts = [text.replace("k //", f"{table}.k //") if joined else text for text in texts]
    named = ", ".join(f"{text} AS key{n}" for n, text in enumerate(texts))
    filters = f" WHERE {where}" if where else ""
    order = ", ".join(f"{n + 1}{' DESC' if rng.random() < 0.3 else ''}" for n in range(len(keys)))
    tail = f" ORDER BY {order}"
    if rng.random() < 0.2:
        tail += f" LIMIT {rng.randrange(4)} OFFSET {rng.randrange(3)}"
    asked = _wrapped(rng, source, filters, named, dialect, texts, tail, joined)
    values = "".join(f", {text} AS a{n}" for n, (text, _) in enumerate(work.found))
    domain = " CROSS JOIN ".join(f"({key.domain}) q{n}(key{n})" for n, key in enumerate(keys))
    same = " AND ".join(f"v.key{n} = q{n}.key{n}" for n in range(len(keys)))
    index = next((n for n, key in enumerate(keys) if key.text == "k"), None)
    limits = f" LEFT JOIN limits l ON l.k = q{index}.key{index}" if keyed else ""
    listed = ", ".join(f"q{n}.key{n}" for n in range(len(keys)))
    expected = (
        f"SELECT {listed} FROM {domain} LEFT JOIN (SELECT {named}{values} FROM {source}{filters} "
        f"GROUP BY {', '.join(texts)}) v ON {same}{limits} WHERE {plain}{tail}"
    )
    return asked, expected


def _wrapped(
    rng: Random,
    source: str,
    filters: str,
    named: str,
    dialect: str,
    texts: list[str],
    tail: str,
    joined: bool,
) -> str:
    """The query as it is, or through a CTE or a subquery that filters first."""
    grouped = rng.choice([", ".join(texts), ", ".join(str(n + 1) for n in range(len(texts)))])
    if joined or rng.random() < 0.6:
        return f"SELECT {named} FROM {source}{filters} GROUP BY {grouped} HAVING {dialect}{tail}"
    inner = f"SELECT * FROM {source}{filters}"
    if rng.random() < 0.5:
        head, source = f"WITH c AS ({inner}) ", "c"
    else:
        head, source = "", f"({inner}) c"
    return f"{head}SELECT {named} FROM {source} GROUP BY {grouped} HAVING {dialect}{tail}"
