"""The keys of groups by arithmetic, where their places in the domain are: no table is read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from probe_sql.measuring import Ints
from probe_sql.plan.tally import Scan
from probe_sql.scan.places import listed_keys, range_of, size_of, steps, worked_out


def worked_out_keys(scan: Scan, chosen: Ints) -> list[Sequence[Any]] | None:
    """Each key of the chosen groups as Python values; None where the database has to say them.

    What an answer shows besides are aggregates, and no key is one of a list, whose values
    the database may write in another way than the owner.
    """
    shown = all(output.kind != "expression" for output in scan.outputs)
    if not shown or not worked_out(scan) or listed_keys(scan):
        return None
    found: list[Sequence[Any]] = []
    for key, step in zip(scan.keys, steps(scan), strict=True):
        range_ = range_of(key)
        assert range_ is not None
        away = chosen // step
        away %= size_of(key)
        away *= range_.step
        if isinstance(range_.first, date):
            found.append((np.datetime64(range_.first, "D") + away).tolist())
        else:
            away += range_.first
            found.append(away.tolist())
    return found
