"""Standard streams that are closed, full, or that nobody reads any more.

An answer costs, so whether it can be written is looked at before its query is charged, and
one that was charged and cannot be written is shown where it still can be.
"""

from __future__ import annotations

import io
import os
import select
import sys
from typing import NoReturn, TextIO

from probe_sql.errors import OperationalError

_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL if hasattr(select, "poll") else 0


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
    """Raise if an answer could not be written: BrokenPipeError where nobody reads any more."""
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
            raise BrokenPipeError
    try:
        os.write(number, b"")  # some devices say here that they are full
    except OSError as error:
        raise unwritable(error, "nothing was drawn or charged") from None


def unwritable(error: OSError, why: str) -> OperationalError:
    """What to say where output has no place to go."""
    return OperationalError(
        f"the output cannot be written: {error.strerror}", why=why,
        fix="make room, or send it elsewhere",
    )  # fmt: skip


def drop(stream: TextIO) -> None:
    """Let what waits in a stream that cannot be written go nowhere, in silence."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return


def _closed() -> OperationalError:
    return OperationalError(
        "standard output is closed", why="the result would be lost; nothing was drawn or charged",
        fix="leave it open, or send it to a file",
    )  # fmt: skip
