"""The algorithms by name: noisy values in, decisions out."""

from __future__ import annotations

from collections.abc import Callable

from probe_sql.algorithms.apex import Apex
from probe_sql.algorithms.ladder import Ladder
from probe_sql.algorithms.naive import Naive
from probe_sql.algorithms.probe import Probe
from probe_sql.algorithms.probe_ent import ProbeEnt
from probe_sql.algorithms.protocol import Algorithm
from probe_sql.errors import AccuracyError

_REGISTRY: dict[str, Callable[[], Algorithm]] = {
    "naive": Naive,
    "apex": Apex,
    "probe": Probe,
    "probe-naive": lambda: Probe(even=True),
    "probe-ent": ProbeEnt,
    "ladder": Ladder,
}


def get(name: str) -> Algorithm:
    """The algorithm called `name`, as in the accuracy option `algorithm`."""
    if name not in _REGISTRY:
        raise AccuracyError(
            f"there is no algorithm named {name!r}",
            fix=f"use one of {', '.join(_REGISTRY)}",
        )
    return _REGISTRY[name]()
