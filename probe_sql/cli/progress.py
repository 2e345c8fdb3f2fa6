"""A sign that a scan still runs after two seconds, for people at a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from probe_sql.cli.terminal import coloured, is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 2.0


class ScanProgress:
    """A callback for `Connection.sql` that shows the time once the scan has taken two seconds.

    Privacy: it shows the time that has gone by, which any clock tells, and not how far the scan
    has come: that share tells how many rows there are. It vanishes at the end.
    """

    def __init__(self) -> None:
        self._wanted = is_terminal(sys.stderr)
        self._bar: Progress | None = None

    def __call__(self, seconds: float) -> None:
        if self._wanted and seconds >= PATIENCE and self._bar is None:
            self._start()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, no_color=not coloured(sys.stderr))
        self._bar = Progress(
            TextColumn("scanning, Ctrl-C cancels"), TimeElapsedColumn(),
            console=console, transient=True,
        )  # fmt: skip
        self._bar.add_task("scan", total=None)
        self._bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
