"""The sentence under an answer: bounds and public counts in words that people act on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from probe_sql import algorithms
from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms import BEYOND, NAMES
from probe_sql.algorithms.sentences import Listed, odds, sentence
from probe_sql.logic.formula import Leaf
from probe_sql.measuring import Ints, Mask, Outcome
from tests.algorithms.meter import ReferenceMeter, atom, task

FDR = Accuracy(fnr=0.05, fpr=UNBOUNDED, fdr=0.1, algorithm="ladder")
FPR = Accuracy(fnr=0.05, fpr=0.1, fdr=None, algorithm="ladder")


def said(accuracy: Accuracy, groups: int, returned: int, **more: Any) -> str:
    promise = algorithms.get(accuracy.algorithm).guarantee(accuracy)
    return sentence(promise, Listed(groups, returned, **more))


def test_of_what_is_listed_so_much_is_wrong() -> None:
    text = said(FDR, 500, 16)
    assert text.startswith(
        "On average over the noise at most 1 in 10 listed groups is wrong: here about 2 of 16."
    )
    assert "kept so that true ones are not missed" in text
    assert "missed with probability at most 1 in 20" in text
    assert "every group marked certain is right" in text
    assert "here less than 1 of 7" in said(FDR, 500, 7)


def test_what_a_denied_run_counts_as_is_told_where_there_are_any() -> None:
    assert "Both count denied runs too: with what more epsilon would list" in said(FDR, 500, 16)
    assert "Both count denied runs too: as listing none, and as missing" in said(FPR, 50, 16)
    assert "Both count denied runs too: as listing none" in said(
        replace(FPR, algorithm="probe"), 50, 16
    )
    assert "That counts denied runs too, as missing none." in said(FDR, 50, 0)
    for accuracy in (
        replace(FDR, on_exhausted="mark"),
        replace(FPR, fpr_scope="group"),
        replace(FPR, algorithm="naive"),
    ):
        assert "denied" not in said(accuracy, 500, 16)


def test_strict_proof_counts_one_more() -> None:
    text = said(replace(FDR, proof="strict"), 500, 14)
    assert "these and one more taken together: here about 2 of 14" in text


def test_more_false_groups_than_true_ones_are_told_first() -> None:
    text = said(FPR, 70225, 5447)
    assert text.startswith("More of the listed groups may be wrong than right: fpr = 0.1 allows")
    assert "about 7,022 wrong ones of 70,225 groups, and 5,447 are listed" in text
    few = said(FPR, 50, 16)
    assert few.startswith("On average over the noise at most 1 in 10 of the groups that do not")
    assert "about 5 of 50 groups in all, and 16 are listed" in few
    assert not said(FDR, 70225, 240).startswith("More")


def test_an_estimate_is_called_one() -> None:
    text = said(replace(FPR, algorithm="probe"), 50, 16)
    assert text.startswith("Estimated from the noisy values, at most 1 in 10 of the groups")


def test_no_group_and_no_bound() -> None:
    assert said(FDR, 50, 0).startswith("No group is listed. A group that satisfies the condition")
    assert "wrong is not bounded" in said(replace(FPR, algorithm="naive"), 50, 16)


def test_a_limit_and_caps_are_named() -> None:
    text = said(FDR, 500, 240, limited=True, caps="person: id, at most 5 rows")
    assert "about all 240 groups returned before LIMIT" in text
    assert text.endswith("Only rows within the caps count (person: id, at most 5 rows).")


def test_mirrored_and_by_group() -> None:
    mirrored = said(replace(FPR, primary="fpr"), 50, 16)
    assert "kept" not in mirrored
    assert (
        mirrored.endswith("That counts denied runs too, as listing none.") or "certain" in mirrored
    )
    assert "1 in 10 of the groups that do not satisfy" in mirrored
    alone = said(replace(FPR, fpr_scope="group"), 5000, 16)
    assert alone.startswith("Each of the groups that do not satisfy the condition is marked")


def test_odds() -> None:
    shares = (0.1, 0.05, 0.15, 1 / 3)
    assert [odds(s) for s in shares] == ["1 in 10", "1 in 20", "15 in 100", "1 in 3"]


@dataclass
class Scribbled(ReferenceMeter):
    """Overwrites the exact values after so many draws."""

    last: int = 0

    def draw(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        return self._scribble(super().draw(measure, epsilon, groups))

    def reveal(self, measure: int, epsilon: float, groups: Mask) -> Ints:
        return self._scribble(super().reveal(measure, epsilon, groups))

    def _scribble(self, noisy: Ints) -> Ints:
        if len(self.drawn) == self.last:
            for column in self.exact:
                column[:] = 10**6
        return noisy


EXACT = np.repeat(np.array([0, 20, 95, 100, 104, 150, 400, 900], dtype=np.int64), 8)


def run(accuracy: Accuracy, last: int) -> tuple[Outcome, Scribbled]:
    work = task(EXACT.size, [atom(span=1000.0)], Leaf(0), accuracy)
    rng = np.random.default_rng(5)
    meter = Scribbled([EXACT.copy()], [1], accuracy.epsilon, rng, last=last)
    algorithm = algorithms.get(accuracy.algorithm)
    if accuracy.algorithm == "ladder":
        algorithm = type(algorithm)(coins=np.random.default_rng(6))  # type: ignore[call-arg]
    return algorithm.run(work, meter), meter


@pytest.mark.parametrize("epsilon", [0.05, 5.0])
@pytest.mark.parametrize(
    ("name", "bounds"), [*((name, FPR) for name in NAMES), *((name, FDR) for name in BEYOND)]
)
def test_nothing_is_said_that_was_not_drawn(name: str, bounds: Accuracy, epsilon: float) -> None:
    asked = replace(bounds, algorithm=name, epsilon=epsilon)
    before, meter = run(asked, 0)
    after, scribbled = run(asked, len(meter.drawn))
    if meter.drawn:
        assert (scribbled.exact[0] == 10**6).all()
    assert before.status == after.status
    assert before.denial == after.denial
    assert (before.returned == after.returned).all()
    assert (before.certain is None) == (after.certain is None)
    if before.certain is not None and after.certain is not None:
        assert (before.certain == after.certain).all()
    texts = {
        sentence(found.guarantee, Listed(EXACT.size, int(found.returned.sum())))
        for found in (before, after)
    }
    assert len(texts) == 1
