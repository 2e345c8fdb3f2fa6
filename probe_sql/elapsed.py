"""How long a question has taken, which a notebook shows by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0  # seconds before a sign that a scan still runs


class ElapsedTime:
    """A callback for `sql` that shows how long a scan has taken, from two seconds on.

    Privacy: it shows the time that has gone by, which any clock tells, and not how far the scan
    has come: that share tells how many rows there are.
    """

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = -1

    def __call__(self, seconds: float) -> None:
        if seconds < PATIENCE or int(seconds) == self._shown:
            return
        from IPython import display as shown

        self._shown = int(seconds)
        text = {"text/plain": f"scanning for {self._shown} s; interrupt the kernel to cancel"}
        if self._handle is None:
            self._handle = shown.display(text, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(text, raw=True)

    def done(self) -> None:
        """Take the line away."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
            self._handle = None


@contextmanager
def elapsed(progress: Callable[[float], None] | None) -> Iterator[Callable[[float], None] | None]:
    """Give the caller's own progress; where there is none, in a notebook, one that shows the time.

    The line is taken away when the question has ended, however it ended.
    """
    if progress is not None or not _in_notebook():
        yield progress
        return
    shown = ElapsedTime()
    try:
        yield shown
    finally:
        shown.done()


def _in_notebook() -> bool:
    """Whether an IPython with a kernel runs here; one in a terminal has none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
