"""`probe-sql`: read the arguments, run the command, turn every ending into an exit code."""

from __future__ import annotations

import errno
import io
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial

from probe_sql import __version__
from probe_sql.cli.arguments import (
    ANSWERED,
    BROKEN,
    COMMANDS,
    ERROR,
    INTERRUPTED,
    PROGRAM,
    USAGE,
    exit_code,
    parser_for,
)
from probe_sql.cli.terminal import (
    Unread,
    drop,
    open_missing,
    show_error,
    show_surprise,
    unwritable,
)
from probe_sql.errors import ProbeError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_LOST = "what was printed is incomplete"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `probe-sql` and return its exit code; never raises for a user's mistake."""
    open_missing()
    for stream in (sys.stdout, sys.stderr):
        # An answer that was paid for must not be lost to a terminal's encoding.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _command(words))


def _command(words: list[str]) -> int:
    command = words[0] if words and words[0] in COMMANDS else None
    parser = parser_for(command)
    if words == ["--version"]:
        print(f"{PROGRAM} {__version__}")
        return ANSWERED
    if not words:
        parser.print_help(sys.stderr)
        return USAGE
    try:
        arguments = parser.parse_intermixed_args(words[1:] if command else words)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else USAGE
    if command is None and arguments.db in COMMANDS:
        name = arguments.db
        print(
            f"{PROGRAM}: error: the command {name} comes first: {PROGRAM} {name} ...",
            file=sys.stderr,
        )
        return USAGE
    return _run(command, arguments)


def _run(command: str | None, arguments: Namespace) -> int:
    if command is None:
        from probe_sql.cli.shell import run_shell

        return run_shell(arguments)
    from probe_sql.cli.commands import RUN

    return RUN[command](arguments)


def guarded(work: Callable[[], int]) -> int:
    """Run `work`; errors go to stderr without a traceback, which could hold private values."""
    try:
        code = work()
        sys.stdout.flush()
    except ProbeError as error:
        _tell(partial(show_error, error))
        return exit_code(error)
    except KeyboardInterrupt:
        _tell(partial(print, "interrupted", file=sys.stderr))
        return INTERRUPTED
    except BrokenPipeError as error:
        # The reader has what it wanted (`| head`): say nothing, and let Python's flush succeed.
        _tell(sys.stderr.flush)
        return BROKEN if isinstance(error, Unread) else ANSWERED
    except OSError as error:
        drop(sys.stdout)
        known = unwritable(error, _LOST) if error.errno in _FULL else None
        _tell(partial(show_surprise, error) if known is None else partial(show_error, known))
        return ERROR
    except Exception as error:
        _tell(partial(show_surprise, error))
        return ERROR
    return code


def _tell(say: Callable[[], None]) -> None:
    """Say something on stderr, after what was printed before it; in silence if nobody listens."""
    for stream, work in ((sys.stdout, sys.stdout.flush), (sys.stderr, say)):
        try:
            work()
        except OSError:
            drop(stream)
