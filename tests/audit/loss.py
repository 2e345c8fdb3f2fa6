"""How much privacy was observably lost: a lower confidence bound from runs on two databases.

An ex-post private mechanism obeys P(E) <= exp(e) P'(E) for every event E, with e the largest
epsilon it charges within E. The bound below is what the runs prove about log(P(E) / P'(E)) at
the given confidence, over all events together; a mechanism is caught when that passes e.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from scipy.special import betaincinv


@dataclass(frozen=True, slots=True)
class Run:
    """What an analyst sees of one run: events that held, and the epsilon charged."""

    epsilon: float
    events: frozenset[Hashable]


@dataclass(slots=True)
class Verdict:
    """The event that proves most, relative to what was charged for it.

    `tightness` is the largest share of its charge that is proven for an event: close to 1, the
    audit would notice if a little less were charged.
    """

    event: Hashable = None
    proven: float = -math.inf
    charged: float = 0.0
    tightness: float = 0.0
    events: int = 0
    runs: int = 0
    caught: bool = False


def lower(hits: int, runs: int, level: float) -> float:
    """Clopper-Pearson: the probability is at least this, except with probability `level`."""
    return 0.0 if hits == 0 else float(betaincinv(hits, runs - hits + 1, level))


def upper(hits: int, runs: int, level: float) -> float:
    """Clopper-Pearson: the probability is at most this, except with probability `level`."""
    return 1.0 if hits == runs else float(betaincinv(hits + 1, runs - hits, 1 - level))


def judge(one: Sequence[Run], two: Sequence[Run], level: float = 1e-3) -> Verdict:
    """Compare runs on neighbouring databases; `level` is the chance of a false alarm at all."""
    counts = [Counter(event for run in runs for event in run.events) for runs in (one, two)]
    charged: dict[Hashable, float] = {}
    for run in (*one, *two):
        for event in run.events:
            charged[event] = max(charged.get(event, 0.0), run.epsilon)
    verdict = Verdict(events=len(charged), runs=len(one))
    each = level / (4 * max(1, len(charged)))  # two directions, two ends
    for event, epsilon in charged.items():
        for a, b, n, m in (
            (counts[0], counts[1], len(one), len(two)),
            (counts[1], counts[0], len(two), len(one)),
        ):
            sure, at_most = lower(a[event], n, each), upper(b[event], m, each)
            proven = math.log(sure / at_most) if sure > 0 else -math.inf
            if epsilon > 0:
                verdict.tightness = max(verdict.tightness, proven / epsilon)
            if proven - epsilon > verdict.proven - verdict.charged:
                verdict.event, verdict.proven, verdict.charged = event, proven, epsilon
    verdict.caught = verdict.proven > verdict.charged
    return verdict


def observed(
    returned: Iterable[Hashable],
    status: str,
    values: Sequence[tuple[Hashable, float]],
    cuts: Sequence[float],
    epsilon: float,
    looked_at: Iterable[Hashable],
    seen: Hashable = None,
) -> Run:
    """The events of one run: each group, the whole set, values beyond each cut, status, epsilon.

    Epsilons are binned by their logarithm: the number of distinct ones may be large. The values
    of all groups together are binned at the cuts, and so is all that was seen of the run.
    """
    groups = frozenset(returned)
    events: set[Hashable] = {("returned", group) for group in groups}
    if status == "answered":
        events |= {("missing", group) for group in looked_at if group not in groups}
    events |= {("set", groups), ("status", status)}
    spent = round(4 * math.log2(epsilon)) if epsilon > 0 else None
    bins = tuple((group, bisect_right(cuts, value)) for group, value in values)
    events |= {("epsilon", spent), ("all", status, groups, spent, seen)}
    if len(bins) > 1:
        events.add(("values", bins))
    for group, value in values:
        events |= {("at least", group, cut) for cut in cuts if value >= cut}
        events |= {("below", group, cut) for cut in cuts if value < cut}
    return Run(epsilon, frozenset(events))
