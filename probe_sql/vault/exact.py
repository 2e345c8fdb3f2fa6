"""`Exact`: the exact sums of one scan, sealed for everyone but the vault."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, NoReturn, Self, final

import numpy as np

from probe_sql.errors import InternalError
from probe_sql.measuring import Ints

# Of the rows of all groups that have a value: the group, the value and how many have it.
Ranking = tuple[Ints, Ints, Ints]


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("exact values cannot leave the vault")


@final
class Exact:
    """Exact integer measures of every group, readable by `unsealed` alone.

    Privacy: printing, formatting, copying, pickling, comparing, hashing, iterating, indexing,
    measuring and converting it are refused, so no exact value leaves by accident. Python
    has no walls: code in the same process that means to look inside can. See
    docs/proofs/receipt.md.
    """

    __slots__ = ("__columns", "__groups", "__people", "__rankings")

    def __init__(
        self,
        columns: Sequence[Ints],
        groups: int,
        people: bool = False,
        rankings: Sequence[Ranking] = (),
    ) -> None:
        if any(column.shape != (groups,) or column.dtype != np.int64 for column in columns):
            raise InternalError("a scan returned a measure of the wrong shape")
        own = tuple(np.array(column, dtype=np.int64, copy=True) for column in columns)
        object.__setattr__(self, "_Exact__columns", own)
        ranked = tuple(tuple(np.array(part, copy=True) for part in each) for each in rankings)
        object.__setattr__(self, "_Exact__rankings", ranked)
        object.__setattr__(self, "_Exact__groups", groups)
        object.__setattr__(self, "_Exact__people", people)

    @property
    def groups(self) -> int:
        """Size of the key domain, which is public."""
        return int(object.__getattribute__(self, "_Exact__groups"))

    @property
    def people(self) -> bool:
        """Whether the table protects people, whose rows were bounded; the policy says so."""
        return bool(object.__getattribute__(self, "_Exact__people"))

    def close(self) -> None:
        """Overwrite the values with zeros and drop them; nothing can be drawn afterwards."""
        columns = object.__getattribute__(self, "_Exact__columns")
        object.__setattr__(self, "_Exact__columns", None)
        rankings = object.__getattribute__(self, "_Exact__rankings")
        object.__setattr__(self, "_Exact__rankings", None)
        for column in (*(columns or ()), *(part for each in rankings or () for part in each)):
            column.fill(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<Exact: redacted>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __dir__(self) -> list[str]:
        return ["close", "groups", "people"]

    __setattr__ = __delattr__ = _refuse
    __iter__ = __next__ = __reversed__ = __contains__ = __len__ = __length_hint__ = _refuse
    __getitem__ = __setitem__ = __delitem__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __bool__ = __int__ = __float__ = __complex__ = __index__ = __bytes__ = __round__ = _refuse
    __array__ = __array_ufunc__ = __array_function__ = __buffer__ = _refuse
    __copy__ = __deepcopy__ = __reduce__ = __getstate__ = _refuse

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        _refuse(protocol)


def unsealed(exact: Exact) -> tuple[Ints, ...]:
    """The values inside, for the vault's meter; a test keeps every other module away."""
    columns = object.__getattribute__(exact, "_Exact__columns")
    if columns is None:
        raise InternalError("the exact values were closed: nothing can be drawn from them")
    values: tuple[Ints, ...] = columns
    return values


def unsealed_ranking(exact: Exact, number: int) -> Ranking:
    """One ranking inside, for the vault's meter alone."""
    rankings: tuple[Ranking, ...] | None = object.__getattribute__(exact, "_Exact__rankings")
    if rankings is None:
        raise InternalError("the exact values were closed: nothing can be drawn from them")
    return rankings[number]


def wipe(columns: Sequence[Ints]) -> None:
    """Overwrite exact values that are needed no more with zeros."""
    for column in columns:
        if column.flags.writeable:
            column.fill(0)
