"""The default backend: DuckDB in this process, read-only, walled in and locked."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from probe_sql import faults
from probe_sql.errors import (
    InterfaceError,
    InternalError,
    ProbeError,
    Refused,
)
from probe_sql.plan.engine import Engine
from probe_sql.plan.tally import Scan
from probe_sql.policy.model import Policy
from probe_sql.scan.domain import domain_key, list_name, long_lists
from probe_sql.scan.engine import DUCKDB, Shipped
from probe_sql.scan.render import (
    render_domain,
    render_key_sizes,
    render_keys,
    render_measures,
    render_scan,
    render_separate,
    render_thresholds,
)
from probe_sql.sql.keys import MAX_GROUPS, points
from probe_sql.types import SqlType, parse_type
from probe_sql.vault.backend import Progress, Schemas
from probe_sql.vault.exact import Exact, wipe
from probe_sql.vault.failures import Failure, opening_error, scan_error
from probe_sql.vault.listed import check_joins, check_lists, check_public, make_list, raise_problems
from probe_sql.vault.loading import CATALOG, WHOLE, Step, identifier, load
from probe_sql.vault.opening import resources, set_limits, wall_in
from probe_sql.vault.people import People
from probe_sql.vault.runner import Runner
from probe_sql.vault.sources import Layout
from probe_sql.vault.steady import file_marks, replaceable, steadily
from probe_sql.vault.workplace import open_workplace

T = TypeVar("T")
Ints = NDArray[np.int64]
Connection = duckdb.DuckDBPyConnection

_CHOSEN = "probe_sql_chosen"
_TALLIES = "probe_sql_tallies"
_DOMAINS = 16  # key domains that are kept
_WITH_ZONE = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True, slots=True)
class _Domain:
    """A table with the places and keys of every group."""

    table: str
    size: int


class DuckDBBackend:
    """Runs scans in DuckDB; `probe_sql.vault.sources.open_backend` makes one.

    Privacy: the database is attached read-only to an in-memory one; once the tables are in
    place, access to files (but the Parquet files named), extensions, the network and Python
    variables is switched off and the configuration locked. Only rendered scans are executed.
    """

    engine: Engine = DUCKDB

    def __init__(
        self,
        layout: Layout,
        policy: Policy | None,
        *,
        threads: int | None = None,
        memory: str | None = None,
    ) -> None:
        self._closed = False
        self._closing = threading.Lock()
        self._layout = layout
        self._policy = policy
        self._limits = resources(policy, threads, memory)
        spill = self._limits.spill
        self._workplace = open_workplace(
            policy.beside(spill) if policy is not None and spill is not None else None
        )
        # What is spilled to disk holds private rows: a directory of our own, mode 0700.
        self._spill = self._workplace.path / "spill"
        self._spill.mkdir(mode=0o700)
        self._numbers = count()
        self._open()

    # --- opening ------------------------------------------------------------------------

    def _open(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"python_enable_replacements": False})
        self._runner = Runner(self._connection)
        self._domains: dict[Hashable, _Domain] = {}  # the oldest first
        self._latest: tuple[Scan, _Domain] | None = None
        self._rendered: tuple[tuple[Scan, bool, _Domain], list[str]] | None = None
        self._people = People(
            self._layout, self._policy, self._workplace.path / "bounded", self._execute
        )
        try:
            set_limits(self._connection, self._limits, self._spill)
            self._load()
            wall_in(self._connection, self._layout, self._people.folders())
            self._schemas: Schemas = self._run(_schemas)
            self._people.clean(self._schemas)
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        steps = [Step("the source")]
        problem: list[ProbeError] = []

        def work(connection: Connection) -> None:
            try:
                steps.extend(load(connection, self._layout, self._policy))
            except ProbeError as error:
                problem.append(error)

        outcome = self._runner.run(work)
        if problem:
            raise problem[0].with_traceback(None)
        if isinstance(outcome, Failure):
            raise opening_error(outcome, steps[-1].what, steps[-1].fix)

    def _restart(self) -> None:
        """Open the source anew: an error inside of DuckDB has made the connection useless."""
        with suppress(duckdb.Error):
            self._connection.close()
        with suppress(ProbeError):  # then it is closed, and the next query says so
            self._open()

    # --- public facts -------------------------------------------------------------------

    def schemas(self) -> Schemas:
        """The policy's tables and the others of the database, as they were on opening."""
        self._check_open()
        return self._schemas

    def groups(self, scan: Scan) -> int:
        """Size of the key domain; reads public tables only.

        Raises `Refused` where a public table would be joined in a type in which it is not unique.
        """
        check_joins(scan, self.schemas(), self._run)
        return self._domain(scan).size

    def thresholds(self, scan: Scan) -> tuple[Ints, ...]:
        """Public thresholds of every group, in domain order; reads public tables only."""
        if not scan.thresholds:
            return ()
        sql = render_thresholds(scan, domain=self._domain(scan).table)
        return self._run(partial(_columns, sql=sql, prefix="t"))

    def keys(self, scan: Scan, chosen: Ints) -> Mapping[int, Sequence[Any]]:
        """Values of the outputs that are no aggregates, by output, for the chosen groups."""
        places = np.ascontiguousarray(chosen, dtype=np.int64)
        if np.any(np.diff(places) <= 0):
            raise InternalError("The chosen groups are not in domain order.")
        outputs = [i for i, output in enumerate(scan.outputs) if output.kind != "aggregate"]
        if len(places) == 0 or not outputs:
            return {output: [] for output in outputs}
        sql = render_keys(scan, _CHOSEN, domain=self._domain(scan).table)

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            connection.register(_CHOSEN, {"g": places})
            try:
                return _key_rows(connection, sql, outputs)
            finally:
                connection.unregister(_CHOSEN)

        rows = self._run(work)
        if len(rows) != len(places):
            raise InternalError("The key domain changed during the query.")
        return dict(zip(outputs, map(list, zip(*rows, strict=True)), strict=True))

    def _domain(self, scan: Scan) -> _Domain:
        """The key domain as a table in memory: the same groups in every step of a query."""
        if self._latest is not None and self._latest[0] is scan:
            return self._latest[1]
        key = domain_key(scan)
        found = self._domains.pop(key, None)
        if found is None:
            for keys in long_lists(scan):
                self._run(partial(make_list, name=list_name(keys), keys=keys))
            self._check_size(scan)
            sql = render_domain(scan)
            found = self._run(partial(_make_domain, sql=sql, number=next(self._numbers)))
        self._domains[key] = found
        self._latest = (scan, found)
        if len(self._domains) > _DOMAINS:
            oldest = self._domains.pop(next(iter(self._domains)))
            self._run(partial(_rows, sql=f"DROP TABLE {oldest.table}"))
        return found

    def _check_size(self, scan: Scan) -> None:
        """Refuse a product of keys that would not end, before it is begun."""
        known = [points(key) for key in scan.keys]
        if None not in known and math.prod(size or 0 for size in known) <= MAX_GROUPS:
            return
        sizes = [int(self._run(partial(_rows, sql=sql))[0][0]) for sql in render_key_sizes(scan)]
        size = math.prod(sizes)
        if size > MAX_GROUPS:
            raise Refused(
                f"the key domain has {size:,} groups",
                why=f"every group of the domain is measured, at most {MAX_GROUPS:,}",
                fix="group by coarser keys, or declare the combinations in a public table",
            )

    def check_public_keys(self, policy: Policy) -> None:
        """Raise `PolicyError` unless public tables are unique on their keys, and lists of keys
        distinct as their columns see them.

        For rows that are elsewhere the columns are not known here: `RemoteBackend` says them.
        """
        self.check_keys(policy, self.schemas())

    def check_keys(self, policy: Policy, schemas: Schemas) -> None:
        """The same, where `schemas` tells the types of the private tables, wherever they are."""
        problems = check_public(policy, self.schemas(), self._run)
        raise_problems(policy, problems + check_lists(policy, schemas, self._run))

    def check_people(self, policy: Policy) -> None:
        """Raise `PolicyError` where a row has no person and the policy refuses such rows."""
        self._people.check(policy, self.schemas())

    # --- the scan -----------------------------------------------------------------------

    def measure(self, scan: Scan, fuse: bool = True, progress: Progress | None = None) -> Exact:
        """Exact measures of every group of the domain, in domain order, sealed.

        Privacy: the only method that reads private rows. What it returns is sealed, and what
        it raises was written without looking at the database's own message.
        """
        domain = self._domain(scan)
        table = scan.relation.table
        people = table.unit.column is not None
        if not scan.measures:
            return Exact((), domain.size, people)
        if people:
            self._people.bound(table, self._schemas, progress)
        statements = self._statements(scan, fuse, domain)
        faults.point("vault.scan.before")
        read = partial(self._measured, statements, progress)
        columns = steadily(
            read, partial(file_marks, replaceable(self._layout.private, table)), wipe
        )
        exact = Exact(columns, domain.size, people)
        wipe(columns)
        faults.point("vault.scan.after")
        return exact

    def _measured(self, statements: Sequence[str], progress: Progress | None) -> list[Ints]:
        columns: list[Ints] = []
        for sql in statements:
            columns += self._run(partial(_columns, sql=sql, prefix="m"), progress)
        return columns

    def _statements(self, scan: Scan, fuse: bool, domain: _Domain) -> list[str]:
        """The SQL of a scan; that of the last one is kept, for whoever asks again."""
        asked, latest = (scan, fuse, domain), self._rendered
        if latest is not None and all(a is b for a, b in zip(latest[0], asked, strict=True)):
            return latest[1]
        if fuse:
            sql = [render_scan(scan, domain=domain.table)]
        else:
            sql = render_separate(scan, domain=domain.table)
        self._rendered = (asked, sql)
        return sql

    # --- for scans that run elsewhere -----------------------------------------------------

    def texts(self, scan: Scan, relation: Shipped) -> list[list[str | None]]:
        """The columns of a public relation that travels with a scan, each value as text."""
        table = self._domain(scan).table if relation.table is None else identifier(relation.table)
        columns = ", ".join(f"CAST({identifier(c)} AS VARCHAR)" for c in relation.columns)
        rows = self._run(partial(_rows, sql=f"SELECT {columns} FROM {table}"))
        return [list(column) for column in zip(*rows, strict=True)] or [
            [] for _ in relation.columns
        ]

    def combine(self, scan: Scan, tallies: Sequence[Ints]) -> tuple[Ints, ...]:
        """Measures of every group, in domain order, from the tallies `o`, `n0`, ... of some.

        Privacy: what comes in and goes out is exact; for the vault alone.
        """
        sql = render_measures(scan, _TALLIES, self._domain(scan).table)
        names = ["o", *(f"n{place}" for place in range(len(scan.tallies)))]

        def work(connection: Connection) -> tuple[Ints, ...]:
            connection.register(_TALLIES, dict(zip(names, tallies, strict=True)))
            try:
                return _columns(connection, sql, "m")
            finally:
                connection.unregister(_TALLIES)

        return self._run(work)

    def _run(self, work: Callable[[Connection], T], progress: Progress | None = None) -> T:
        """Run work that may fail; its failure becomes an error with a text of ours."""
        if self._closed:  # between two statements, by another thread
            raise scan_error(Failure.CLOSED)
        outcome = self._runner.run(work, progress)
        if outcome is Failure.BROKEN:
            self._restart()
        if isinstance(outcome, Failure):
            raise scan_error(outcome)
        return outcome

    def _execute(self, sql: str, progress: Progress | None) -> list[tuple[Any, ...]]:
        return self._run(partial(_rows, sql=sql), progress)

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("The database is closed.", fix="Connect again.")

    # --- ending -------------------------------------------------------------------------

    def interrupt(self) -> None:
        """End the running scan, from another thread; nothing happens if there is none."""
        self._runner.interrupt()

    def close(self) -> None:
        """End what runs, close the database and remove what was spilled; safe to call twice."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            try:
                self._runner.end(self._connection.close)
            except InterfaceError:
                self._closed = False  # a progress function asked: the scan it watches goes on
                raise
            except BaseException:
                self._workplace.close()
                raise
            self._workplace.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'closed' if self._closed else 'open'}>"


def _rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def _schemas(connection: Connection) -> Schemas:
    found: dict[tuple[str, str], dict[str, SqlType]] = {}
    for database, table, column, type_ in _rows(
        connection,
        "SELECT database_name, table_name, column_name, data_type FROM duckdb_columns()"
        " WHERE NOT internal AND schema_name = 'main'"
        f" AND NOT starts_with(table_name, '{WHOLE}')"
        f" ORDER BY database_name = '{CATALOG}', table_name, column_index",
    ):
        found.setdefault((database, table), {})[column] = parse_type(type_)
    # The last to come wins: our own tables and views over those of the database.
    return {table: schema for (_, table), schema in reversed(found.items())}


def _make_domain(connection: Connection, sql: str, number: int) -> _Domain:
    table = f"probe_sql_domain_{number}"
    connection.execute(f"CREATE TEMP TABLE {table} AS {sql}")
    return _Domain(table, int(_rows(connection, f"SELECT count(*) FROM {table}")[0][0]))


def _columns(connection: Connection, sql: str, prefix: str) -> tuple[Ints, ...]:
    """The integer columns that `sql` returns. A NULL would be a broken plan."""
    found = connection.execute(sql).fetchnumpy()
    columns = tuple(found[f"{prefix}{index}"] for index in range(len(found)))
    if any(np.ma.isMaskedArray(column) and column.mask.any() for column in columns):
        raise InternalError("A scan returned NULL for a group.")
    return tuple(np.asarray(column, dtype=np.int64) for column in columns)


def _key_rows(connection: Connection, sql: str, outputs: Sequence[int]) -> list[tuple[Any, ...]]:
    """Rows of key values as Python objects; moments with a zone come back in UTC."""
    types = {column: type_ for column, type_, *_ in _rows(connection, f"DESCRIBE {sql}")}
    zoned = [types[f"c{output}"] == _WITH_ZONE for output in outputs]
    # DuckDB converts zoned moments with pytz, which need not be installed: fetch them as UTC.
    columns = ", ".join(
        f"CAST(c{output} AS TIMESTAMP)" if zone else f"c{output}"
        for output, zone in zip(outputs, zoned, strict=True)
    )
    rows = _rows(connection, f"SELECT {columns} FROM ({sql}) ORDER BY o")
    if not any(zoned):
        return rows
    return [
        tuple(_in_utc(v) if zone else v for v, zone in zip(row, zoned, strict=True)) for row in rows
    ]


def _in_utc(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
