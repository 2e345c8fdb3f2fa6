"""The PostgreSQL engine: statements over tables as the server describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from probe_sql.policy.model import Table
from probe_sql.policy.names import find
from probe_sql.scan.caps import FirstRows, salted
from probe_sql.scan.engine import PublicRelation, RemoteEngine
from probe_sql.scan.postgres.terms import PostgresTranslator
from probe_sql.scan.rows import SALT
from probe_sql.sql import build
from probe_sql.sql.build import call, text
from probe_sql.sql.forms.postgres_build import binary_text, cast, integer, type_name
from probe_sql.text import normal_name
from probe_sql.types import Kind, SqlType

_TEXT = "probe_sql_text"


@dataclass(frozen=True, slots=True)
class Shape:
    """A table as the server knows it: its name there, and its columns with their types."""

    name: str
    columns: Mapping[str, SqlType] = field(hash=False)


@dataclass(frozen=True, slots=True)
class PostgresEngine(RemoteEngine):
    """PostgreSQL: its tables lie in one schema, and every name is qualified."""

    schema: str = "public"
    shapes: Mapping[str, Shape] = field(default_factory=dict, hash=False)

    def rows(self, table: Table, source: Sequence[str]) -> exp.Expr:
        """The declared columns of a table, under the policy's names, as DuckDB would have them."""
        shape = find(self.shapes, table.name)
        if shape is None:
            return RemoteEngine.rows(self, table, source)
        origin = build.table(shape.name, "t")
        origin.set("db", build.name(self.schema, quoted=True))
        return build.subquery(build.select(self._columns(table, shape), origin), "t")

    def bounded(self, table: Table, key: exp.Expr) -> exp.Select:
        """Keep at most `max_rows` rows of each person, those with the least (hash, text).

        `key` is how the statement gets at the key, which it does not hold.
        Privacy: the text holds every column of the row that can be read, so that rows which
        tie are the same; the order of rows and other people play no part.
        """
        shape = find(self.shapes, table.name)
        unit = table.unit
        assert shape is not None
        assert unit.column is not None
        assert unit.max_rows is not None
        origin = build.table(shape.name, "t")
        origin.set("db", build.name(self.schema, quoted=True))
        everything = [build.column(name, "t", quoted=True) for name in shape.columns]
        listed = binary_text(cast(call("row", *everything), "TEXT"))
        inner = build.select([*self._columns(table, shape), build.alias(listed, _TEXT)], origin)
        person = build.column(unit.column, "t", quoted=True)
        row = build.column(_TEXT, "t")
        names = [name for name in table.columns if find(shape.columns, name) is not None]
        kept = [build.column(name, "t", quoted=True) for name in names]
        order = [call("hashtextextended", row, key), row]
        read, by, present = self._sql(build.subquery(inner, "t"), person, build.present(person))
        if unit.null != "own":
            read += f" WHERE {present}"
        rows = FirstRows(by, self._sql(*kept), self._sql(*order))
        shown = list(self._sql(*kept))
        if salted(unit):
            salt = call("hashtextextended", binary_text(cast(person, "TEXT")), key)
            shown += self._sql(build.alias(salt, SALT))
        select = rows.select(read, str(unit.max_rows), kept=", ".join(shown), alone=True)
        return exp.maybe_parse(select, into=exp.Select, dialect=self.dialect)

    def _sql(self, *nodes: exp.Expr) -> tuple[str, ...]:
        return tuple(node.sql(dialect=self.dialect) for node in nodes)

    def bounding(self, table: Table, of_key: str, target: str) -> str:
        """SQL that makes a temporary table of the rows that stay; another one holds the key."""
        key = build.select([build.column("key", "k")], self.temporary(of_key, "k"))
        select = self.bounded(table, exp.Subquery(this=key)).sql(dialect=self.dialect)
        return f'CREATE TEMPORARY TABLE "{target}" AS {select}'

    def temporary(self, target: str, alias: str = "t") -> exp.Expr:
        """A temporary table, as the relation that a statement reads."""
        table = build.table(target, alias)
        table.set("db", build.name("pg_temp"))
        return table

    def missing(self, table: Table) -> str:
        """SQL that returns a row where some row has no person."""
        assert table.unit.column is not None
        person = build.column(table.unit.column, "t", quoted=True)
        alone = exp.Is(this=person, expression=exp.Null())
        rows = self.rows(table, (table.name,))
        select = build.select([integer(1)], rows, where=[alone])
        return select.limit(1).sql(dialect=self.dialect)

    def nothing(self, table: str, person: str | None = None) -> str:
        """SQL that reads a table, and tells people apart by a column, and returns no row."""
        origin = build.table(table, "t")
        origin.set("db", build.name(self.schema, quoted=True))
        value: exp.Expr = integer(1)
        if person is not None:
            by = build.column(person, "t", quoted=True)
            value = exp.Window(this=call("row_number"), partition_by=[by])
        return build.select([value], origin).limit(0).sql(dialect=self.dialect)

    def everything(self, table: str, columns: Mapping[str, SqlType]) -> str:
        """SQL for all rows of a public table, each value as text."""
        shape = find(self.shapes, table)
        assert shape is not None
        origin = build.table(shape.name, "t")
        origin.set("db", build.name(self.schema, quoted=True))
        values: list[exp.Expr] = [
            cast(_plain(build.column(name, "t", quoted=True), type_), "TEXT")
            for name, type_ in columns.items()
        ]
        return build.select(values, origin).sql(dialect=self.dialect)

    def written_out(self, relations: Sequence[PublicRelation]) -> Mapping[str, exp.Select]:
        """Public relations come as parameters: one array of texts for each column."""
        found = {}
        number = 0
        for relation in relations:
            arrays: list[exp.Expr] = []
            columns: list[exp.Expr] = []
            names: list[exp.Identifier] = []
            for name, type_ in relation.columns.items():
                number += 1
                parameter = exp.Parameter(this=exp.Literal.number(str(number)))
                arrays.append(cast(parameter, "TEXT[]"))
                inner = build.column(f"c{len(names)}", "u")
                value = cast(inner, type_name(type_))
                if type_name(type_) == "TEXT":
                    value = binary_text(inner)
                columns.append(build.alias(value, name))
                columns[-1].set("alias", build.name(name, quoted=True))
                names.append(build.name(f"c{len(names)}"))
            alias = exp.TableAlias(this=build.name("u"), columns=names)
            source = exp.Table(this=call("unnest", *arrays), alias=alias)
            found[relation.name] = build.select(columns, source)
        return found

    def _columns(self, table: Table, shape: Shape) -> list[exp.Expr]:
        columns: list[exp.Expr] = []
        for name in table.columns:
            actual = next((n for n in shape.columns if normal_name(n) == normal_name(name)), None)
            if actual is not None:
                type_ = shape.columns[actual]
                value = _plain(build.column(actual, "t", quoted=True), type_)
                columns.append(exp.Alias(this=value, alias=build.name(name, quoted=True)))
        return columns


def _plain(column: exp.Expr, type_: SqlType) -> exp.Expr:
    """A column's value as DuckDB would have it.

    Privacy: texts are compared by their bytes. Under another collation 'A' may equal 'a', so
    that a row belongs to two groups.
    """
    if type_.kind is Kind.TEXT:
        return binary_text(cast(column, "TEXT"))
    if type_.kind is Kind.DECIMAL:  # it has no NaN in DuckDB
        return call("nullif", column, cast(text("NaN"), "DECIMAL"))
    return column


def packed(statement: str, tallies: int) -> str:
    """SQL for the result of a scan in one row: each column as its integers of eight bytes each.

    A million rows would take the client longer to read one by one than the server to count.
    """
    names = ["o", *(f"n{index}" for index in range(tallies))]
    columns = ", ".join(f"string_agg(int8send(x.{name}), '')" for name in names)
    return f"SELECT {columns} FROM ({statement}) AS x"


def signed(key: int) -> int:
    """A key of 64 bits as the server's signed integer."""
    return key - 2**64 if key >= 2**63 else key


POSTGRESQL = PostgresEngine("PostgreSQL", "postgres", PostgresTranslator)
