"""The first draws of every algorithm against the formulas of the paper and the proofs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import NAMES, tslm
from probe_sql.algorithms.protocol import FirstDraws
from probe_sql.logic.formula import TRUE, And, Leaf, Or
from probe_sql.measuring import Task
from tests.algorithms.meter import atom, task

# Q1 stands twice: 2 w_1 + w_2 + w_3 is what shares are divided by.
TWICE = And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2)))))
SPANS, COUNTS = (1000.0, 500.0, 2000.0), (2, 1, 1)
ASKED = Accuracy(fnr=0.04, fpr=0.3, fdr=None, epsilon=1e6, u=0.5, split=0.25, steps=5)
WEIGHTS = [1 / (0.5 * span) for span in SPANS]
TOTAL = sum(count * weight for count, weight in zip(COUNTS, WEIGHTS, strict=True))
SHARES = {
    "naive": [0.04 / 3] * 3,
    "apex": [0.04 / 3] * 3,
    "probe": [0.25 * 0.04 * weight / TOTAL for weight in WEIGHTS],
    "probe-naive": [0.25 * 0.04 / 4] * 3,
    # What an atom does not use is for those after it: Q1 uses its share once, though it counts
    # twice.
    "probe-ent": [
        0.04 * WEIGHTS[0] / TOTAL / 5,
        (0.04 - 0.04 * WEIGHTS[0] / TOTAL) * WEIGHTS[1] / (WEIGHTS[1] + WEIGHTS[2]) / 5,
        (0.04 - 0.04 * WEIGHTS[0] / TOTAL) * WEIGHTS[2] / (WEIGHTS[1] + WEIGHTS[2]) / 5,
    ],
}


def work(accuracy: Accuracy = ASKED, *, apart: bool = False) -> Task:
    atoms = [atom(i, 100, span=span) for i, span in enumerate(SPANS)]
    return task(0, atoms, TWICE, accuracy, apart=apart)


def first(name: str, accuracy: Accuracy = ASKED, *, apart: bool = False) -> FirstDraws:
    return algorithms.get(name).first_draws(work(accuracy, apart=apart))


@pytest.mark.parametrize("name", SHARES)
def test_shares_regions_and_prices(name: str) -> None:
    found = first(name)
    draws = [found.atoms[number] for number in range(3)]
    assert [draw.beta for draw in draws] == pytest.approx(SHARES[name], rel=1e-12)
    assert [draw.region for draw in draws] == [500, 250, 1000]
    assert [draw.epsilon for draw in draws] == [tslm.epsilon(1, d.beta, d.region) for d in draws]
    often = COUNTS if name in ("probe", "probe-naive") else (1, 1, 1)
    assert tuple(draw.leaves for draw in draws) == often
    paid = sum(count * draw.epsilon for count, draw in zip(often, draws, strict=True))
    assert found.epsilon == pytest.approx(paid)
    assert found.whole == (name in ("naive", "apex"))


def test_one_number_stands_for_the_condition_whatever_is_shown() -> None:
    ((behind, epsilon),) = first("ladder").numbers
    assert behind == {0, 1, 2}
    assert {draw.epsilon for draw in first("ladder").atoms.values()} == {epsilon}
    apart = first("ladder", apart=True)
    assert apart.numbers == first("ladder").numbers
    assert apart.again
    assert not first("ladder").again


@pytest.mark.parametrize("name", NAMES)
def test_the_mirrored_problem_has_the_rates_exchanged(name: str) -> None:
    mirrored = replace(ASKED, primary="fpr", fnr=0.3, fpr=0.04)
    assert first(name, mirrored).epsilon == pytest.approx(first(name).epsilon, rel=1e-12)
    assert first(name, replace(mirrored, primary="fnr")).epsilon < first(name).epsilon


@pytest.mark.parametrize("name", NAMES)
def test_what_is_decided_already_draws_nothing(name: str) -> None:
    found = algorithms.get(name).first_draws(replace(work(), formula=TRUE))
    assert (dict(found.atoms), found.numbers, found.epsilon) == ({}, (), 0.0)
