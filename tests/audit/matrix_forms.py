"""Every form of a function or operator in the dialect, read from the binder's own tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random
from string import Formatter

import sqlglot
from sqlglot import exp

from probe_sql import types as sql_types
from probe_sql.sql import casts, expression, functions
from probe_sql.types import Kind, parse_type

from .matrix_values import LITERALS, TYPES

FLAG = "a_boolean"


def _either(*texts: str) -> tuple[str, ...]:
    return texts


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
    exp.Greatest: _either("greatest({a}, {b})", "greatest({a}, {b}, {c})"),
    exp.Least: _either("least({a}, {b})", "least({a}, {b}, {c})"),
    exp.Cast: _either(*(f"CAST({{a}} AS {name})" for name in TYPES.values())),
    exp.TryCast: _either("TRY_CAST({a} AS DECIMAL(38,10))"),
    exp.Log: _either("log(10, {a})", "log(2, {a})"),
    exp.Trim: _either("trim({a})", "trim(LEADING FROM {a})"),
    exp.TimestampTrunc: _either(*(f"date_trunc('{u}', {{a}})" for u in functions.TRUNCATIONS)),
    exp.DateTrunc: _either("date_trunc('week', CAST({a} AS DATE))"),
    exp.Extract: _either(*(f"EXTRACT({part} FROM {{a}})" for part in functions.PARTS)),
    exp.DateDiff: _either(
        *(f"date_diff('{u}', {{a}}, {{b}})" for u in (*functions.TRUNCATIONS, "second"))
    ),
    exp.Anonymous: _either("date_part('year', {a})"),
    **{node: _either(f"({{a}}) {op} ({{b}})") for node, op in expression._COMPARISONS.items()},
    **{node: _either(f"({{a}}) {op} ({{b}})") for node, op in expression._ARITHMETIC.items()},
}  # fmt: skip
_TEXT_PLACES = ("1", "-2", "0", "2147483648", "-2147483648")
# Arguments after the first that must be written in the query.
WRITTEN: dict[str, tuple[tuple[str, ...], ...]] = {
    "round": ((), *((str(digits),) for digits in (-15, -2, 0, 1, 15))),
    "replace": (("'a'", "'bb'"), ("''", "'x'")),
    "substring": (*((place,) for place in _TEXT_PLACES), ("2", "-1"), ("-3", "2147483648")),
    "left": (("0",), ("2",), ("2147483648",)),
    "right": (("0",), ("2",), ("2147483648",)),
}


def calls(name: str) -> Iterator[str]:
    """The ways in which a function of the allowlist, or an alias of one, is called."""
    known = functions.ALIASES.get(name, name)
    if known in WRITTEN:
        for rest in WRITTEN[known] if known == name else WRITTEN[known][:1]:
            yield f"{name}({', '.join(['{a}', *rest])})"
        return
    fewest, most, _ = functions.FUNCTIONS[known]
    for count in range(fewest, min(most, 3) + 1):
        yield f"{name}({', '.join(['{a}', '{b}', '{c}'][:count])})"


def templates() -> list[str]:
    """All forms of all nodes and functions, each once."""
    found = [text for texts in NODES.values() for text in texts]
    for name in (*functions.FUNCTIONS, *functions.ALIASES):
        found += calls(name)
    return list(dict.fromkeys(found))


def uncovered() -> list[str]:
    """Entries of the binder's tables that no template reaches: none, or the matrix is too small."""
    handled = {*expression._HANDLERS, *expression._COMPARISONS, *expression._ARITHMETIC}
    missing = [node.__name__ for node in handled if node not in NODES]
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


def operands(place: str) -> list[str]:
    """A column of every type, every literal, and literals that a row chooses between."""
    columns = [f"{place}_{name}" for name in TYPES]
    chosen = [f"CASE WHEN {FLAG} THEN {text} ELSE {LITERALS[text]} END" for text in LITERALS
              if LITERALS[text]]  # fmt: skip
    return [*columns, *LITERALS, *chosen]


def whole(rng: Random, threes: int) -> Iterator[str]:
    """Every template on every operand and pair of operands, and on `threes` triples each."""
    everything = {place: operands(place) for place in "abc"}
    for template in templates():
        size = arity(template)
        if size < 3:
            for given in product(*(everything[place] for place in "abc"[:size])):
                yield template.format(**dict(zip("abc", given, strict=False)))
        else:
            for _ in range(threes):
                yield template.format(**{p: rng.choice(all_) for p, all_ in everything.items()})


def sample(rng: Random, each: int) -> Iterator[str]:
    """Every template on `each` random tuples of operands."""
    everything = {place: operands(place) for place in "abc"}
    for template in templates():
        for _ in range(each):
            yield template.format(**{p: rng.choice(all_) for p, all_ in everything.items()})


def nested(rng: Random, inner: Sequence[str], count: int) -> Iterator[str]:
    """Random templates around expressions that bind."""
    forms = templates()
    for _ in range(count):
        chosen = {place: rng.choice(inner) for place in "abc"}
        if rng.random() < 0.4:
            place = rng.choice("abc")
            chosen[place] = rng.choice(operands(place))
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
