"""The algorithms by name: noisy values in, decisions out. This is the only list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probe_sql.errors import AccuracyError

if TYPE_CHECKING:
    from probe_sql.algorithms.protocol import Algorithm

NAMES = ("naive", "apex", "probe", "probe-naive", "probe-ent", "ladder")
# Beyond the paper: these decide on one number, and can bound fdr and prove it strictly.
BEYOND = ("ladder",)


def get(name: str) -> Algorithm:
    """The algorithm called `name`, as in the accuracy option `algorithm`.

    Each is imported when it is asked for: the names alone must not load numpy.
    """
    match name:
        case "naive":
            from probe_sql.algorithms.naive import Naive

            return Naive()
        case "apex":
            from probe_sql.algorithms.apex import Apex

            return Apex()
        case "probe" | "probe-naive":
            from probe_sql.algorithms.probe import Probe

            return Probe(even=name == "probe-naive")
        case "probe-ent":
            from probe_sql.algorithms.probe_ent import ProbeEnt

            return ProbeEnt()
        case "ladder":
            from probe_sql.algorithms.ladder import Ladder

            return Ladder()
    raise AccuracyError(
        f"there is no algorithm named {name!r}", fix=f"use one of {', '.join(NAMES)}"
    )
