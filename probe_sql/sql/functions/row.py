"""A row of the table of functions: all that is known of one of them, and how it is bound.

A function has a row only if, for every row of data, its DuckDB form returns a value or NULL: no
error, no file, no network, no randomness, no clock, no dependence on the order of rows or on a
setting. What an engine has no such form for is refused there by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import Span, SqlError
from probe_sql.sql.build import call, paren
from probe_sql.sql.forms.call import Form, NoForm
from probe_sql.sql.functions.arguments import Argument, Want, checked
from probe_sql.sql.scalar import Scalar, stepped
from probe_sql.sql.unsupported import check_growth
from probe_sql.types import SqlType

Values = Sequence[Scalar]
# The least and the greatest value, and what divides every one exactly; None for what is not known.
Range = tuple[Fraction | None, Fraction | None, Fraction | None]
ANYTHING: Range = (None, None, None)
_UNKNOWN = NoForm()


def from_to(low: int, high: int) -> Range:
    """Whole numbers from one to another."""
    return Fraction(low), Fraction(high), Fraction(1)


def some_null(values: Values, _type: SqlType) -> bool:
    """NULL where an argument is."""
    return any(value.nullable for value in values)


@dataclass(frozen=True, slots=True)
class Row:
    """One function of the dialect.

    `null_where` says where it is NULL though no argument is: there it would fail, or has no value.
    `duckdb` builds what DuckDB runs of the bound arguments and the type of the result; without it
    the function is called by its name. `postgres` and `spark` say a call of that name there; a
    function that is bound `through` another one takes its forms.
    Privacy: `within` encloses every value that DuckDB computes, rounding included.
    """

    name: str
    group: str  # where docs/dialect.md lists it
    takes: tuple[Argument, ...]
    gives: SqlType | Callable[[Values], SqlType]
    means: str  # for people
    within: Range | Callable[[Values, SqlType], Range] = ANYTHING
    null_where: str = ""
    nullable: Callable[[Values, SqlType], bool] = some_null
    duckdb: Callable[[Values, SqlType], exp.Expr] | None = None
    postgres: Form = _UNKNOWN
    spark: Form = _UNKNOWN
    through: str = ""
    aliases: tuple[str, ...] = ()
    nodes: tuple[type[exp.Expr], ...] = ()  # how sqlglot reads it, where it knows the name
    parts: tuple[str, ...] = ("this",)  # of such a node, in the order of the arguments
    ignored: tuple[str, ...] = ()  # parts of it that say nothing
    most: int = 0  # arguments, where the last of `takes` repeats
    grows: bool = False  # whether a text may become longer than those it takes
    names_function: bool = False  # whether its first argument names the function it stands for
    idle: Callable[[Values], bool] | None = None  # where the first argument is the result

    def bind(self, arguments: Values, span: Span | None) -> Scalar:
        """The scalar of a call, or an error that says what the function takes."""
        fewest = sum(not taken.optional for taken in self.takes)
        most = self.most or len(self.takes)
        if not fewest <= len(arguments) <= most:
            count = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise SqlError(
                f"{self.name} takes {count} argument(s), not {len(arguments)}", span=span
            )
        values = [
            checked(self.taken(index), value, self.name, index, span)
            for index, value in enumerate(arguments)
        ]
        if self.idle is not None and self.idle(values):
            return values[0].at(span)
        type_ = self.gives if isinstance(self.gives, SqlType) else self.gives(values)
        node = self._called(values) if self.duckdb is None else self.duckdb(values, type_)
        if self.grows:
            check_growth(node, span)
        range_ = self.within(values, type_) if callable(self.within) else self.within
        nullable = bool(self.null_where) or self.nullable(values, type_)
        private = any(value.private for value in values)
        return stepped(Scalar(node, type_, span, *range_, nullable, private))

    def taken(self, index: int) -> Argument:
        """What it takes as the argument of this index."""
        return self.takes[min(index, len(self.takes) - 1)]

    def _called(self, values: Values) -> exp.Expr:
        written = [
            value.ast if self.taken(index).want is Want.WHOLE else paren(value.ast)
            for index, value in enumerate(values)
        ]
        return call(self.name, *written)
