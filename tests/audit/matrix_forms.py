"""Every form of a function or operator in the dialect, read from the binder's own tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random
from string import Formatter

import sqlglot
from sqlglot import exp

from probe_sql import types as sql_types
from probe_sql.sql import casts, expression
from probe_sql.sql.functions import ALIASES, FUNCTIONS
from probe_sql.sql.functions.arguments import Argument, Want
from probe_sql.sql.functions.time import PART_NAMES, TRUNCATIONS
from probe_sql.types import Kind, parse_type

from .matrix_values import LITERALS, TYPES

FLAG = "a_boolean"


def _either(*texts: str) -> tuple[str, ...]:
    return texts


_BETWEEN_OPERANDS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
                     exp.Add, exp.Sub, exp.Mul)  # fmt: skip
# How each node of the binder's tables is written; {a} {b} {c} are operands of any type.
NODES: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.Literal: _either("{a}"),
    exp.Boolean: _either("true", "false"),
    exp.Null: _either("NULL"),
    exp.Column: _either("{a}"),
    exp.Paren: _either("({a})"),
    exp.Neg: _either("-({a})"),
    exp.Not: _either("NOT ({a})"),
    exp.And: _either("({a}) AND ({b})"),
    exp.Or: _either("({a}) OR ({b})"),
    exp.Div: _either("({a}) / ({b})"),
    exp.IntDiv: _either("({a}) // ({b})"),
    exp.Mod: _either("({a}) % ({b})"),
    exp.WidthBucket: _either("width_bucket({a}, -3, 100, 7)"),
    exp.DPipe: _either("({a}) || ({b})"),
    exp.Is: _either("({a}) IS NULL", "({a}) IS TRUE", "({a}) IS NOT NULL"),
    exp.Between: _either("({a}) BETWEEN ({b}) AND ({c})", "({a}) BETWEEN ({b}) AND ({b})"),
    exp.In: _either("({a}) IN ({b})", "({a}) IN ({b}, {c}, NULL)", "({a}) NOT IN ({b}, {b})"),
    exp.Like: _either("({a}) LIKE '%a_'", "({a}) NOT LIKE {b}"),
    exp.ILike: _either("({a}) ILIKE '%A_'"),
    exp.Case: _either(
        f"CASE WHEN {FLAG} THEN {{a}} ELSE {{b}} END", f"CASE WHEN {FLAG} THEN {{a}} END",
        "CASE {a} WHEN {b} THEN 50000 ELSE 0 END * 50000",
        f"CASE WHEN {FLAG} THEN {{a}} WHEN b_boolean THEN {{b}} ELSE {{c}} END",
    ),
    exp.If: _either(f"IF({FLAG}, {{a}}, {{b}})"),
    exp.Coalesce: _either("COALESCE({a}, {b})", "COALESCE({a}, {b}, {c})"),
    exp.Nullif: _either("NULLIF({a}, {b})"),
    exp.Cast: _either(*(f"CAST({{a}} AS {name})" for name in TYPES.values())),
    exp.TryCast: _either("TRY_CAST({a} AS DECIMAL(38,10))"),
    exp.Pow: _either(*(f"power({{a}}, {n})" for n in range(1, 5)), "({a}) ** 3"),
    exp.Log: _either("log(10, {a})", "log(2, {a})"),
    exp.Trim: _either("trim({a})", "trim(LEADING FROM {a})"),
    exp.TimestampTrunc: _either(*(f"date_trunc('{u}', {{a}})" for u in TRUNCATIONS)),
    exp.DateTrunc: _either("date_trunc('week', CAST({a} AS DATE))"),
    exp.Extract: _either(*(f"EXTRACT({part} FROM {{a}})" for part in PART_NAMES)),
    exp.DateDiff: _either(
        *(f"date_diff('{u}', {{a}}, {{b}})" for u in (*TRUNCATIONS, "second"))
    ),
    exp.TimeToStr: _either("strftime({a}, '%Y-%m-%dT%H:%M:%S %A')", "strftime('%d', {a})"),
    exp.DateAdd: _either("date_add(DATE '2020-01-31', INTERVAL 1 MONTH) < {a}"),
    exp.DateSub: _either("date_sub(DATE '2020-03-31', INTERVAL 1 MONTH) < {a}"),
    exp.Anonymous: _either("date_part('year', {a})"),
    exp.NEQ: _either("({a}) <> ({b})"),
    **{row.nodes[0]: _either(f"({{a}}) {row.written.strip('`')} ({{b}})")
       for row in expression.OPERATORS if row.nodes[0] in _BETWEEN_OPERANDS},
}  # fmt: skip


def written(taken: Argument) -> list[str]:
    """Arguments of a kind that must be written in the query; none for what a row may hold."""
    if taken.want is Want.WHOLE:
        numbers = {taken.low, -2, 0, 1, 2, taken.high}
        return [str(n) for n in sorted(numbers) if taken.low <= n <= taken.high]
    if taken.want is Want.WRITTEN:
        return ["'a'", "'bb'", "''"]
    return [f"'{unit}'" for unit in taken.units]


def calls(name: str) -> Iterator[str]:
    """The ways in which a function of the table, or an alias of one, is called."""
    row = FUNCTIONS[ALIASES.get(name, name)]
    fewest = sum(not taken.optional for taken in row.takes)
    for count in range(fewest, min(row.most or len(row.takes), 3) + 1):
        sides = iter("abc")
        choices = [written(row.taken(side)) or [f"{{{next(sides)}}}"] for side in range(count)]
        ways = [f"{name}({', '.join(given)})" for given in product(*choices)]
        yield from ways if name == row.name else ways[:1]


def templates() -> list[str]:
    """All forms of all nodes and functions, each once."""
    found = [text for texts in NODES.values() for text in texts]
    for name in (*FUNCTIONS, *ALIASES):
        found += calls(name)
    return list(dict.fromkeys(found))


def uncovered() -> list[str]:
    """Entries of the binder's tables that no template reaches: none, or the matrix is too small."""
    missing = [node.__name__ for node in expression._HANDLERS if node not in NODES]
    reached = set(NODES)
    for template in templates():
        tree = sqlglot.parse_one(template.format(a="x", b="y", c="z"), dialect="duckdb")
        reached |= {type(node) for node in tree.walk()}
    missing += [node.__name__ for node in expression._CALLS if node not in reached]
    types = [parse_type(name) for name in TYPES.values()]
    kinds = {type_.kind for type_ in types}
    missing += [str(kind) for kind in Kind if kind not in kinds | {Kind.NULL}]
    missing += [str(kind) for kind in casts._CASTS if kind not in kinds]
    limits = {(type_.low, type_.high) for type_ in types}
    missing += [name for name, ends in sql_types._INTEGERS.items() if ends not in limits]
    names = {type_.name for type_ in types} | {*_SYNONYMS}
    missing += [name for name in sql_types._SIMPLE if name not in names]
    return missing


# Other names of types that the database itself tells apart from none of those in the matrix.
_SYNONYMS = (
    "BOOL", "LOGICAL", "REAL", "FLOAT4", "DOUBLE PRECISION", "FLOAT8", "TEXT", "STRING", "CHAR",
    "BPCHAR", "DATETIME", "TIMESTAMP_US", "TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMPTZ",
)  # fmt: skip


def arity(template: str) -> int:
    return len({name for _, name, _, _ in Formatter().parse(template) if name})


def operands(side: str) -> list[str]:
    """A column of every type, every literal, and literals that a row chooses between."""
    columns = [f"{side}_{name}" for name in TYPES]
    chosen = [
        f"CASE WHEN {FLAG} THEN {text} ELSE {LITERALS[text]} END"
        for text in LITERALS
        if LITERALS[text]
    ]
    return [*columns, *LITERALS, *chosen]


def whole(rng: Random, threes: int) -> Iterator[str]:
    """Every template on every operand and pair of operands, and on `threes` triples each."""
    everything = {side: operands(side) for side in "abc"}
    for template in templates():
        size = arity(template)
        if size < 3:
            for given in product(*(everything[side] for side in "abc"[:size])):
                yield template.format(**dict(zip("abc", given, strict=False)))
        else:
            for _ in range(threes):
                yield template.format(**{p: rng.choice(all_) for p, all_ in everything.items()})


def sample(rng: Random, each: int) -> Iterator[str]:
    """Every template on `each` random tuples of operands."""
    everything = {side: operands(side) for side in "abc"}
    for template in templates():
        for _ in range(each):
            yield template.format(**{p: rng.choice(all_) for p, all_ in everything.items()})


def nested(rng: Random, inner: Sequence[str], count: int) -> Iterator[str]:
    """Random templates around expressions that bind."""
    forms = templates()
    for _ in range(count):
        chosen = {side: rng.choice(inner) for side in "abc"}
        if rng.random() < 0.4:
            side = rng.choice("abc")
            chosen[side] = rng.choice(operands(side))
        yield rng.choice(forms).format(**chosen)


def conditions(rng: Random, columns: Sequence[str], flag: str) -> Iterator[str]:
    """Conditions of HAVING over other columns, without end; `flag` stands for a boolean."""
    forms = templates()
    written = [text for text in operands("a") if not text.startswith("a_")]
    while True:
        chosen = {p: rng.choice(columns if rng.random() < 0.7 else written) for p in "abc"}
        text = rng.choice(forms).format(**chosen)
        text = text.replace(FLAG, flag).replace(FLAG.replace("a_", "b_"), flag)
        around = rng.choice(("count({})", "sum({})", "count(*) FILTER (WHERE {})"))
        yield f"{around.format(text)} > 0"
