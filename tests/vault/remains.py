"""Look through what is left of a query for integers that should not be there."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    ModuleType,
    TracebackType,
)
from typing import Any

import numpy as np

import probe_sql

PACKAGE = str(Path(probe_sql.__file__).parent)
VAULT = str(Path(PACKAGE, "vault"))
_LEAVES = (str, bytes, float, type, ModuleType, CodeType, BuiltinFunctionType, np.timedelta64)


def secrets_within(roots: Iterable[Any], secrets: Iterable[int]) -> set[int]:
    """Those of `secrets` that an integer or an array reachable from the roots holds.

    A frame counts with its variables, a function with what it closes over; modules, types and
    the caller's own frames do not count.
    """
    wanted = np.array(sorted(secrets), dtype=np.int64)
    hidden = {id(wanted), id(secrets)}
    found: set[int] = set()
    todo: list[Any] = list(roots)
    seen = set(hidden)
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, _LEAVES):
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            if each.dtype.kind in "iu":
                found |= set(wanted[np.isin(wanted, each)].tolist())
            todo.append(each.base)
        elif isinstance(each, int | np.integer):
            found |= {int(each)} & set(wanted.tolist())
        elif isinstance(each, FrameType):
            if each.f_code.co_filename.startswith((PACKAGE, np.__path__[0])):
                todo += list(each.f_locals.values())
        elif isinstance(each, TracebackType):
            todo += [each.tb_frame, each.tb_next]
        elif isinstance(each, FunctionType):
            todo += [cell.cell_contents for cell in each.__closure__ or ()]
        else:
            todo += gc.get_referents(each)
            if isinstance(each, BaseException):
                todo += [each.__traceback__, each.__context__, each.__cause__, each.args]
    return found


class Bolt:
    """A trace function that raises at the n-th step of the engine below `folder`."""

    def __init__(
        self,
        at: int,
        folder: str,
        *,
        opcodes: bool = False,
        error: type[BaseException] = KeyboardInterrupt,
    ) -> None:
        self.at = at
        self.steps = 0
        self.struck = False
        self._folder = folder
        self._opcodes = opcodes
        self._error = error

    def __call__(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(self._folder):
            return None
        frame.f_trace_opcodes = self._opcodes
        if event == ("opcode" if self._opcodes else "line"):
            self.steps += 1
            if self.steps == self.at:
                self.struck = True
                raise self._error
        return self

    def during(self, work: Callable[[], Any]) -> BaseException | None:
        """Run `work` under the bolt; what it raised, or None."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            work()
        except BaseException as error:
            sys.settrace(before)
            return error
        finally:
            sys.settrace(before)
        return None
