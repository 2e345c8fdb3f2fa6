"""Overwrite exact values and noise after use, and keep them out of tracebacks.

An exception can come between any two steps (Ctrl-C, a soft time-out), and Python keeps the
variables of every function that it leaves. So arrays that hold a secret are scratch, which
is overwritten on every way out, and an error that crosses the vault's border takes no variable
along. Overwriting reaches numpy's arrays; random words, which Python hands out as immutable
bytes, and what a library frees itself, are forgotten only.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A", bound=NDArray[Any])


class Scratch:
    """Arrays that hold zeros after the `with` block, however it ends."""

    __slots__ = ("_arrays",)

    def __init__(self) -> None:
        self._arrays: list[NDArray[Any]] = []

    def keep(self, array: A) -> A:
        """Take charge of an array of one's own; returns it."""
        self._arrays.append(array)
        return array

    def integers(self, n: int) -> NDArray[np.int64]:
        """A new array of `n` integers, in charge before a secret is written into it."""
        return self.keep(np.zeros(n, dtype=np.int64))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for array in self._arrays:
            array.fill(0)
        self._arrays.clear()


def sealed(work: Callable[P, R]) -> Callable[P, R]:
    """Have errors leave a function as they are, without the variables of its frames.

    Privacy: a frame of a traceback holds what its function held when it was left, exact values and
    noise among it. Line numbers stay for whoever mends the engine. A second exception while
    the first is emptied is emptied in turn.
    """

    @wraps(work)
    def border(*args: P.args, **kwargs: P.kwargs) -> R:
        outside = sys.exception()  # what the caller is handling: its frames are not ours
        try:
            return work(*args, **kwargs)
        except BaseException as error:
            try:
                _empty(error, outside)
            except BaseException as second:
                _empty(second, outside)
                raise
            raise

    return border


def _empty(error: BaseException, outside: BaseException | None) -> None:
    """Clear the frames of an error and of all that led to it."""
    chain: list[BaseException | None] = [error]
    seen: set[int] = set()
    while chain:
        each = chain.pop()
        if each is None or each is outside or id(each) in seen:
            continue
        seen.add(id(each))
        traceback.clear_frames(each.__traceback__)
        chain += [each.__context__, each.__cause__]
        if isinstance(each, BaseExceptionGroup):
            chain += each.exceptions
