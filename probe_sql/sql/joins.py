"""Joins of one FROM clause: public tables, each tied to the private row by its whole key.

A condition that ties a table may stand in ON, in USING, or in WHERE beside a comma. Whatever
else stands in the ON of an inner join is a filter, as SQL has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.policy.keys import TableKeys
from probe_sql.policy.model import PublicTable
from probe_sql.sql.compare import compare, joinable
from probe_sql.sql.expression import Expressions
from probe_sql.sql.scalar import UNKNOWN, Scalar
from probe_sql.sql.scope import FromScope, Named, ReleasedTable
from probe_sql.sql.source import Source
from probe_sql.sql.unsupported import check_parts
from probe_sql.text import normal_name


@dataclass(frozen=True, slots=True)
class Join:
    """A public table joined on its whole key, so that no private row multiplies.

    `released` has the rows where it is a table of what was released before, and no policy's.
    """

    table: PublicTable
    alias: str
    outer: bool
    on: tuple[tuple[str, Scalar], ...]  # key column, what it equals
    released: ReleasedTable | None = None


@dataclass(slots=True, eq=False)
class _Pending:
    """A public table of FROM; an outer one has the conditions of its own ON alone."""

    named: Named
    outer: bool
    span: Span | None
    on: list[exp.Expr] = field(default_factory=list)
    joined: bool = True


@dataclass(slots=True)
class Joins:
    """The joins of one FROM clause. `tied` are those of the whole query, in their order."""

    source: Source
    scope: FromScope
    tied: list[Join]
    _conditions: list[exp.Expr] = field(default_factory=list)  # of inner joins, one by one
    _where: list[exp.Expr] = field(default_factory=list)  # the parts of WHERE, one by one
    _waiting: list[_Pending] = field(default_factory=list)

    def first(self, item: Named, span: Span | None) -> None:
        """The table that FROM begins with."""
        if item.public is not None:
            self._waiting.append(_Pending(item, False, span, joined=False))

    def add(self, join: exp.Join, item: Named, left: list[Named]) -> None:
        """A further table, with what its join says."""
        span = self.source.span(join)
        on = join.args.get("on")
        conditions = [] if on is None else list(conjuncts(on))
        shared = [identifier.name for identifier in join.args.get("using") or []]
        if _method(join) == "NATURAL":
            shared = self._common(item, left, span)
        conditions += [self._same(name, item, join) for name in shared]
        outer = _side(join) == "LEFT"
        if outer and item.public is None:
            raise Refused(
                "a private table may not stand on the right of a LEFT JOIN",
                why="a public row without a private one would count, and belongs to nobody",
                fix=f"count a column of it, as count({item.name}.column), and nothing that looks "
                "for NULL; or JOIN",
                instead=_inner(self.source, span),
                span=span,
            )
        if item.public is not None:
            self._waiting.append(_Pending(item, outer, span, conditions if outer else []))
        if not outer:
            self._conditions += conditions

    def _common(self, item: Named, left: list[Named], span: Span | None) -> list[str]:
        """The columns that NATURAL compares: those that both sides declare."""
        shared = [
            name for name in item.columns() if any(self.scope.has(other, name) for other in left)
        ]
        if not shared:
            raise Refused(
                f"{item.name} shares no column with the tables before it",
                why="NATURAL JOIN compares the columns of the same name that the policy lists",
                fix="JOIN with ON",
                span=span,
            )
        return shared

    def _same(self, name: str, item: Named, join: exp.Join) -> exp.EQ:
        """A column that both sides of USING or NATURAL have; by itself it is the private one."""
        owners = [owner for owner in self.scope.owners(name) if owner is not item]
        if len(owners) != 1 or not self.scope.has(item, name):
            side = "right" if len(owners) == 1 else "left"
            raise SqlError(
                f"USING ({name}) does not name one column on the {side}",
                fix="use ON",
                span=self.source.span(join),
            )
        [owner] = owners
        members = [*self.scope.merged.get(normal_name(name), [owner]), item]
        # An inner join makes them equal; the private one has the keys that the policy declares.
        self.scope.merged[normal_name(name)] = sorted(
            members, key=lambda one: one.public is not None
        )
        return exp.EQ(
            this=exp.column(exp.to_identifier(name, quoted=True), table=owner.name),
            expression=exp.column(exp.to_identifier(name, quoted=True), table=item.name),
        )

    def filters(self, where: exp.Expr | None) -> list[Scalar]:
        """Tie every public table, and give what is left of ON and WHERE as filters.

        Privacy: a filter reads one row with the public rows that are tied to it.
        """
        self._where = [] if where is None else list(conjuncts(where))
        whole = len(self._where)
        self._tie_all()
        left = [*self._conditions]
        if where is not None and len(self._where) == whole:
            left.append(where)
        else:
            left += self._where
        return [Expressions(self.source, self.scope).condition(part) for part in left]

    def _tie_all(self) -> None:
        """Tie every public table to the private row, each by its whole key, in any order."""
        waiting = list(self._waiting)
        while waiting:
            done = [item for item in waiting if self._tie(item)]
            waiting = [item for item in waiting if item not in done]
            if waiting and not done:
                raise self._untied(waiting[0])
        for item in self._waiting:
            for part in item.on:
                raise Refused(
                    "LEFT JOIN takes nothing in ON but the public table's key",
                    why="a further condition there blanks the public columns and keeps the row",
                    fix="write it in WHERE, where it drops the row, or in CASE WHEN",
                    span=self.source.span(part),
                )

    def _untied(self, item: _Pending) -> Refused:
        assert item.named.public is not None
        table, name = item.named.public[0], item.named.name
        span = self.source.with_comma(item.span)
        if all(other.public is not None for other in self.scope.named.values()):
            return Refused(
                f"{table.name} stands in a subquery without private rows",
                why="what is known of its key is lost there, so one private row could count twice",
                fix=f"join {table.name} itself, on its key ({', '.join(table.key)})",
                span=span,
            )
        mates = [self._mate(key, item) for key in table.key]
        whole = " AND ".join(f"{name}.{k} = {m}" for k, m in zip(table.key, mates, strict=True))
        alias = table.name if name == table.name else f"{table.name} AS {name}"
        joined = f"{'LEFT ' if item.outer else ''}JOIN {alias} ON {whole}"
        ours = item.named.released is not None  # a block: its table has a name of the engine's
        fix = f"join it ON {whole}" if ours else joined
        if None in mates:
            fix = "say which columns the key equals: no type is known here that would tell"
        return Refused(
            f"{name if ours else table.name} must be joined on its whole key "
            f"({', '.join(table.key)})",
            why="otherwise one private row could match several public rows and count twice",
            fix=fix,
            instead=joined if item.joined and not ours and None not in mates else None,
            span=span,
        )

    def _mate(self, key: str, item: _Pending) -> str | None:
        """What a key could be compared with: what takes its keys there, is called so, or is alike.

        None where types are not known, and nothing is called so.
        """
        assert item.named.public is not None
        table = item.named.public[0]
        type_ = UNKNOWN
        if table.find_column(key) is not None:
            type_ = self.scope.column(item.named, key, None, False).type
        others = [other for other in self.scope.named.values() if other.public is None]
        columns = [(other, column) for other in others for column in other.columns()]
        columns.sort(key=lambda pair: normal_name(pair[1]) != normal_name(key))
        for other, column in columns:
            base = None if other.base is None else other.base.columns[column]
            if base is not None and base.keys == TableKeys(table.name, key):
                return f"{other.name}.{column}"
        for other, column in columns:
            found = self.scope.column(other, column, None, False).type
            called = normal_name(column) == normal_name(key)
            if called if UNKNOWN in (type_, found) else type_.name == found.name:
                return f"{other.name}.{column}"
        return None

    def _belongs(self, column: exp.Column, item: Named) -> bool:
        """Whether a column is one of `item`, by its qualifier or because no other has it."""
        if column.table:
            return normal_name(column.table) == normal_name(item.name)
        return self.scope.owners(column.name) == [item]

    def _key_side(self, item: Named, equality: exp.Expr) -> tuple[str, exp.Expr] | None:
        """The key column of `item` that an equality fixes, and what it equals."""
        assert item.public is not None
        if not isinstance(equality, exp.EQ):
            return None
        for mine, other in (
            (equality.this, equality.expression),
            (equality.expression, equality.this),
        ):
            mine = mine.unnest()
            if not isinstance(mine, exp.Column) or not self._belongs(mine, item):
                continue
            for key in item.public[0].key:
                if normal_name(key) == normal_name(mine.name):
                    return key, other
        return None

    def _tie(self, item: _Pending) -> bool:
        """Take the equalities that fix the whole key of a public table, if they are there.

        Privacy: a key may only equal what is fixed for the private row already: its own
        columns, constants, and columns of tables that are tied to it. Then every private row
        meets at most one public row.
        """
        assert item.named.public is not None
        table, alias = item.named.public
        fixed = {"t", *(join.alias for join in self.tied)}
        found: dict[str, tuple[exp.Expr, Scalar]] = {}
        for equality in item.on if item.outer else [*self._conditions, *self._where]:
            side = self._key_side(item.named, equality)
            # A column before a constant: WHERE key = 7 beside the join is a filter.
            if side is None or (side[0] in found and not found[side[0]][1].is_constant):
                continue
            value = Expressions(self.source, self.scope).bind(side[1])
            if {column.table for column in value.ast.find_all(exp.Column)} - fixed:
                continue
            if side[0] in found and value.is_constant:
                continue
            found[side[0]] = (equality, self._comparable(item, side[0], value, equality))
        if len(found) < len(table.key):
            return False
        for equality, _ in found.values():
            for held in (item.on, self._conditions, self._where):
                held[:] = [part for part in held if part is not equality]
        on = tuple((key, found[key][1]) for key in table.key)
        self.tied.append(Join(table, alias, item.outer, on, item.named.released))
        return True

    def _comparable(self, item: _Pending, key: str, value: Scalar, equality: exp.Expr) -> Scalar:
        """The value such that comparing it with the key neither fails nor holds for two keys."""
        assert item.named.public is not None
        span = self.source.span(equality)
        column = self.scope.column(item.named, key, span, False)
        compare("=", column, value, span)
        safe = joinable(column, value)
        if safe is None:
            raise Refused(
                f"{item.named.name}.{key} cannot be joined to a column of another type",
                why="a number could equal two different keys, or a conversion fail for a row",
                fix="CAST the column to the type of the key",
                span=span,
            )
        return safe


def check_join(join: exp.Join, source: Source) -> None:
    """Refuse every join but the inner ones and LEFT JOIN."""
    check_parts(join, ("this", "on", "using", "side", "kind", "method"), source, "a join")
    side, kind = _side(join), (join.args.get("kind") or "").upper()
    if (
        side not in ("", "LEFT")
        or kind not in ("", "INNER", "OUTER", "CROSS")
        or _method(join) not in ("", "NATURAL")
    ):
        word = " ".join(filter(None, (_method(join), side, kind)))
        raise Refused(
            f"{word} JOIN is not supported",
            why="it could multiply private rows or add rows that belong to nobody",
            fix="use JOIN or LEFT JOIN to a public table on its key",
            span=source.span(join),
        )


def _inner(source: Source, span: Span | None) -> str | None:
    """An outer join as it is written, without the words that make it one."""
    if span is None:
        return None
    written = source.sql[span.start : span.end]
    at = written.upper().find("JOIN")
    return written[at:] if at >= 0 else None


def _side(join: exp.Join) -> str:
    return (join.args.get("side") or "").upper()


def _method(join: exp.Join) -> str:
    return (join.args.get("method") or "").upper()


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a condition that all must hold."""
    waiting = [node]
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, exp.And):
            waiting += [part.expression, part.this]
        else:
            yield part
