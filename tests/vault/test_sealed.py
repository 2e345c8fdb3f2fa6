"""An error that crosses the vault's border takes no variable along, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from probe_sql.vault.memory import sealed

SECRET = 7_654_321_123


def inner(number: int) -> None:
    held = SECRET + number
    raise KeyError(held - held)


def plain() -> None:
    inner(0)


def caused() -> None:
    try:
        inner(0)
    except KeyError as error:
        raise RuntimeError from error


def in_between() -> None:
    try:
        inner(0)
    finally:
        raise ValueError


def grouped() -> None:
    errors = []
    for number in range(2):
        try:
            inner(number)
        except KeyError as error:
            errors.append(error)
    raise ExceptionGroup("several", errors)


def variables(error: BaseException) -> Iterator[object]:
    """What the frames of an error hold, and those of all that led to it."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == __file__:
            yield from trace.tb_frame.f_locals.values()
        trace = trace.tb_next
    led = [error.__cause__, error.__context__]
    led += error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for other in led:
        if other is not None:
            yield from variables(other)


def raised(work: Callable[[], None]) -> BaseException:
    try:
        work()
    except Exception as error:
        return error
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize("work", [plain, caused, in_between, grouped])
def test_no_frame_of_an_error_holds_a_secret(work: Callable[[], None]) -> None:
    found = []
    for called in (work, sealed(work)):
        held = list(variables(raised(called)))
        found.append(SECRET in held or SECRET + 1 in held)
    assert found == [True, False]
