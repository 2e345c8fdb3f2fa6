"""What a stream can show, if anything: colours only on a terminal, signs it has, readable errors.

An answer costs, so whether it can be written is looked at before its query is charged, and one that
was charged and cannot be written is shown where it still can be: a standard stream may be closed,
full, or one that nobody reads any more.
"""

from __future__ import annotations

import io
import os
import select
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self, TextIO

from probe_sql.errors import OperationalError, ProbeError
from probe_sql.text import visible

if TYPE_CHECKING:
    from rich.progress import Progress

_CODES = {"red": "31;1", "dim": "2", "bold": "1", "green": "32", "cyan": "36", "yellow": "33"}
_INDENT = "  "
PATIENCE = 2.0  # seconds before a sign that a scan still runs
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL if hasattr(select, "poll") else 0


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at this stream."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def coloured(stream: TextIO) -> bool:
    """Whether colours are welcome: on a terminal that has them, unless NO_COLOR says no."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(stream) and not plain


def paint(text: str, style: str, stream: TextIO) -> str:
    """`text` in a style where colours are welcome."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if coloured(stream) else text


def width(stream: TextIO) -> int:
    """Columns of the terminal behind the stream; 80 where there is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        import shutil  # slow to load, and seldom needed

        return shutil.get_terminal_size().columns


def wrap(text: str, stream: TextIO, indent: str = "", taken: int = 0) -> str:
    """`text` broken between words at the terminal's edge; as it is where there is none.

    `taken` is what stands before it in its first line.
    """
    if not is_terminal(stream):
        return text
    import textwrap

    lines = textwrap.wrap(
        text, max(40, width(stream)), initial_indent=" " * taken, subsequent_indent=indent
    )
    return "\n".join(lines or [""])[taken:]


def show_error(error: ProbeError, stream: TextIO | None = None, prefix: str = "") -> None:
    """Print an error for people: what, the span underlined, why, and the fix."""
    out = stream or sys.stderr
    text = error.message(max(40, width(out))) if is_terminal(out) else str(error)
    lines = text.split("\n")
    label = paint("error:", "red", out)
    print(f"{label} {wrap(visible(prefix) + lines[0], out, _INDENT, len('error: '))}", file=out)
    for line in lines[1:]:
        told = line.startswith(("why:", "fix:"))
        print(_styled(wrap(line, out, _INDENT) if told else line, out), file=out)
    for name, answer in error.released.items():
        print(f"\n{visible(name)} was answered:\n{answer}", file=out)


def show_note(text: str, stream: TextIO | None = None) -> None:
    """Print a remark beside the results, on the error stream."""
    out = stream or sys.stderr
    for line in text.split("\n"):
        print(paint(wrap(visible(line), out), "dim", out), file=out)


def show_surprise(error: BaseException, stream: TextIO | None = None) -> None:
    """Print that something unforeseen happened, without its text.

    Privacy: an exception that is not ours, and any traceback, may hold a private value.
    """
    out = stream or sys.stderr
    label = paint("error:", "red", out)
    print(f"{label} something unforeseen happened ({type(error).__name__})", file=out)
    print("why: its details are not shown, because they could hold private values", file=out)
    print("fix: report it, with the query and the version that --version prints", file=out)


def _styled(line: str, out: TextIO) -> str:
    for label in ("why:", "fix:"):
        at = line.find(label)
        if at >= 0 and not line[:at].strip():
            return line[:at] + paint(label, "cyan", out) + line[at + len(label) :]
    gutter, bar, rest = line.partition(" | ")
    if bar and not gutter.strip() and set(rest.strip()) == {"^"}:
        return f"{gutter}{bar}{paint(rest, 'red', out)}"
    return line


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
            TextColumn("scanning, Ctrl-C cancels"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._bar.add_task("scan", total=None)
        self._bar.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class Unread(BrokenPipeError):
    """Nobody reads any more, and the query was not asked."""


class Closed(io.TextIOBase):
    """Standard output of a process that was started without one: writing is an error."""

    encoding = "utf-8"

    def write(self, _: str) -> NoReturn:
        """Refuse the text."""
        raise _closed()


def open_missing() -> None:
    """Put something in the place of each standard stream that was closed.

    The numbers 0 to 2 are taken too: the next file to be opened would get them, a database or
    a ledger say, and whatever a library prints would be written into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
            setattr(sys, name, Closed() if name == "stdout" else os.fdopen(number, mode))


def ready(stream: TextIO) -> None:
    """Raise if an answer could not be written: `Unread` where nobody reads any more."""
    if isinstance(stream, Closed):
        raise _closed()
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return  # in memory, or closed by its owner: nothing of the system's
    if _GONE:
        poll = select.poll()
        poll.register(number, 0)
        if any(event & _GONE for _, event in poll.poll(0)):
            raise Unread
    try:
        os.write(number, b"")  # some devices say here that they are full
    except OSError as error:
        raise unwritable(error, "nothing was drawn or charged") from None


def unwritable(error: OSError, why: str) -> OperationalError:
    """What to say where output has no place to go."""
    return OperationalError(
        f"the output cannot be written: {error.strerror}",
        why=why,
        fix="make room, or send it elsewhere",
    )


def drop(stream: TextIO) -> None:
    """Discard what a stream still holds that cannot be written, without an error."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return


def _closed() -> OperationalError:
    return OperationalError(
        "standard output is closed",
        why="the result would be lost; nothing was drawn or charged",
        fix="leave it open, or send it to a file",
    )


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One sign for each thing that is drawn."""

    epsilon: str = "ε"
    sure: str = "●"
    doubt: str = "○"
    bar: str = "━"
    margin: str = "┄"
    line: str = "│"
    full: str = "█"
    rest: str = "░"
    cut: str = "…"
    here: str = "→"

    @property
    def drawn(self) -> dict[int, str]:
        """What stands for the signs of a tree and a curve, by these."""
        tree = {"├": self.line, "└": "`", "─": self.margin} if self.line == "|" else {}
        return str.maketrans({**tree, "│": self.line, "█": self.full, "→": self.here})


UNICODE = Glyphs()
ASCII = Glyphs("eps", "*", "o", "=", "-", "|", "#", ".", "~", ">")


def glyphs(stream: TextIO) -> Glyphs:
    """The signs that a stream can write."""
    try:
        "".join((UNICODE.epsilon, UNICODE.sure, UNICODE.margin, UNICODE.here)).encode(
            getattr(stream, "encoding", None) or "utf-8"
        )
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def meter(share: float, size: int, signs: Glyphs) -> str:
    """A bar of `size` signs that is full to a share; whatever is not nothing shows."""
    full = min(size, max(1 if share > 0 else 0, round(size * share)))
    return signs.full * full + signs.rest * (size - full)
