"""Progress of a scan that takes longer than two seconds, for people at a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from probe_sql.cli.terminal import coloured, is_terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 2.0


class ScanProgress:
    """A callback for `Connection.sql` that shows a bar once the scan has taken two seconds.

    The bar says how far the scan has come and not how long it took: it vanishes at the end.
    """

    def __init__(self) -> None:
        self._wanted = is_terminal(sys.stderr)
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, fraction: float) -> None:
        if not self._wanted or time.monotonic() - self._started < PATIENCE:
            return
        if self._bar is None:
            self._start()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=fraction)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        console = Console(stderr=True, no_color=not coloured(sys.stderr))
        self._bar = Progress(
            TextColumn("scanning, Ctrl-C cancels"), BarColumn(), TaskProgressColumn(),
            console=console, transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("scan", total=1.0)
        self._bar.start()

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
