"""The server's log: who came, from where, and how statements ended."""

from __future__ import annotations

import contextlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from probe_sql.errors import OperationalError
from probe_sql.text import visible

_LONGEST = 100  # characters of a fact: a stranger's name is no way to fill the disk


class Log:
    """The server's log: an append-only file of mode 0600, one JSON object for each event.

    Privacy: it holds who came, from where, and how statements ended; no text of a query, no value,
    and nothing of how long a scan took or how much it read.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._file = os.open(path, flags, 0o600)
        except OSError as error:
            raise OperationalError(
                f"the log {path} cannot be written: {error.strerror}",
                fix="name another file, or remove what is there if it is a link",
            ) from None
        if hasattr(os, "geteuid") and os.fstat(self._file).st_uid != os.geteuid():
            os.close(self._file)
            raise OperationalError(
                f"the log {path} belongs to another account",
                why="whoever owns it can read who logs in, and from where",
                fix="remove it, or name another file",
            )
        os.fchmod(self._file, 0o600)

    def write(self, event: str, **facts: str | int | None) -> None:
        """Add one event; a full disk stops nobody."""
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        shown = {
            name: visible(fact[:_LONGEST]) if isinstance(fact, str) else fact
            for name, fact in facts.items()
        }
        line = json.dumps({"time": moment, "event": event, **shown}, ensure_ascii=False)
        with contextlib.suppress(OSError):
            os.write(self._file, (line + "\n").encode("utf-8", "replace"))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
