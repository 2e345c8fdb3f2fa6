"""How much privacy was observably lost: a lower confidence bound from runs on two databases.

An ex-post private mechanism obeys P(E) <= exp(e) P'(E) for every event E, with e the largest
epsilon it charges within E. The bound below is what the runs prove about log(P(E) / P'(E)) at
the given confidence, over all events together; a mechanism is caught when that passes e.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from scipy.stats import beta


@dataclass(frozen=True, slots=True)
class Run:
    """What an analyst sees of one run: events that held, and the epsilon charged."""

    epsilon: float
    events: frozenset[Hashable]


@dataclass(slots=True)
class Verdict:
    """The event that proves most, relative to what was charged for it."""

    event: Hashable = None
    proven: float = -math.inf
    charged: float = 0.0
    events: int = 0
    runs: int = 0
    caught: bool = False
    details: list[tuple[float, float, Hashable]] = field(default_factory=list)


def lower(hits: int, runs: int, level: float) -> float:
    """Clopper-Pearson: the probability is at least this, except with probability `level`."""
    return 0.0 if hits == 0 else float(beta.ppf(level, hits, runs - hits + 1))


def upper(hits: int, runs: int, level: float) -> float:
    """Clopper-Pearson: the probability is at most this, except with probability `level`."""
    return 1.0 if hits == runs else float(beta.ppf(1 - level, hits + 1, runs - hits))


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
            if proven - epsilon > verdict.proven - verdict.charged:
                verdict.event, verdict.proven, verdict.charged = event, proven, epsilon
    verdict.caught = verdict.proven > verdict.charged
    return verdict


def observed(
    returned: Iterable[Hashable], status: str, values: Sequence[tuple[Hashable, float]],
    cuts: Sequence[float], epsilon: float,
) -> Run:  # fmt: skip
    """The events of one run: each group, the whole set, values beyond each cut, status, epsilon.

    Epsilons are binned by their logarithm: the number of distinct ones may be large.
    """
    groups = frozenset(returned)
    events: set[Hashable] = {("returned", group) for group in groups}
    events |= {("set", groups), ("status", status)}
    spent = round(4 * math.log2(epsilon)) if epsilon > 0 else None
    events |= {("epsilon", spent), ("all", status, groups, spent)}
    for group, value in values:
        events |= {("at least", group, cut) for cut in cuts if value >= cut}
        events |= {("below", group, cut) for cut in cuts if value < cut}
    return Run(epsilon, frozenset(events))
