"""The algorithms by name: noisy values in, decisions out. This is the only list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probe_sql.errors import AccuracyError

if TYPE_CHECKING:
    from probe_sql.accuracy import Accuracy
    from probe_sql.algorithms.protocol import Algorithm

NAMES = ("naive", "apex", "probe", "probe-naive", "probe-ent", "ladder")
# Beyond the paper: these decide on one number, and can bound fdr and prove it strictly.
BEYOND = ("ladder",)
# Answers what has no condition, whatever the option `algorithm` names for conditions.
VALUES = "values"


def chosen(name: str, accuracy: Accuracy) -> Algorithm:
    """The algorithm called `name`, in the form that these options ask for."""
    if name in BEYOND and accuracy.spend == "all":
        from probe_sql.algorithms.whole import Whole

        return Whole()
    return get(name)


def get(name: str) -> Algorithm:
    """The algorithm called `name`, as in the accuracy option `algorithm`.

    Each is imported when it is asked for: the names alone must not load numpy.
    """
    match name:
        case "naive":
            from probe_sql.algorithms.naive import Naive

            return Naive()
        case "apex":
            from probe_sql.algorithms.naive import Apex

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
        case "values":
            from probe_sql.algorithms.values import Values

            return Values()
    raise AccuracyError(
        f"there is no algorithm named {name!r}", fix=f"use one of {', '.join(NAMES)}"
    )
