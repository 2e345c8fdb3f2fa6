"""Questions about no rows: WHERE contradicts itself, or the keys that are public."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction

from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys
from probe_sql.sql.bound import BoundQuery
from probe_sql.sql.constraints import Allowed, Key, contradict, one_of


def no_rows(query: BoundQuery) -> bool:
    """Whether no row passes WHERE, as its text and the keys of the policy tell.

    Privacy: the data are not asked, so what follows from it is free.
    """
    known = {}
    for key in query.keys if query.joint is None else ():
        allowed = _allowed(key.keys) if key.identity else None
        if allowed is not None:
            known[key.column] = allowed
    return contradict(query.relation.where, known)


def _allowed(keys: KeySet) -> Allowed | None:
    """The values of a key domain that the policy lists; None where it does not."""
    if isinstance(keys, ListKeys):
        values = [_value(value) for value in keys.values]
        return one_of(*(value for value in values if value is not None))
    if isinstance(keys, IntegerKeys):
        return Allowed(low=Fraction(keys.first), high=Fraction(keys.last))
    if isinstance(keys, DateKeys):
        return Allowed(low=keys.first, high=keys.last)
    return None


def _value(value: object) -> Key | None:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return Fraction(value)
    return value if isinstance(value, str | bool | date) else None
