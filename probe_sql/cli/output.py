"""Where the shell's results go: to the screen, by screenfuls where long, or into a file."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from probe_sql.cli.show import deliver, show_answer
from probe_sql.cli.terminal import show_note, unwritable, width
from probe_sql.errors import InterfaceError, OperationalError

if TYPE_CHECKING:
    from probe_sql.answer import Answer

ENDINGS = {".csv": "csv", ".json": "json", ".md": "markdown"}  # of files, and their formats
_PARQUET = ".parquet"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LESS = "FRX"  # less: end where all fits, show colours, leave the text on the screen


class Screen(io.StringIO):
    """Text for the screen that is held back until its statement has ended."""

    encoding = property(lambda _: sys.stdout.encoding)

    def isatty(self) -> bool:
        """Say that a person reads this."""
        return True

    def fileno(self) -> int:
        """The descriptor of the screen, whose width counts."""
        return sys.stdout.fileno()


class Output:
    """The place of the next results, and the pager for those that are longer than the screen."""

    def __init__(self) -> None:
        self.pager: str | None = None  # a command; None to print at once
        self._file: TextIO | None = None
        self._form: str | None = None  # what the file's ending says
        self._parquet: str | None = None
        self._once = False
        self._screen: Screen | None = None

    @property
    def stream(self) -> TextIO:
        """Where results go: a file, or the screen."""
        return self._file or self._screen or sys.stdout

    def form(self, mode: str) -> str:
        """The format of results: the one that the file's ending names, else `mode`."""
        return self._form or mode

    def redirect(self, path: str | None, once: bool = False) -> None:
        """Send results to a file, or back to the screen with None."""
        if self._file is not None:
            self._file.close()
        self._file = self._form = self._parquet = None
        self._once = once
        if path is None:
            return
        ending = Path(path).suffix.lower()
        if ending == _PARQUET:
            _check_parquet(path, once)
            self._parquet = path
            return
        try:
            self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise InterfaceError(
                f"{path} cannot be written: {error.strerror}", fix="name another file"
            ) from None
        self._form = ENDINGS.get(ending)

    def deliver(self, answer: Answer, mode: str) -> None:
        """Show an answer that was charged, or write it; whatever happens, it is shown somewhere."""
        path = self._parquet
        if path is not None and answer.status == "answered":
            self.end_once()
            _write_parquet(answer, path, mode)
        else:
            deliver(answer, self.form(mode), self.stream)
            self.end_once()

    def end_once(self) -> None:
        """Go back to the screen after the one result that was for a file."""
        if self._once:
            self.redirect(None)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Hold what a statement prints for the screen, then show it, by screenfuls where long."""
        if self.pager is None or self._file is not None:
            yield
            return
        self._screen = Screen()
        try:
            yield
        finally:
            text, self._screen = self._screen.getvalue(), None
            _show(text, self.pager)


def usual_pager() -> str | None:
    """The pager that the environment names, else `less` where it is."""
    named = os.environ.get("PAGER", "less").strip()
    words = shlex.split(named) if named else []
    return named if words and shutil.which(words[0]) and words[0] != "cat" else None


def _check_parquet(path: str, once: bool) -> None:
    """Refuse now what could not be written after the answer was paid for."""
    if not once:
        raise InterfaceError(
            "a Parquet file holds one answer", fix=f".once {shlex.quote(path)}, then the query"
        )
    if find_spec("pyarrow") is None:
        raise InterfaceError("pyarrow is not installed", fix="pip install pyarrow, or .once x.csv")
    folder = Path(path).parent
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise InterfaceError(f"{path} cannot be written", fix="name another file")


def _write_parquet(answer: Answer, path: str, mode: str) -> None:
    """Write a Parquet file; where that fails, for whatever reason, show the answer."""
    why = "the answer was charged, and stands above"
    try:
        answer.write_parquet(path)
    except OSError as error:
        show_answer(answer, mode, sys.stderr)
        raise unwritable(error, why) from None
    except Exception as error:
        show_answer(answer, mode, sys.stderr)
        raise OperationalError(
            f"the answer cannot become a Parquet file ({type(error).__name__})",
            why=why,
            fix=".once answer.csv, then .last: it is free",
        ) from None
    show_note(f"{len(answer)} rows were written to {path}")


def _show(text: str, pager: str) -> None:
    """Print a text; start the pager where it is longer than the screen."""
    columns, lines = width(sys.stdout), shutil.get_terminal_size().lines
    taken = sum(max(1, -(-len(_COLOUR.sub("", line)) // columns)) for line in text.splitlines())
    if taken < lines or threading.current_thread() is not threading.main_thread():
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    environment = {"LESS": _LESS, **os.environ}
    try:
        running = subprocess.Popen(
            shlex.split(pager), stdin=subprocess.PIPE, env=environment, text=True, encoding="utf-8"
        )
    except (OSError, ValueError):
        sys.stdout.write(text)
        show_note(f"the pager {pager} cannot be started; .pager off prints without one")
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
    try:
        running.communicate(text)
    finally:
        signal.signal(signal.SIGINT, before)
