"""What a stream can show: colours only on a terminal, errors readable, nothing disguised."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from probe_sql.errors import ProbeError
from probe_sql.text import visible

_CODES = {"red": "31;1", "dim": "2", "bold": "1", "green": "32", "cyan": "36"}


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


def folded(text: str, stream: TextIO, indent: str = "") -> str:
    """`text` broken between words at the terminal's edge; as it is where there is none."""
    if not is_terminal(stream):
        return text
    import textwrap

    return "\n".join(textwrap.wrap(text, max(40, width(stream)), subsequent_indent=indent) or [""])


def show_error(error: ProbeError, stream: TextIO | None = None, prefix: str = "") -> None:
    """Print an error for people: what, the place underlined, why, and the fix."""
    out = stream or sys.stderr
    lines = str(error).split("\n")
    label = paint("error:", "red", out)
    print(f"{label} {visible(prefix)}{lines[0]}", file=out)
    for line in lines[1:]:
        print(_styled(line, out), file=out)


def show_note(text: str, stream: TextIO | None = None) -> None:
    """Print a remark beside the results, on the error stream."""
    out = stream or sys.stderr
    for line in text.split("\n"):
        print(paint(folded(visible(line), out), "dim", out), file=out)


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
