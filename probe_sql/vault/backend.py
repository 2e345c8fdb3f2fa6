"""`Backend`: what the engine asks of a database. Its unit is a plan's scan, never SQL text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from probe_sql.plan.identity import Surroundings
from probe_sql.plan.tally import Engine, Scan
from probe_sql.policy.policy import Policy
from probe_sql.types import SqlType
from probe_sql.vault.content import Content
from probe_sql.vault.exact import Exact

Progress = Callable[[], None]  # called while a scan runs; takes nothing that a row could decide
Schemas = Mapping[str, Mapping[str, SqlType]]


class Backend(Protocol):
    """A database that can run scans. Everything it returns is public, but for `measure`.

    Threads may share it. As many scans run side by side as the policy's `[engine] scans` says,
    where the database can; others wait.

    Privacy: errors are `ScanError` or `Interrupted` with texts of our own. No method takes
    SQL, and no value of an analyst reaches the database except inside a planned scan.
    """

    @property
    def engine(self) -> Engine:
        """The engine whose SQL the scans are said in, and what it refuses."""
        ...

    def schemas(self) -> Schemas:
        """Tables and views, their columns and types; schemas are public."""
        ...

    def groups(self, scan: Scan) -> int:
        """Size of the key domain; reads public tables only."""
        ...

    def public_rows(
        self, table: str, columns: Sequence[str], most: int
    ) -> Sequence[Sequence[str | None]]:
        """The first rows of a public table of the policy, as texts, column by column."""
        ...

    def thresholds(self, scan: Scan) -> tuple[NDArray[np.int64], ...]:
        """Public thresholds of every group, in domain order; reads public tables only."""
        ...

    def measure(self, scan: Scan, fuse: bool = True, progress: Progress | None = None) -> Exact:
        """Exact measures of every group of the domain, in domain order, sealed.

        `fuse` False makes one scan for each measure. `progress` is called ten times
        a second once a statement has taken half a second, and told nothing: how far a scan
        has come would tell how many rows there are. Ctrl-C and `interrupt` end it.
        """
        ...

    def keys(self, scan: Scan, chosen: NDArray[np.int64]) -> Mapping[int, Sequence[Any]]:
        """Values of the outputs that are no aggregates, by output, for the chosen groups.

        `chosen` holds indexes in domain order, ascending. Reads public tables only.
        """
        ...

    def surroundings(self, scan: Scan) -> Surroundings | None:
        """Where a question is asked, but for its source; None where nobody can say what that is.

        So it is for frames, and for sessions of Spark. Reads public tables only, each once.
        """
        ...

    def content(
        self, scan: Scan, ledger: Path, anew: bool, progress: Progress | None = None
    ) -> Content | None:
        """What the rows of the scanned private table are made of, byte by byte.

        None where nothing proves that: for frames, for rows in a server, for views. With `anew`
        every byte is read now. The key of the digest lies beside the ledger.
        Privacy: reads private rows, so only after a charge. What comes out compares, and tells
        nothing else to whoever has not the key.
        """
        ...

    @property
    def opening(self) -> str:
        """A random word, made when the source was opened."""
        ...

    def state(self) -> str | None:
        """A word that changes when the files of the private tables do; None where nothing tells.

        Privacy: for the ledger alone. Every change of a source is about somebody.
        """
        ...

    def check_public_keys(self, policy: Policy) -> None:
        """Raise `PolicyError` unless every public table is unique on its declared key.

        Privacy: a private row that meets two public rows would count twice, and every
        sensitivity would be wrong.
        """
        ...

    def check_people(self, policy: Policy) -> None:
        """Raise `PolicyError` where a row has no person and the policy refuses such rows."""
        ...

    def session(self) -> Backend:
        """A backend over the same database for one session, cheap to make."""
        ...

    def interrupt(self) -> None:
        """End what this session runs and waits for, from another thread; nothing happens if there
        is none. What other sessions run goes on."""
        ...

    def close(self) -> None:
        """End what this session runs. The first backend also ends all sessions, and releases
        files and memory. Safe to call twice."""
        ...
