"""The server's log: who came, from where, and how statements ended."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from probe_sql.errors import OperationalError
from probe_sql.text import visible

_LONGEST = 100  # characters of a fact: a stranger's name is no way to fill the disk
_MOST = 600  # lines of one kind in a minute: nor is what clients do over and over
_FEW = {"surprise": 1}  # what tells nothing new the second time
_MINUTE = 60.0  # seconds


class Log:
    """The server's log: an append-only file of mode 0600, one JSON object for each event.

    Privacy: it holds who came, from where, and how statements ended; no text of a query, no value,
    and nothing of how long a scan took or how much it read.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._file = os.open(path, flags, 0o600)
        except OSError as error:
            raise OperationalError(
                f"the log {path} cannot be written: {error.strerror}",
                fix="remove what is there, if it is a link or a directory: the server makes it",
            ) from None
        if hasattr(os, "geteuid") and os.fstat(self._file).st_uid != os.geteuid():
            os.close(self._file)
            raise OperationalError(
                f"the log {path} belongs to another account",
                why="whoever owns it can read who logs in, and from where",
                fix="remove it",
            )
        os.fchmod(self._file, 0o600)
        self._clock = clock
        self._minutes: dict[tuple[str, str], tuple[float, int]] = {}

    def write(self, event: str, **facts: str | int | None) -> None:
        """Add one event; of those of one kind beyond some in a minute only how many they were."""
        which, now = (event, str(facts.get("kind", ""))), self._clock()
        began, count = self._minutes.get(which, (now, 0))
        if now - began >= _MINUTE:
            self._tell_left_out(which)
            began, count = now, 0
        self._minutes[which] = began, count + 1
        if count < _FEW.get(event, _MOST):
            self._add(event, **facts)

    def _tell_left_out(self, which: tuple[str, str]) -> None:
        (event, kind), (_, count) = which, self._minutes[which]
        more = count - _FEW.get(event, _MOST)
        if more > 0:
            self._add("left out", of=event, kind=kind, times=more)

    def _add(self, event: str, **facts: str | int | None) -> None:
        """Write a line; a full disk stops nobody."""
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        shown = {
            name: visible(fact[:_LONGEST]) if isinstance(fact, str) else fact
            for name, fact in facts.items()
        }
        line = json.dumps({"time": moment, "event": event, **shown}, ensure_ascii=False)
        with contextlib.suppress(OSError):
            os.write(self._file, (line + "\n").encode("utf-8", "replace"))

    def close(self) -> None:
        """Tell what was left out, and close the file."""
        for which in self._minutes:
            self._tell_left_out(which)
        os.close(self._file)
