"""Say a bound expression in another engine's SQL, part by part, or refuse.

Fail closed: `Translator` passes on what means the same everywhere. Whatever else a bound
expression can hold is handled by the engine's own translator or refused there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.scan.expression_types import ExpressionTypes
from probe_sql.scan.rows import TRY
from probe_sql.sql.forms.call import EngineCall, Form
from probe_sql.sql.functions import FUNCTIONS
from probe_sql.sql.functions.arguments import Want
from probe_sql.sql.functions.row import Row
from probe_sql.types import Kind

# Names, structure, three-valued logic and counting: the same on every engine.
PLAIN = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.With, exp.CTE, exp.Subquery,
    exp.Table, exp.TableAlias, exp.Identifier, exp.Alias, exp.Star, exp.Paren, exp.Literal,
    exp.Boolean, exp.Null, exp.And, exp.Or, exp.Not, exp.Is, exp.Case, exp.If, exp.Coalesce,
    exp.Count, exp.Min, exp.Distinct, exp.Tuple, exp.Order, exp.Ordered, exp.Window, exp.Qualify,
    exp.DataType,
)  # fmt: skip
_CHOICES = (exp.Case, exp.Coalesce, exp.Nullif, exp.Anonymous)


class Translator(ABC):
    """Translates the expressions of one scan; subclasses add `on_<node>`.

    `own` holds the functions that scans call and queries cannot.

    Privacy: a translated expression must be total, like the one it stands for: for every row
    it gives a value or NULL and never an error, which would tell something about that row.
    """

    engine: ClassVar[str]
    own: ClassVar[Mapping[str, Form]]

    def __init__(self, kinds: ExpressionTypes) -> None:
        self.kinds = kinds

    @abstractmethod
    def form(self, row: Row) -> Form:
        """The engine's form of a function."""

    def translate(self, node: exp.Expr) -> exp.Expr:
        """The node in the engine's terms; raises `Refused` where there is no such thing."""
        if isinstance(node, _CHOICES) and self.kinds.of(node).kind is Kind.NULL:
            return exp.Null()  # of NULLs alone; some engines would take the choice for a text
        handler = getattr(self, f"on_{node.key}", None)
        if handler is not None:
            return handler(node)  # type: ignore[no-any-return]
        if isinstance(node, PLAIN):
            return self.parts(node)
        raise self.refused(f"the expression {node.key.upper()}")

    def parts(self, node: exp.Expr) -> exp.Expr:
        """The same node with its parts translated."""
        if isinstance(node, exp.And | exp.Or):
            return self._chain(node)
        args: dict[str, object] = {}
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                args[name] = self.translate(value)
            elif isinstance(value, list):
                args[name] = [self.translate(v) if isinstance(v, exp.Expr) else v for v in value]
            else:
                args[name] = value
        return type(node)(**args)

    def on_alias(self, node: exp.Alias) -> exp.Expr:
        """A column of an inner query; a filter that is NULL would be taken for a text there."""
        made = self.parts(node)
        condition = node.alias[:1] == "f" and node.alias[1:].isdigit()
        if condition and self.kinds.of(node.this).kind is Kind.NULL:
            made.set("this", exp.Cast(this=made.this, to=exp.DataType.build("BOOLEAN")))
        return made

    def on_anonymous(self, node: exp.Anonymous) -> exp.Expr:
        """A function of the table, or one of the scan's own."""
        name = str(node.this).lower()
        if name == TRY:
            return self.tried(node)
        row = FUNCTIONS.get(name)
        form = self.own.get(name) if row is None else self.form(row)
        if form is None:
            raise self.refused(f"the function {name}")
        values = [
            self.translate(value)
            if row is None or row.taken(index).want is not Want.WHOLE
            else value.copy()
            for index, value in enumerate(node.expressions)
        ]
        types = [self.kinds.of(value) for value in node.expressions]
        return form(EngineCall(name, values, types, self.refused))

    def tried(self, node: exp.Anonymous) -> exp.Expr:
        """Translate what stands inside of DuckDB's TRY; the translation is total by itself.

        The call's own parentheses go with it: an OR keeps some, whatever it stands in.
        """
        inner = self.within(node)
        return exp.Paren(this=inner) if isinstance(inner, exp.Or) else inner

    def within(self, node: exp.Anonymous) -> exp.Expr:
        """Translate the argument of DuckDB's TRY."""
        return self.translate(node.expressions[0])

    def refused(self, what: str, why: str | None = None, fix: str | None = None) -> Refused:
        """The error for what cannot be said on this engine."""
        return Refused(
            f"{what} is not supported on {self.engine}",
            why=why or f"{self.engine} is not known to give the value that DuckDB gives",
            fix=fix or "compute the column in a view that the data owner declares",
        )

    def _chain(self, node: exp.Expr) -> exp.Expr:
        """A long chain is left-deep: walked, so that length does not become depth."""
        parts: list[exp.Expr] = []
        current = node
        while type(current) is type(node):
            parts.append(current.expression)
            current = current.this
        result = self.translate(current)
        for part in reversed(parts):
            result = type(node)(this=result, expression=self.translate(part))
        return result
