"""A call of a function as an engine other than DuckDB says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.sql import build
from probe_sql.types import SqlType

Refuse = Callable[..., Refused]
# What DuckDB trims, Unicode's space separators: an engine that is told so trims the same.
SPACES = "".join(map(chr, (32, 160, 5760, *range(8192, 8203), 8239, 8287, 12288)))


@dataclass(frozen=True, slots=True)
class EngineCall:
    """A call in a bound expression, with its arguments in the engine's terms already.

    Whole numbers and texts that must be written in the query are literals, as they were bound.
    """

    name: str
    values: Sequence[exp.Expr]
    types: Sequence[SqlType]
    refuse: Refuse


# Privacy: the form gives DuckDB's value for every row, or NULL where DuckDB does, and never fails.
Form = Callable[[EngineCall], exp.Expr]


@dataclass(frozen=True, slots=True)
class NoForm:
    """Refuses a function by name: nobody has shown that the engine gives DuckDB's value."""

    why: str | None = None
    fix: str | None = None

    def __call__(self, call: EngineCall) -> exp.Expr:
        raise call.refuse(f"the function {call.name}", self.why, self.fix)


def same(call: EngineCall) -> exp.Expr:
    """The engine's function of the same name."""
    return build.call(call.name, *call.values)


def named(name: str) -> Form:
    """The engine's function under its own name."""
    return lambda call: build.call(name, *call.values)
