"""A backend whose private rows are elsewhere: tallies are counted there, the rest is done here.

Public tables are copied into a DuckDB of this process on opening, so that what was checked
of them stays true. The key domain is built there, and travels with every scan; one row for
each group comes back, and never a key.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from probe_sql import faults
from probe_sql.errors import InternalError
from probe_sql.measuring import Ints
from probe_sql.plan.identity import Surroundings
from probe_sql.plan.tally import Engine, Scan
from probe_sql.policy.model import Table
from probe_sql.policy.names import find
from probe_sql.policy.policy import Policy
from probe_sql.scan.engine import PublicRelation, RemoteEngine, public_relations
from probe_sql.scan.places import groups_of, worked_out
from probe_sql.types import SqlType
from probe_sql.vault.backend import Progress, Schemas
from probe_sql.vault.bounded_store import kept_key
from probe_sql.vault.bounded_tables import check_people
from probe_sql.vault.choosing import ranking
from probe_sql.vault.content import Content
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.exact import Exact, Ranking, wipe
from probe_sql.vault.runner import Calls, Watch
from probe_sql.vault.sources import Layout, TextColumns, public_files


@dataclass(frozen=True, slots=True)
class PublicRows:
    """A public relation with its rows: every value as text, column by column."""

    relation: PublicRelation
    columns: Sequence[Sequence[str | None]]


class Remote(Protocol):
    """A database elsewhere.

    Privacy: errors are `ScanError`, `Interrupted` or `OperationalError` with texts of our own;
    the database's own message may quote a row. Nothing in it is changed.
    """

    @property
    def engine(self) -> RemoteEngine:
        """How its SQL is written, and what it refuses."""
        ...

    @property
    def limit(self) -> float | None:
        """Seconds that a statement may take; None where the database itself sees to it."""
        ...

    def schemas(self) -> Schemas:
        """Tables and views, their columns and types in DuckDB's names; schemas are public."""
        ...

    def surroundings(self) -> tuple[str, str, str] | None:
        """The engine with its version, the schema, and the role that reads; None where the same
        words could mean other rows."""
        ...

    def check(self, policy: Policy) -> None:
        """Raise `OperationalError` for a table that cannot be read as it is; reads no row."""
        ...

    def public(self, table: str, columns: Mapping[str, SqlType]) -> Sequence[Sequence[str | None]]:
        """All rows of a public table as text, column by column, in a form DuckDB reads."""
        ...

    def tallies(
        self, scans: Sequence[Scan], public: Sequence[PublicRows], key: int | None, watch: Watch
    ) -> Sequence[Sequence[Ints]]:
        """Run the scans of a query: of each the columns `o`, `n0`, ..., in no order of rows.

        Where there is a `key`, the table protects people: what is scanned are at most `max_rows`
        rows of each person. As many queries run side by side as the database allows.

        Privacy: all of them read one state of the rows, whoever writes meanwhile. Filters that
        exclude each other are charged once, and a row that changed in between would meet both.
        Which rows of a person stay is a function of that person's rows, the key and the cap.
        """
        ...

    def missing_people(self, table: Table) -> bool:
        """Whether some row of the table has no person."""
        ...

    def close(self) -> None:
        """End what runs and disconnect; safe to call twice."""
        ...


class RemoteBackend:
    """Runs scans in a `Remote`; keys, thresholds and measures in a DuckDB of public tables."""

    def __init__(
        self,
        remote: Remote,
        policy: Policy | None,
        *,
        threads: int | None = None,
        memory: str | None = None,
        beside: Path | None = None,
    ) -> None:
        try:
            self._schemas = remote.schemas()
            if policy is not None:
                remote.check(policy)
            layout = Layout(None, {}, {**_copied(remote, policy), **public_files(policy)})
            local = DuckDBBackend(layout, policy, threads=threads, memory=memory)
        except BaseException:
            remote.close()
            raise
        self._begin(remote, local, _Key(beside), owner=True)

    def _begin(self, remote: Remote, local: DuckDBBackend, key: _Key, owner: bool) -> None:
        self._remote = remote
        self._local = local
        self._key = key
        self._owner = owner
        self._calls = Calls(remote.limit)

    def session(self) -> Self:
        """A backend for one session, over the same database."""
        other = object.__new__(type(self))
        other._schemas = self._schemas
        other._begin(self._remote, self._local.session(), self._key, owner=False)
        return other

    # --- public facts -------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The engine whose SQL the scans are said in, and what it refuses."""
        return self._remote.engine

    def schemas(self) -> Schemas:
        """The tables of the database, and the public tables that were read from files."""
        return {**self._schemas, **self._local.schemas()}

    def groups(self, scan: Scan) -> int:
        """Size of the key domain; reads public tables only."""
        return self._local.groups(scan)

    def public_rows(self, table: str, columns: Sequence[str], most: int) -> list[list[str | None]]:
        """The first rows of a public table of the policy, as texts, column by column."""
        return self._local.public_rows(table, columns, most)

    def thresholds(self, scan: Scan) -> tuple[Ints, ...]:
        """Public thresholds of every group, in domain order; reads public tables only."""
        return self._local.thresholds(scan)

    def keys(self, scan: Scan, chosen: Ints) -> Mapping[int, Sequence[Any]]:
        """Values of the outputs that are no aggregates, by output, for the chosen groups."""
        return self._local.keys(scan, chosen)

    def surroundings(self, scan: Scan) -> Surroundings | None:
        """Where a question is asked, but for its source; None where the database cannot say."""
        told, known = self._remote.surroundings(), self._local.surroundings(scan)
        if told is None or known is None:
            return None
        engine, schema, role = told
        both = f"{engine}, {known.engine}"  # keys and thresholds are made here
        return replace(known, engine=both, schema=schema, role=role)

    def content(
        self,
        scan: Scan,  # noqa: ARG002
        ledger: Path,  # noqa: ARG002
        anew: bool,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> Content | None:
        """Nothing proves what rows are elsewhere: None."""
        return None

    @property
    def opening(self) -> str:
        """A random word, made when the source was opened."""
        return self._local.opening

    def state(self) -> str | None:
        """None: a server has no word for all that its tables hold."""
        return None

    def check_public_keys(self, policy: Policy) -> None:
        """Raise `PolicyError` unless every public table is unique on its declared key."""
        self._local.check_keys(policy, self.schemas())

    def check_people(self, policy: Policy) -> None:
        """Raise `PolicyError` where a row has no person and the policy refuses such rows."""
        check_people(policy, self._schemas, self._remote.missing_people)

    # --- the scan -----------------------------------------------------------------------

    def measure(self, scan: Scan, fuse: bool = True, progress: Progress | None = None) -> Exact:
        """Exact measures of every group of the domain, in domain order, sealed.

        Privacy: the only method that has private rows read. What it returns is sealed, and what
        it raises was written without looking at the database's own message.
        """
        size = self.groups(scan)
        table = scan.relation.table
        people = table.unit.column is not None
        if not scan.measures and not scan.rankings:
            return Exact((), size, people)
        if worked_out(scan) and size != groups_of(scan):
            raise InternalError("places would be worked out in another domain")
        key = self._key() if people else None
        parts = self._remote.engine.passes(scan, fuse)
        relations = public_relations(scan)
        public = [PublicRows(one, self._local.texts(scan, one)) for one in relations]
        faults.point("vault.scan.before")
        columns: list[Ints] = []
        with self._calls.call(progress) as watch:
            found = self._remote.tallies(parts, public, key, watch)
        rankings: list[Ranking] = []
        for part, tallies in zip(parts, found, strict=True):
            if part.ranked:
                rankings.append(ranking(tallies, part.tallies[0], size))
                wipe(tallies)
            else:
                columns += self._combined(part, tallies, size)
        exact = Exact(columns, size, people, rankings)
        wipe([*columns, *(each for parts_ in rankings for each in parts_)])
        faults.point("vault.scan.after")
        return exact

    def _combined(self, scan: Scan, found: Sequence[Ints], size: int) -> tuple[Ints, ...]:
        """Check that each group came back at most once, then make the measures."""
        ordinals = found[0]
        outside = len(ordinals) and (ordinals.min() < 0 or ordinals.max() >= size)
        if (
            len(found) != 1 + len(scan.tallies)
            or outside
            or len(np.unique(ordinals)) != len(ordinals)
        ):
            raise InternalError("a scan returned something else than one row for each group")
        return self._local.combine(scan, found)

    # --- ending -------------------------------------------------------------------------

    def interrupt(self) -> None:
        """End what this session runs, from another thread; nothing happens if there is none."""
        self._calls.interrupt()
        self._local.interrupt()

    def close(self) -> None:
        """End what this session runs, and the link to the database if it is its own; safe to call
        twice."""
        if self._owner:
            self._remote.close()
        self._calls.end()
        self._local.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._remote.engine.name}>"


class _Key:
    """The key of the hash that chooses rows of people: one for all sessions, made when needed."""

    def __init__(self, beside: Path | None) -> None:
        self._beside = beside
        self._found: int | None = None
        self._turn = threading.Lock()

    def __call__(self) -> int:
        with self._turn:
            if self._found is None:
                self._found = kept_key(self._beside)
            return self._found


def _copied(remote: Remote, policy: Policy | None) -> dict[str, TextColumns]:
    """The public tables that lie in the database itself."""
    found = {}
    schemas = remote.schemas()
    for table in policy.public.values() if policy is not None else ():
        schema = find(schemas, table.name)
        if table.path is None and schema is not None:
            found[table.name] = TextColumns(schema, remote.public(table.name, schema))
    return found
