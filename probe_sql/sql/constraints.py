"""Which filters cannot hold on the same row, as far as plain constraints show it.

Equality, IN and range constraints on columns are read off a conjunction; everything else
says nothing. Being wrong in one direction only: filters called exclusive really are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction
from itertools import combinations

from sqlglot import exp

from probe_sql.sql.scalar import Scalar

Key = Fraction | str | bool | date | datetime


@dataclass(frozen=True, slots=True)
class Allowed:
    """Values a column may have: a finite set, or an interval (None: open ended)."""

    values: frozenset[Key] | None = None
    low: Key | None = None
    low_strict: bool = False
    high: Key | None = None
    high_strict: bool = False

    def meets(self, other: Allowed) -> bool:
        """Whether some value may satisfy both; True in doubt."""
        if self.values is not None and other.values is not None:
            same = self.values & other.values
            return bool(same) or len({type(value) for value in self.values | other.values}) != 1
        if self.values is not None:
            return any(other.holds(value) for value in self.values)
        if other.values is not None:
            return other.meets(self)
        return not (self._below(other) or other._below(self))

    def holds(self, value: Key) -> bool:
        below = self.low is not None and _less(value, self.low, not self.low_strict)
        above = self.high is not None and _less(self.high, value, not self.high_strict)
        return not (below or above)

    def _below(self, other: Allowed) -> bool:
        if self.high is None or other.low is None:
            return False
        touching = not (self.high_strict or other.low_strict)
        return _less(self.high, other.low, touching)


def one_of(*values: Key) -> Allowed:
    """Any of these values."""
    return Allowed(frozenset(values))


def _less(a: Key, b: Key, strict: bool) -> bool:
    """a < b (or a <= b when not strict); False where the two do not compare."""
    if type(a) is not type(b):
        return False
    return a < b if strict else a <= b  # type: ignore[operator]


def exclusive(first: Scalar | None, second: Scalar | None) -> bool:
    """Whether two filters can never both be true on one row."""
    if first is None or second is None:
        return False
    one, two = _facts(first.ast), _facts(second.ast)
    for column, allowed in one.items():
        for other in two.get(column, []):
            if any(not mine.meets(other) for mine in allowed):
                return True
    return _negates(first.ast, second.ast) or _negates(second.ast, first.ast)


def contradict(filters: Sequence[Scalar], known: Mapping[str, Allowed]) -> bool:
    """Whether no row passes all of these filters, as their own text shows.

    `known` is what an expression, as text, may be where it is not NULL and its row counts.
    """
    parts = [part for each in filters for part in _conjuncts(each.ast)]
    if any(_never(part) for part in parts):
        return True
    found: dict[str, list[Allowed]] = {name: [allowed] for name, allowed in known.items()}
    for name, allowed in filter(None, map(_fact, parts)):
        found.setdefault(name, []).append(allowed)
    if any(not a.meets(b) for each in found.values() for a, b in combinations(each, 2)):
        return True
    tested = [part for part in parts if isinstance(part, exp.Is)]
    empty = {part.this.unnest() for part in tested if isinstance(part.expression, exp.Null)}
    if any(column.sql(dialect="duckdb") in found for column in empty):
        return True
    return any(isinstance(part, exp.Not) and part.this.unnest() in parts for part in parts)


_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def _never(node: exp.Expr) -> bool:
    """Whether a condition is false or NULL for every row, by its constants alone."""
    node = node.unnest()
    if isinstance(node, exp.Null) or (isinstance(node, exp.Boolean) and not node.this):
        return True
    if isinstance(node, exp.And):
        return any(map(_never, node.flatten()))
    if isinstance(node, exp.Or):
        return all(map(_never, node.flatten()))  # a chain of a thousand is no deep tree
    if isinstance(node, exp.Not):
        inner = node.this.unnest()
        return isinstance(inner, exp.Null) or (isinstance(inner, exp.Boolean) and inner.this)
    if isinstance(node, exp.In):
        return bool(node.expressions) and all(isinstance(o, exp.Null) for o in node.expressions)
    if not isinstance(node, _COMPARISONS):
        return False
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(left, exp.Null) or isinstance(right, exp.Null):
        return True
    if left == right:
        return isinstance(node, exp.NEQ | exp.LT | exp.GT)
    value, fact = _literal(left), _fact(node)
    if value is None or _literal(right) is None or fact is None:
        return False  # of a column, or of what is no plain constant
    return not fact[1].meets(one_of(value))


def _negates(a: exp.Expr, b: exp.Expr) -> bool:
    """`p` and `NOT p`: never both true."""
    return any(
        isinstance(part, exp.Not) and part.this.unnest() in _conjuncts(b) for part in _conjuncts(a)
    )


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The parts of a chain of AND in their order; a chain of a thousand is no deep tree."""
    found, waiting = [], [node]
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, exp.And):
            waiting += [part.expression, part.this]
        else:
            found.append(part)
    return found


def _facts(node: exp.Expr) -> dict[str, list[Allowed]]:
    found: dict[str, list[Allowed]] = {}
    for part in _conjuncts(node):
        fact = _fact(part)
        if fact is not None:
            found.setdefault(fact[0], []).append(fact[1])
    return found


def _fact(node: exp.Expr) -> tuple[str, Allowed] | None:
    if isinstance(node, exp.Column):
        return node.sql(dialect="duckdb"), Allowed(frozenset({True}))
    if isinstance(node, exp.Not) and isinstance(node.this.unnest(), exp.Column):
        return node.this.unnest().sql(dialect="duckdb"), Allowed(frozenset({False}))
    if isinstance(node, exp.In):
        values = [_literal(option) for option in node.expressions]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            return node.this.unnest().sql(dialect="duckdb"), Allowed(frozenset(known))
        return None
    if not isinstance(node, exp.EQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
        return None
    left, right, flipped = node.this.unnest(), node.expression.unnest(), False
    value = _literal(right)
    if value is None:
        left, right, flipped = right, left, True
        value = _literal(right)
    if value is None:
        return None
    column = left.sql(dialect="duckdb")
    if isinstance(node, exp.EQ):
        return column, Allowed(frozenset({value}))
    strict = isinstance(node, exp.LT | exp.GT)
    upper = isinstance(node, exp.LT | exp.LTE) != flipped
    if upper:
        return column, Allowed(high=value, high_strict=strict)
    return column, Allowed(low=value, low_strict=strict)


_MOMENTS = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ)


def _literal(node: exp.Expr) -> Key | None:
    """The value of a literal as binding writes it, None for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else None
    # Casts of our own only: a TRY_CAST of the analyst's may round ('1.26' AS DECIMAL(3,1)).
    if type(node) is exp.Cast and isinstance(node.this, exp.Literal):
        kind = node.to.this
        try:
            if kind in exp.DataType.INTEGER_TYPES:
                return Fraction(int(node.this.this))
            if kind == exp.DataType.Type.DECIMAL:
                return Fraction(node.this.this)
            if kind == exp.DataType.Type.DOUBLE:
                # As the database reads it: two texts may be one DOUBLE.
                return Fraction(float(node.this.this))
            if kind == exp.DataType.Type.DATE:
                return date.fromisoformat(node.this.this)
            if kind in _MOMENTS:
                return datetime.fromisoformat(node.this.this)
        except (ValueError, OverflowError):
            return None
    if isinstance(node, exp.TryCast) and node.to.this in _MOMENTS:
        day = _literal(node.this)  # beside a moment a day is its first, which always converts
        return datetime.combine(day, time()) if type(day) is date else None
    return None
