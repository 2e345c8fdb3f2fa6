"""A terminal for tests: a pseudo-terminal that answers as a real one and reads as text."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pexpect

ROOT = Path(__file__).parent.parent.parent
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")
_WHERE = "\x1b[6n"  # "where is the cursor?"
LIMIT = 60.0  # far beyond what anything here needs, so that a slow machine fails nothing


class Terminal:
    """`probe-sql` with these arguments in a terminal of its own."""

    def __init__(
        self,
        *arguments: str,
        rows: int = 40,
        columns: int = 100,
        env: Mapping[str, str] | None = None,
    ) -> None:
        plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.child: Any = pexpect.spawn(
            sys.executable,
            ["-m", "probe_sql", *arguments],
            encoding="utf-8",
            dimensions=(rows, columns),
            timeout=LIMIT,
            env={**plain, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **(env or {})},
        )
        self.raw = ""
        self._seen = 0

    def until(self, pattern: str) -> str:
        """Wait until new text matches; return the text up to the match's end."""
        deadline = time.monotonic() + LIMIT
        while True:
            text = self.text[self._seen :]
            if (match := re.search(pattern, text)) is not None:
                self._seen += match.end()
                return text[: match.end()]
            if time.monotonic() > deadline or not self._more():
                raise AssertionError(f"{pattern!r} did not appear; the screen had:\n{text}")

    def ask(self, line: str, pattern: str) -> str:
        """Type a line, press Enter, wait for a pattern."""
        self.send(line + "\r")
        return self.until(pattern)

    def send(self, keys: str) -> None:
        self.child.send(keys)

    def end(self) -> int:
        """Wait until the program has ended; its exit code."""
        while self._more():
            continue
        self.child.close()
        return int(self.child.exitstatus)

    @property
    def text(self) -> str:
        """Everything written so far, without colours and cursor movements."""
        return _ESCAPE.sub("", self.raw)

    def _more(self) -> bool:
        try:
            chunk = self.child.read_nonblocking(4096, LIMIT)
        except pexpect.EOF:
            return False
        self.raw += chunk
        for _ in range(chunk.count(_WHERE)):
            self.child.send("\x1b[1;1R")
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.child.close(force=True)
