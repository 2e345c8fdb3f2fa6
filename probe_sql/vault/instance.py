"""One DuckDB of its own, in memory: what a single call works in, with the key domains it made."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from probe_sql.plan import identity
from probe_sql.plan.tally import Scan
from probe_sql.recent import Recent
from probe_sql.scan.domain import list_name, long_lists
from probe_sql.scan.render import (
    render_domain,
    render_key_sizes,
    render_keys,
    render_scan,
    separate,
)
from probe_sql.sql.canonical import made_of
from probe_sql.sql.keys import MAX_GROUPS, points
from probe_sql.vault import refusals
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.listed import make_list, make_released
from probe_sql.vault.loading import identifier
from probe_sql.vault.runner import Runner, Watch

T = TypeVar("T")
Connection = duckdb.DuckDBPyConnection

_TEXTS = 64  # statements that are kept
_DOMAINS = 16  # key domains that are kept
_SHOWN = 10_000  # groups of a domain whose keys are kept as they are shown, too
_WITH_ZONE = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True, slots=True)
class Domain:
    """A table with the indexes and keys of every group."""

    table: str
    size: int


class Parsed:
    """SQL of ours, which DuckDB parses when it first runs, and binds and plans each time.

    To parse a scan takes a fifth of the time in which a small table is scanned.
    """

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._statement: duckdb.Statement | None = None

    def execute(self, connection: Connection) -> Connection:
        """Run it on any connection; the result is that connection's."""
        if self._statement is None:
            [self._statement] = connection.extract_statements(self.sql)
        return connection.execute(self._statement)


@dataclass(frozen=True, slots=True)
class PreparedScan:
    """A scan, and its light statement."""

    scan: Scan
    light: Parsed


class Texts:
    """The SQL that one session's scans were written as.

    Privacy: no other session's, since else the time would tell what was asked there.
    """

    def __init__(self) -> None:
        self._last: Recent[tuple[Scan, list[Parsed]]] = Recent(_TEXTS)  # by which scan it is
        self._made: Recent[tuple[Scan, list[Parsed]]] = Recent(_TEXTS)  # by what it is made of

    def of(self, what: Hashable, scan: Scan, write: Callable[[], list[str]]) -> list[Parsed]:
        """Give SQL that was written before of the same parts, or write it now and keep it.

        A scan is kept beside its text, since some parts go by which object they are.
        """

        def made() -> tuple[Scan, list[Parsed]]:
            return scan, [Parsed(sql) for sql in write()]

        def found() -> tuple[Scan, list[Parsed]]:
            return scan, self._made.of((what, made_of(scan)), made)[1]

        return self._last.of((what, id(scan)), found)[1]


class Instance:
    """An in-memory DuckDB that works for one call at a time, the one whose `watch` it has.

    Privacy: limits, walls and temporary tables are its own, so no scan sees or fails by another's.
    """

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:", config={"python_enable_replacements": False})
        self.watch = Watch()
        self.texts = Texts()  # of the session that works here
        self.broken = False  # by an error inside of DuckDB
        self.bounded: dict[str, Path] = {}  # files of the tables that show people's bounded rows
        self._runner = Runner(self.connection)
        self._numbers = count()
        self._domains: dict[bytes, Domain] = {}  # the oldest first
        self._shown: dict[str, list[list[Any]]] = {}  # of such a domain, by its table
        self._released: set[str] = set()  # tables of what was released before, by name
        self._latest: tuple[Scan, Domain] | None = None

    def attempt(self, work: Callable[[Connection], T]) -> T | Failure:
        """The result of `work`, or how it failed."""
        outcome = self._runner.run(work, self.watch)
        self.broken = self.broken or outcome is Failure.BROKEN
        return outcome

    def run(self, work: Callable[[Connection], T]) -> T:
        """Run work that may fail; its failure becomes an error with a text of ours."""
        outcome = self.attempt(work)
        if isinstance(outcome, Failure):
            raise scan_error(outcome)
        return outcome

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows that a statement of ours returns."""
        return self.run(partial(rows, sql=sql))

    def domain(self, scan: Scan) -> Domain:
        """The key domain as a table in memory: the same groups in every step of a query."""
        if self._latest is not None and self._latest[0] is scan:
            return self._latest[1]
        self._show_released(scan)
        key = identity.domain(scan)
        found = self._domains.pop(key, None)
        if found is None:
            for keys in long_lists(scan):
                self.run(partial(make_list, name=list_name(keys), keys=keys))
            self._check_size(scan)
            sql = render_domain(scan)
            found = self.run(partial(_make_domain, sql=sql, number=next(self._numbers)))
            if 0 < found.size <= _SHOWN:
                names = ", ".join(f"k{i}" for i in range(len(scan.keys)))
                sql = f"SELECT {names}, o FROM {found.table} ORDER BY o"
                self._shown[found.table] = self.run(partial(key_columns, listing=Parsed(sql)))
        self._domains[key] = found
        self._latest = (scan, found)
        if len(self._domains) > _DOMAINS:
            oldest = self._domains.pop(next(iter(self._domains)))
            self._shown.pop(oldest.table, None)
            self.execute(f"DROP TABLE {oldest.table}")
        return found

    def _show_released(self, scan: Scan) -> None:
        """Make the tables of what was released before that a scan joins, and no others stay."""
        joins = [join.released for join in scan.relation.joins if join.released is not None]
        wanted = {released.table.name: released for released in joins}
        for name in self._released - wanted.keys():
            self.execute(f"DROP TABLE {identifier(name)}")
            self._released.discard(name)
        for name in wanted.keys() - self._released:
            self.run(partial(make_released, released=wanted[name]))
            self._released.add(name)

    def _check_size(self, scan: Scan) -> None:
        """Refuse a product of keys that would not end, before it is begun."""
        known = [points(key) for key in scan.keys]
        if None not in known and math.prod(size or 0 for size in known) <= MAX_GROUPS:
            return
        size = math.prod(int(self.execute(sql)[0][0]) for sql in render_key_sizes(scan))
        if size > MAX_GROUPS:
            raise refusals.TOO_MANY_GROUPS.error(size=size, most=MAX_GROUPS)

    def parts(self, scan: Scan, fuse: bool, domain: Domain) -> list[PreparedScan]:
        """A scan as it is run: at once, or one for each measure."""
        scans = [] if not scan.measures else [scan] if fuse else separate(scan)

        def write() -> list[str]:
            return [render_scan(one, domain=domain.table) for one in scans]

        texts = self.texts.of(("scan", fuse, domain.table), scan, write)
        return [PreparedScan(one, text) for one, text in zip(scans, texts, strict=True)]

    def listing(self, scan: Scan, chosen: str, domain: Domain) -> Parsed:
        """Give the statement for the keys of groups that a relation names."""

        def write() -> list[str]:
            return [render_keys(scan, chosen, domain=domain.table)]

        return self.texts.of(("keys", chosen, domain.table), scan, write)[0]

    def key_values(self, scan: Scan, domain: Domain) -> list[list[Any]] | None:
        """Every key of the domain in its order, where that is all that an answer shows beside
        aggregates; None for a domain that is too large to keep them.

        They were read with the domain: when, tells of nobody's answer.
        """
        if any(output.kind == "expression" for output in scan.outputs):
            return None
        return self._shown.get(domain.table)

    def close(self) -> None:
        """End what runs and free the memory; safe to call twice."""
        self._runner.end(self.connection.close)


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    """All rows that `sql` returns."""
    return connection.execute(sql).fetchall()


def _make_domain(connection: Connection, sql: str, number: int) -> Domain:
    table = f"probe_sql_domain_{number}"
    connection.execute(f"CREATE TEMP TABLE {table} AS {sql}")
    return Domain(table, int(rows(connection, f"SELECT count(*) FROM {table}")[0][0]))


def key_columns(connection: Connection, listing: Parsed) -> list[list[Any]]:
    """The columns of a listing but its last, as Python objects; moments with a zone in UTC.

    DuckDB converts such moments with pytz, which need not be installed: they are fetched as UTC.
    """
    found = listing.execute(connection)
    described = [(name, str(type_) == _WITH_ZONE) for name, type_, *_ in found.description]
    if any(zoned for _, zoned in described):
        columns = ", ".join(
            f"CAST({name} AS TIMESTAMP)" if zoned else name for name, zoned in described
        )
        found = connection.execute(f"SELECT {columns} FROM ({listing.sql}) ORDER BY o")
    columns_of = list(map(list, zip(*found.fetchall(), strict=True)))
    return [
        [value.replace(tzinfo=UTC) if isinstance(value, datetime) else value for value in column]
        if zoned
        else column
        for column, (_, zoned) in zip(columns_of[:-1], described[:-1], strict=True)
    ]
