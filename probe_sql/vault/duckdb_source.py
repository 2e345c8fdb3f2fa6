"""An open source: what all its DuckDB instances share, and how each of them is opened."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

import duckdb

from probe_sql.errors import ProbeError
from probe_sql.plan.identity import Surroundings
from probe_sql.policy.model import Table
from probe_sql.policy.names import find
from probe_sql.policy.policy import Policy
from probe_sql.text import normal_name
from probe_sql.types import SqlType, parse_type
from probe_sql.vault.backend import Schemas
from probe_sql.vault.bounded_store import file_state, read_once, source_marks
from probe_sql.vault.bounded_tables import BoundedTables
from probe_sql.vault.content import Content, Contents, content_key
from probe_sql.vault.failures import Failure, opening_error
from probe_sql.vault.instance import Connection, Instance, rows
from probe_sql.vault.loading import CATALOG, WHOLE, Step, attach, identifier, load, load_into
from probe_sql.vault.opening import resources, set_limits, wall_in
from probe_sql.vault.pool import Pool
from probe_sql.vault.reading import ReadingLock
from probe_sql.vault.sources import Files, Frame, Layout
from probe_sql.vault.views import catalogue
from probe_sql.vault.workplace import open_workplace


class DuckDBSource:
    """A source in as many instances as scans may run at once, each with its part of the memory.

    With one instance, what must be copied is copied into its memory. With more it is copied
    into a database in the workplace, which all of them attach read-only.

    Privacy: each instance is walled in and locked before it is lent. One that is opened later sees
    what the first one saw: if a file has changed since, there is no later one. No DuckDB writes a
    database while it is open here (`reading`).
    """

    def __init__(
        self, layout: Layout, policy: Policy | None, threads: int | None, memory: str | None
    ) -> None:
        self.layout = layout
        self._policy = policy
        self._limits = resources(policy, threads, memory)
        spill = self._limits.spill
        self._workplace = open_workplace(
            policy.beside(spill) if policy is not None and spill is not None else None
        )
        self.seconds = self._limits.seconds
        self._numbers = count()
        self._contents: dict[str, str] = {}  # digests of public tables, which do not change
        self._bytes = Contents()  # of private ones, which might
        self._reading: ReadingLock | None = None
        try:
            if layout.database is not None:
                self._reading = ReadingLock(layout.database.path)
            self.people = BoundedTables(layout, policy, self._workplace.path / "bounded")
            self._copy: Path | None = None
            self._marks = read_once(layout)
            self._opened = source_marks(layout)
            if self._limits.scans > 1:
                self._copy = self._workplace.path / "loaded.duckdb"
                self._load_copy(self._copy)
            first = self._open()
            try:
                self.schemas: Schemas = first.run(_schemas)
                self.people.clean(self.schemas)
            except BaseException:
                first.close()
                raise
        except BaseException:
            self._end()
            raise
        self.pool: Pool[Instance] = Pool(first, self._another, self._limits.scans)

    def surroundings(self, tables: Iterable[str], instance: Instance) -> Surroundings | None:
        """What a question depends on beside the source: DuckDB, and the content of public tables.

        None for frames: another one may come by the same name.
        """
        if any(isinstance(source, Frame) for source in self.layout.private.values()):
            return None
        public = {table: self._content(table, instance) for table in tables}
        return Surroundings(f"DuckDB {duckdb.__version__}", "", "main", "", public)

    def state(self) -> str | None:
        """A word that changes when the files of the private tables do; None for frames."""
        return file_state(self.layout, self._opened)

    @property
    def opening(self) -> str:
        """A random word, made on opening."""
        return self._bytes.opening

    def content(self, table: Table, instance: Instance, ledger: Path, anew: bool) -> Content | None:
        """What the rows of a private table are made of; None where nothing proves that.

        Of a database only stored columns are proved: a view may compute, or read other files.
        """
        key = content_key(ledger)
        source = find(self.layout.private, table.name)
        if key is None or isinstance(source, Frame):
            return None
        if table.unit.column is not None:  # scans read nothing else
            paths = [self.people.bound(table, self.schemas, instance)]
        elif isinstance(source, Files):
            paths = list(source.paths)
        elif self.layout.database is not None and instance.run(partial(_stored, table=table.name)):
            paths = [self.layout.database.path]
        else:
            return None
        tick = partial(instance.watch.tick, time.monotonic())
        return self._bytes.of(paths, self._marks, anew, key, tick)

    def _content(self, table: str, instance: Instance) -> str:
        """The digest of a public table: columns with their types, and rows in any order.

        Every value is written with its length, so that no two rows are written the same.
        """
        if table not in self._contents:
            schema = find(self.schemas, table)
            assert schema is not None, "the policy was compared with the schemas"
            texts = (f"CAST({identifier(column)} AS VARCHAR)" for column in schema)
            row = " || ".join(f"coalesce(strlen({text}) || ':' || {text}, 'n')" for text in texts)
            found = instance.execute(
                f"SELECT sha256(coalesce(string_agg(row, '' ORDER BY row), ''))"
                f" FROM (SELECT {row} AS row FROM {identifier(table)})"
            )
            types = [(column, type_.name) for column, type_ in schema.items()]
            whole = repr((types, found[0][0])).encode()
            self._contents[table] = hashlib.sha256(whole).hexdigest()
        return self._contents[table]

    def _load_copy(self, copy: Path) -> None:
        """Make the database that all instances attach; nothing else runs, so all memory is free."""
        instance = Instance()
        try:
            set_limits(instance.connection, replace(self._limits, scans=1), self._spill())
            self._load(instance, copy)
        finally:
            instance.close()
        copy.chmod(0o600)

    def _open(self) -> Instance:
        instance = Instance()
        try:
            set_limits(instance.connection, self._limits, self._spill())
            if self._copy is None:
                self._load(instance, None)
            else:
                attach(instance.connection, self.layout, self._policy, self._copy)
            wall_in(instance.connection, self.layout, self.people.folders())
        except BaseException:
            instance.close()
            raise
        return instance

    def _spill(self) -> Path:
        """A directory of an instance's own: what is spilled to disk holds private rows."""
        spill = self._workplace.path / f"spill{next(self._numbers)}"
        spill.mkdir(mode=0o700)
        return spill

    def _load(self, instance: Instance, copy: Path | None) -> None:
        steps = [Step("the source")]
        problem: list[ProbeError] = []

        def work(connection: Connection) -> None:
            try:
                if copy is None:
                    steps.extend(load(connection, self.layout, self._policy))
                else:
                    steps.extend(load_into(copy, connection, self.layout, self._policy))
            except ProbeError as error:
                problem.append(error)

        outcome = instance.attempt(work)
        if problem:
            raise problem[0].with_traceback(None)
        if isinstance(outcome, Failure):
            raise opening_error(outcome, steps[-1].what, steps[-1].fix)

    def _another(self) -> Instance | None:
        """One more instance that shows the same; None where that cannot be said any more."""
        if read_once(self.layout) != self._marks:
            return None
        instance: Instance | None = None
        with suppress(ProbeError, duckdb.Error, OSError):
            instance = self._open()
        if instance is not None and read_once(self.layout) != self._marks:
            instance.close()
            return None
        return instance

    def close(self) -> None:
        """End what runs, close all instances and remove what was spilled; safe to call twice."""
        self.pool.close()
        self._end()

    def _end(self) -> None:
        self._workplace.close()
        if self._reading is not None:
            self._reading.close()


def _schemas(connection: Connection) -> Schemas:
    found: dict[tuple[str, str], dict[str, SqlType]] = {}
    for database, table, column, type_ in rows(
        connection,
        "SELECT database_name, table_name, column_name, data_type FROM duckdb_columns()"
        " WHERE NOT internal AND schema_name = 'main'"
        f" AND NOT starts_with(table_name, '{WHOLE}')"
        f" ORDER BY database_name = '{CATALOG}', table_name, column_index",
    ):
        found.setdefault((database, table), {})[column] = parse_type(type_)
    # The last to come wins: our own tables and views over those of the database.
    return {table: schema for (_, table), schema in reversed(found.items())}


def _stored(connection: Connection, table: str) -> bool:
    """Whether all of a table's columns are stored in the attached database."""
    known = catalogue(connection, CATALOG)
    return any(
        schema == "main" and normal_name(name) == normal_name(table)
        for schema, name in known.tables
        if not known.computes((schema, name))
    )


def write_database(path: Path, statements: Iterable[str]) -> None:
    """Write a new database by statements of ours; the file must not exist yet."""
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
