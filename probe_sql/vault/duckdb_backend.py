"""The default backend: DuckDB in this process, read-only, walled in and locked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from probe_sql import faults
from probe_sql.errors import InternalError
from probe_sql.measuring import Ints
from probe_sql.plan.identity import Surroundings, tables
from probe_sql.plan.tally import Engine, Scan, Threshold
from probe_sql.policy.policy import Policy
from probe_sql.scan.engine import DUCKDB, PublicRelation
from probe_sql.scan.render import (
    render_key,
    render_public,
    render_ranking,
    render_scan,
    render_thresholds,
)
from probe_sql.vault import refusals
from probe_sql.vault.backend import Progress, Schemas
from probe_sql.vault.choosing import ranking
from probe_sql.vault.combining import combined
from probe_sql.vault.content import Content
from probe_sql.vault.duckdb_source import DuckDBSource
from probe_sql.vault.exact import Exact, wipe
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.instance import (
    Connection,
    Domain,
    Instance,
    Parsed,
    PreparedScan,
    Texts,
    key_columns,
)
from probe_sql.vault.key_values import worked_out_keys
from probe_sql.vault.listed import check_joins, check_lists, check_public, raise_problems
from probe_sql.vault.loading import identifier
from probe_sql.vault.runner import Calls
from probe_sql.vault.sources import Layout
from probe_sql.vault.steady import file_marks, replaceable, steadily

_CHOSEN = "probe_sql_chosen"


class DuckDBBackend:
    """Runs scans in DuckDB; `probe_sql.vault.backends.open_backend` makes one.

    Each call works in an instance that is its own meanwhile. `session` gives a backend over the
    same source, whose `interrupt` and `close` end its own calls alone.

    Privacy: the database is attached read-only to in-memory ones; once the tables are in
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
        self._begin(DuckDBSource(layout, policy, threads, memory), owner=True)

    def _begin(self, source: DuckDBSource, owner: bool) -> None:
        self._source = source
        self._owner = owner
        self._calls = Calls(source.seconds)
        self._texts = Texts()
        self._known: Instance | None = None  # that worked last here, and has made the key domain

    def session(self) -> Self:
        """A backend for one session, over the same source."""
        other = object.__new__(type(self))
        other._begin(self._source, owner=False)
        return other

    @contextmanager
    def _call(self, progress: Progress | None = None) -> Iterator[Instance]:
        """An instance for one call, which can be interrupted while it waits for it, too."""
        if self._source.pool.closed:
            raise refusals.CLOSED.error()
        with (
            self._calls.call(progress) as watch,
            self._source.pool.lend(watch, self._known) as instance,
        ):
            self._known = instance
            instance.watch, instance.texts = watch, self._texts
            yield instance

    # --- public facts -------------------------------------------------------------------

    def schemas(self) -> Schemas:
        """The policy's tables and the others of the database, as they were on opening."""
        if self._source.pool.closed:
            raise refusals.CLOSED.error()
        return self._source.schemas

    def groups(self, scan: Scan) -> int:
        """Size of the key domain; reads public tables only.

        Raises `Refused` where a public table would be joined in a type in which it is not unique.
        """
        with self._call() as instance:
            size = instance.domain(scan).size
            check_joins(scan, self._source.schemas, instance.run)
            return size

    def public_rows(self, table: str, columns: Sequence[str], most: int) -> list[list[str | None]]:
        """The first rows of a public table of the policy, as texts, column by column."""
        listed = ", ".join(f"CAST({identifier(column)} AS VARCHAR)" for column in columns)
        with self._call() as instance:
            found = instance.execute(f"SELECT {listed} FROM {identifier(table)} LIMIT {most}")
        return [list(column) for column in zip(*found, strict=True)] or [[] for _ in columns]

    def thresholds(self, scan: Scan) -> tuple[Ints, ...]:
        """Public thresholds of every group, in domain order; reads public tables only."""
        if not scan.thresholds:
            return ()
        with self._call() as instance:
            sql = render_thresholds(scan, domain=instance.domain(scan).table)
            names = [f"t{index}" for index in range(len(scan.thresholds))]
            return instance.run(partial(_columns, statement=Parsed(sql), names=names))

    def keys(self, scan: Scan, chosen: Ints) -> Mapping[int, Sequence[Any]]:
        """Values of the outputs that are no aggregates, by output, for the chosen groups."""
        ordinals = np.ascontiguousarray(chosen, dtype=np.int64)
        if np.any(np.diff(ordinals) <= 0):
            raise InternalError("the chosen groups are not in domain order")
        kinds = ("key", "expression")
        outputs = [i for i, output in enumerate(scan.outputs) if output.kind in kinds]
        if len(ordinals) == 0 or not outputs:
            return {output: [] for output in outputs}
        easily = worked_out_keys(scan, ordinals)
        if easily is not None:
            return {
                i: easily[number]
                for i, output in enumerate(scan.outputs)
                if (number := output.key) is not None
            }
        with self._call() as instance:
            domain = instance.domain(scan)
            known = instance.key_values(scan, domain)
            if known is not None:
                return {
                    i: [known[number][group] for group in chosen.tolist()]
                    for i, output in enumerate(scan.outputs)
                    if (number := output.key) is not None
                }
            listing = instance.listing(scan, _CHOSEN, domain)

            def work(connection: Connection) -> list[list[Any]]:
                connection.register(_CHOSEN, {"g": ordinals})
                try:
                    return key_columns(connection, listing)
                finally:
                    connection.unregister(_CHOSEN)

            found = instance.run(work)
        if any(len(column) != len(ordinals) for column in found) or not found:
            raise InternalError("the key domain changed during the query")
        return dict(zip(outputs, found, strict=True))

    def surroundings(self, scan: Scan) -> Surroundings | None:
        """Where a question is asked, but for its source; None for frames."""
        with self._call() as instance:
            return self._source.surroundings(sorted(tables(scan)), instance)

    def content(
        self, scan: Scan, ledger: Path, anew: bool, progress: Progress | None = None
    ) -> Content | None:
        """What the rows of the private table are made of; None where nothing proves that."""
        with self._call(progress) as instance:
            return self._source.content(scan.relation.table, instance, ledger, anew)

    @property
    def opening(self) -> str:
        """A random word, made when the source was opened."""
        return self._source.opening

    def state(self) -> str | None:
        """A word that changes when the files of the private tables do; None for frames."""
        return self._source.state()

    def check_public_keys(self, policy: Policy) -> None:
        """Raise `PolicyError` unless public tables are unique on their keys, and lists of keys
        distinct as their columns see them.

        For rows that are elsewhere the columns are not known here: `RemoteBackend` says them.
        """
        self.check_keys(policy, self.schemas())

    def check_keys(self, policy: Policy, schemas: Schemas) -> None:
        """Check public keys for private tables of these types, wherever they are."""
        with self._call() as instance:
            problems = check_public(policy, self._source.schemas, instance.run)
            raise_problems(policy, problems + check_lists(policy, schemas, instance.run))

    def check_people(self, policy: Policy) -> None:
        """Raise `PolicyError` where a row has no person and the policy refuses such rows."""
        with self._call() as instance:
            self._source.people.check(policy, self._source.schemas, instance)

    # --- the scan -----------------------------------------------------------------------

    def measure(self, scan: Scan, fuse: bool = True, progress: Progress | None = None) -> Exact:
        """Exact measures of every group of the domain, in domain order, sealed.

        Privacy: the only method that reads private rows. What it returns is sealed, and what
        it raises was written without looking at the database's own message.
        """
        with self._call(progress) as instance:
            domain = instance.domain(scan)
            table = scan.relation.table
            people = table.unit.column is not None
            if not scan.measures and not scan.rankings:
                return Exact((), domain.size, people)
            if people:
                self._source.people.bound(table, self._source.schemas, instance)
            parts = instance.parts(scan, fuse, domain)
            public = [_public(instance, part.scan, domain) for part in parts]
            ranked = [render_ranking(scan, r, domain=domain.table) for r in scan.rankings]
            faults.point("vault.scan.before")
            files = replaceable(self._source.layout.private, table)
            found = steadily(
                partial(_counted, instance, parts, domain, ranked),
                partial(file_marks, files),
                lambda tables: wipe([column for columns in tables for column in columns]),
            )
            columns = [
                column
                for part, tallies, numbers in zip(parts, found, public, strict=False)
                for column in combined(part.scan, domain.size, tallies, numbers)
            ]
            rankings = [
                ranking(columns_, tally, domain.size)
                for columns_, tally in zip(found[len(parts) :], scan.rankings, strict=True)
            ]
            exact = Exact(columns, domain.size, people, rankings)
            wipe([*columns, *(column for one in (*found, *rankings) for column in one)])
            faults.point("vault.scan.after")
            return exact

    # --- for scans that run elsewhere -----------------------------------------------------

    def texts(self, scan: Scan, relation: PublicRelation) -> list[list[str | None]]:
        """The columns of a public relation that travels with a scan, each value as text."""
        columns = ", ".join(f"CAST({identifier(c)} AS VARCHAR)" for c in relation.columns)
        with self._call() as instance:
            named, domain = relation.table, instance.domain(scan)
            table = domain.table if named is None else identifier(named)
            if relation.key is not None:
                table = f"({render_key(scan, relation.key)})"
            found = instance.execute(f"SELECT {columns} FROM {table}")
        return [list(column) for column in zip(*found, strict=True)] or [
            [] for _ in relation.columns
        ]

    def combine(self, scan: Scan, tallies: Sequence[Ints]) -> tuple[Ints, ...]:
        """Measures of every group, in domain order, from the tallies `o`, `n0`, ... of some.

        Privacy: what comes in and goes out is exact; for the vault alone.
        """
        with self._call() as instance:
            domain = instance.domain(scan)
            public = _public(instance, scan, domain)
            places, *counted = tallies
            groups = np.arange(len(places), dtype=np.int64)
            return combined(scan, domain.size, [places, groups, *counted], public)

    # --- ending -------------------------------------------------------------------------

    def interrupt(self) -> None:
        """End what this session runs, from another thread; nothing happens if there is none."""
        self._calls.interrupt()

    def close(self) -> None:
        """End what this session runs, and the source if it is its own; safe to call twice."""
        if self._owner:
            self._source.close()
        self._calls.end()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'closed' if self._source.pool.closed else 'open'}>"


def _counted(
    instance: Instance, parts: Sequence[PreparedScan], domain: Domain, ranked: Sequence[str]
) -> list[tuple[Ints, ...]]:
    """What each scan counted, and then each ranking.

    Privacy: no row decides whether a light statement that fails fails the query: the sure one
    gives the same integers in its place, only later.
    """
    tables: list[tuple[Ints, ...]] = []
    for part in parts:
        names = ["o", "g", *(f"n{index}" for index in range(len(part.scan.tallies)))]
        found = instance.attempt(partial(_columns, statement=part.light, names=names))
        if found is Failure.OTHER:
            sure = Parsed(render_scan(part.scan, domain=domain.table, light=False))
            found = instance.run(partial(_columns, statement=sure, names=names))
        elif isinstance(found, Failure):
            raise scan_error(found)
        tables.append(found)
    names = ["r0", "r1", "r2"]
    for one in map(Parsed, ranked):
        tables.append(instance.run(partial(_columns, statement=one, names=names)))
    return tables


def _public(instance: Instance, scan: Scan, domain: Domain) -> tuple[Ints, ...]:
    """The public numbers that measures are made with, of every group; reads public tables only."""
    sql = render_public(scan, domain.table)
    if sql is None:
        return ()
    count = sum(term.multiplier is not None for one in scan.measures for term in one.terms)
    count += sum(isinstance(one.guard_threshold, Threshold) for one in scan.measures)
    names = [f"p{i}" for i in range(count)]
    return instance.run(partial(_columns, statement=Parsed(sql), names=names))


def _columns(connection: Connection, statement: Parsed, names: Sequence[str]) -> tuple[Ints, ...]:
    """The integer columns of a statement. A NULL, or another type, would be a broken plan."""
    found = statement.execute(connection).fetchnumpy()
    columns = tuple(found[name] for name in names)
    if any(np.ma.isMaskedArray(column) and column.mask.any() for column in columns):
        raise InternalError("a scan returned NULL for a group")
    if any(column.dtype.kind != "i" for column in columns):  # wider ones come as floats
        raise InternalError("a scan returned something else than 64-bit integers")
    return tuple(np.asarray(column, dtype=np.int64) for column in columns)
