"""Choosing the first groups: the law, its loss on neighbours, and what the meter counts for it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from benchmarks.seeded import SeededWords
from probe_sql.ledger import Ledger
from probe_sql.measuring import FAR, Floats, OverBudget, Peel
from probe_sql.plan.unit import Caps
from probe_sql.vault.choosing import first_groups
from probe_sql.vault.exact import Exact
from probe_sql.vault.noise import Sampler
from tests.vault import desk
from tests.vault.goodness import rejected

RATE = 1.0
REACH = 40  # of the noise, in steps: what lies beyond it has a probability of 1e-17
PARTS = 4  # into which ties divide a step; the vault has 2^448


def composite(value: int, rate: float) -> Floats:
    """The law of PARTS * (value + Z) + u on -PARTS * REACH ... PARTS * REACH."""
    p = math.exp(-rate)
    steps = np.arange(-PARTS * REACH, PARTS * REACH + 1) // PARTS - value
    found: Floats = (1 - p) / (1 + p) * p ** np.abs(steps) / PARTS
    return found


def law(first: Sequence[int], others: Sequence[int], rate: float, most: int) -> Floats:
    """The probability that these groups are chosen, by each vector of gaps from 1 to `most` parts.

    Summed over where the first of the others lies, which they decide together.
    """
    below = np.prod([np.cumsum(composite(value, rate)) for value in others], axis=0)
    after = np.diff(below, prepend=0.0)
    size = len(after) - most
    total = np.zeros((most,) * len(first))
    lines = [composite(value, rate) for value in first]
    for place in range(size):
        gaps = [line[place + 1 : place + 1 + most] for line in lines]
        total += after[place] * reduce(np.multiply.outer, gaps)
    return total


def loss(one: Floats, other: Floats) -> float:
    """The largest logarithm of a ratio, but for what lies in the tails of the sums."""
    likely = np.maximum(one, other) > 1e-9
    return float(np.abs(np.log(one[likely] / other[likely])).max())


PLACES = {
    "one of three": ((1,), (0, 0)),
    "two of three": ((2, 1), (0,)),
    "one of many": ((2,), (0,) * 30),
    "two of many": ((1, 2), (0,) * 30),
    "two of many, apart": ((1, 1), (0,) * 20 + (-3,) * 10),
}


@pytest.mark.parametrize("name", PLACES)
def test_one_person_changes_no_probability_by_more_than_is_charged(name: str) -> None:
    first, others = PLACES[name]
    caps = Caps(9, 9, 1, column="p", most=9, one_way=frozenset({0}))
    charged = caps.choosing(Peel(0, len(first), largest=True)) * RATE
    before = law(first, others, RATE, 60)
    worst = 0.0
    for up, rest in itertools.product(itertools.product((0, 1), repeat=len(first)), (0, 1)):
        raised = [value + each for value, each in zip(first, up, strict=True)]
        after = law(raised, [value + rest for value in others], RATE, 60)
        worst = max(worst, loss(before, after))
    assert worst <= charged * (1 + 1e-9)
    if name.endswith("many"):  # the negative control: a tenth less would be caught
        assert worst > charged * 0.9


def test_where_people_move_groups_either_way_it_costs_twice() -> None:
    peel = Peel(0, 1, largest=True)
    once, twice = (
        Caps(one_way=ways).choosing(peel) * RATE for ways in (frozenset({0}), frozenset[int]())
    )
    worst = loss(law((2,), (0,) * 30, RATE, 60), law((1,), (1,) * 30, RATE, 60))
    assert once * 1.5 < worst <= twice * (1 + 1e-9)


def test_the_sampler_follows_the_law() -> None:
    """How often the second of three groups is chosen, and by how many whole steps."""
    rate, runs = Fraction(1), 6_000
    sampler, seen = Sampler(SeededWords(3)), np.zeros(40)
    exact = np.array([0, 1, 0], dtype=np.int64)
    for _ in range(runs):
        chosen, ahead = first_groups(sampler, exact, Peel(0, 1, largest=True), rate, rate)
        assert chosen.sum() == 1
        assert (ahead[~chosen] == 0).all()
        if chosen[1]:
            seen[ahead[1]] += 1

    def strange(other: float) -> bool:
        """Against a law whose parts are so many that ties hardly count."""
        fine = law_of_steps(other) * runs
        often = fine >= 20
        return rejected(float(((seen - fine)[often] ** 2 / fine[often]).sum()), int(often.sum()))

    assert not strange(1.0)
    assert strange(1.3)


def law_of_steps(rate: float) -> Floats:
    """The same by simulation of the definition, with float ties, from another generator."""
    rng, size = np.random.default_rng(5), 400_000
    noise = rng.geometric(-np.expm1(-rate), (2, 3, size))
    scores = noise[0] - noise[1] + np.array([[0], [1], [0]]) + rng.random((3, size))
    gap = scores[1] - np.maximum(scores[0], scores[2])
    found: Floats = np.bincount(np.floor(gap[gap > 0]).astype(int), minlength=40)[:40] / size
    return found


def test_both_ends_and_the_largest_integers() -> None:
    values = np.array([5, FAR * 2, -FAR * 2, 7, -7], dtype=np.int64)
    sampler = Sampler(SeededWords(1))
    high, ahead = first_groups(
        sampler, values, Peel(0, 2, largest=True), Fraction(20), Fraction(20)
    )
    low, _ = first_groups(sampler, values, Peel(0, 2, largest=False), Fraction(20), Fraction(20))
    assert np.flatnonzero(high).tolist() == [1, 3]
    assert np.flatnonzero(low).tolist() == [2, 4]
    assert ahead[1] > FAR // 2
    assert 0 <= ahead[3] <= 3


def test_what_a_choice_costs() -> None:
    """By hand: groups chosen, times rows in a group, twice where rows move it both ways."""
    caps = Caps(12, 6, 2, once=frozenset({1}), column="p", most=12, one_way=frozenset({0, 1}))
    assert caps.choosing(Peel(0, 5, largest=True)) == 10
    assert caps.choosing(Peel(1, 5, largest=True)) == 5
    assert caps.choosing(Peel(2, 5, largest=True)) == 20


def test_the_meter_adds_what_choices_cost_to_what_groups_come_to(ledger: Ledger) -> None:
    """By hand: a person is in up to four groups, and a choice of two costs twice its epsilon."""
    limits = Caps(4, 4, 1, column="person", most=4, one_way=frozenset({0}))
    values = Exact([np.arange(5), np.arange(5), np.arange(5)], 5, people=True)
    everyone, peel = np.ones(5, dtype=np.bool_), Peel(0, 2, largest=True)
    with desk.meter(ledger, values, epsilon=1.0, caps=limits) as meter:
        assert meter.loss_after((), (), (peel, 0.125)).epsilon == 0.25
        meter.select(peel, 0.125)
        assert meter.loss.epsilon == 0.25
        assert meter.group_losses().tolist() == [0.25] * 5
        meter.draw(1, 0.0625, everyone)
        assert meter.loss.epsilon == 0.5
        assert meter.group_losses().tolist() == [0.3125] * 5
        draw = (1, 0.0625, everyone)
        assert meter.loss_after((draw,), (), (peel, 0.125)).epsilon == 1.0
        for more, fits in ((0.125, True), (0.126, False)):
            assert meter.affordable((draw,), (), (peel, more)) == fits
            assert meter.affordable((), (), (peel, more + 0.125)) == fits
        with pytest.raises(OverBudget):
            meter.select(peel, 0.251)
        meter.select(peel, 0.25)
        assert meter.loss.epsilon == 1.0
        with pytest.raises(OverBudget):
            meter.draw(1, 1e-6, everyone)
        with pytest.raises(OverBudget):
            meter.select(peel, 1e-6)
