"""What a plan asks of the database that will run its scan: handed in by who opened it."""

from __future__ import annotations

from typing import Protocol

from probe_sql.plan.tally import Scan


class Engine(Protocol):
    """A database that can run scans, as far as SQL goes."""

    @property
    def name(self) -> str:
        """The engine's name, for people."""
        ...

    def check(self, scan: Scan) -> None:
        """Raise `Refused`, with the place, for what the engine cannot compute exactly."""
        ...

    def statements(self, scan: Scan, fuse: bool = True, pretty: bool = False) -> tuple[str, ...]:
        """The SQL that reads private rows: one statement, or one for each measure."""
        ...
