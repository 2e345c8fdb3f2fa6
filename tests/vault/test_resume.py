"""Going on from a released value: the exact law of the pair, its price, and what is refused.

docs/proofs/sharpening.md.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.seeded import SeededWords
from probe_sql.errors import DataError, InternalError
from probe_sql.ledger import Ledger, Receipt, Saving
from probe_sql.loss import Loss
from probe_sql.measuring import Ints, OverBudget
from probe_sql.vault.exact import Exact
from probe_sql.vault.gradual import NoiseState, check_step, next_level
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import MAX_EPSILON, NOISE_LIMIT, TAIL, Sampler
from tests.vault.desk import ALL, meter
from tests.vault.test_gradual import BASES, joint_rejected, law, refining_kernel

COARSE, FINE = 0.5, 0.9
MANY = 60_000


def kept(ledger: Ledger, level: float = COARSE, groups: int = 4) -> Ints:
    """Release measure 0 at a level, by a query of its own that is the head of chain "c"."""
    receipt = ledger.reserve(None, Loss.asked(1.0), sql="")
    ledger.draw(receipt)
    everyone = np.ones(groups, dtype=np.bool_)
    with meter(ledger, sums(groups), receipt=receipt, words=SeededWords(5)) as at:
        values = at.reveal(0, level, everyone)
        assert at.level(0) == level
        at.settle("answered", saving=Saving("q", "body", heads=("c",)))
    return values


def sums(groups: int = 4, first: int = 1000) -> Exact:
    return Exact([np.full(groups, first * (m + 1)) for m in range(3)], groups)


def taking(ledger: Ledger) -> Receipt:
    """A query that has taken the head of chain "c"."""
    [found] = ledger.answers.find_heads(["c"], None).values()
    receipt = ledger.reserve(None, Loss.asked(1.0), sql="", taken=(("c", found.number),))
    ledger.draw(receipt)
    return receipt


def resumed(ledger: Ledger, values: Ints, exact: Exact | None = None) -> VaultMeter:
    found = sums(len(values)) if exact is None else exact
    at = meter(ledger, found, receipt=taking(ledger), words=SeededWords(6))
    at.resume(0, "c", values, COARSE)
    return at


# --- the law, exactly --------------------------------------------------------------------------


@pytest.mark.parametrize(("p1", "p2"), BASES)
def test_a_chain_loses_its_finest_level(p1: Fraction, p2: Fraction) -> None:
    """P(X = x, Y = y) on f and on f + 1 differ by at most e^epsilon_2 = 1/p2, in fractions."""

    def chance(exact: int, x: int, y: int) -> Fraction:
        return law(p1, x - exact) * refining_kernel(p1, p2, x - exact, y - exact)

    ratios = [
        max(chance(0, x, y) / chance(1, x, y), chance(1, x, y) / chance(0, x, y))
        for x, y in product(range(-9, 11), repeat=2)
    ]
    assert max(ratios) == 1 / p2


def test_two_values_from_one_head_lose_more_than_is_charged() -> None:
    """The negative control: at epsilon 1/2 and 1 they lose 2.5 and would be charged 1.5."""
    p1, p2 = Fraction(3, 5), Fraction(9, 25)  # p2 = p1^2: the second epsilon is twice the first

    def chance(exact: int, x: int, y: int, z: int) -> Fraction:
        noise = x - exact
        return (
            law(p1, noise)
            * refining_kernel(p1, p2, noise, y - exact)
            * refining_kernel(p1, p2, noise, z - exact)
        )

    cells = product(range(-3, 5), repeat=3)
    worst = max(chance(0, *cell) / chance(1, *cell) for cell in cells)
    assert worst == (1 / p1) ** 5  # 2 epsilon_2 + epsilon_1, where (1 / p1) ** 3 is charged


# --- the law, drawn ----------------------------------------------------------------------------


def test_the_drawn_pair_has_the_exact_law(ledger: Ledger) -> None:
    coarse = kept(ledger, groups=MANY)
    with resumed(ledger, coarse) as at:
        fine = at.reveal(0, FINE, np.ones(MANY, dtype=np.bool_))
        at.settle("answered")
    assert not joint_rejected(coarse - 1000, fine - 1000, COARSE, FINE, 1)


def test_going_on_from_other_data_is_rejected(ledger: Ledger) -> None:
    """The negative control: one row came in between, and the audit of the pair sees it."""
    coarse = kept(ledger, groups=MANY)
    with resumed(ledger, coarse, sums(MANY, 1001)) as at:
        fine = at.reveal(0, FINE, np.ones(MANY, dtype=np.bool_))
        at.settle("answered")
    assert joint_rejected(coarse - 1000, fine - 1000, COARSE, FINE, 1)
    assert joint_rejected(coarse - 1001, fine - 1001, COARSE, FINE, 1)


# --- the price, and what is refused ------------------------------------------------------------


def test_the_difference_of_the_levels_is_paid(ledger: Ledger) -> None:
    coarse = kept(ledger)
    with resumed(ledger, coarse) as at:
        assert at.loss_after([], [(0, FINE, ALL)]).epsilon == pytest.approx(FINE - COARSE)
        assert at.affordable([], [(0, 1.49, ALL)])
        assert not at.affordable([], [(0, 1.51, ALL)])
        with pytest.raises(OverBudget):
            at.reveal(0, 1.51, ALL)
        at.reveal(0, FINE, ALL)
        assert at.loss >= Loss.drawn(Fraction(FINE) - Fraction(COARSE))
        assert at.loss.epsilon == pytest.approx(FINE - COARSE)
        at.reveal(1, 0.25, ALL)  # another measure begins at nothing
        assert at.loss.epsilon == pytest.approx(FINE - COARSE + 0.25)
        at.reveal(0, 1.0, ALL)
        assert at.loss.epsilon == pytest.approx(1.0 - COARSE + 0.25)
        assert (at.level(0), at.level(1), at.level(2)) == (1.0, 0.25, None)


def test_a_coarser_level_is_the_released_value_and_free(ledger: Ledger) -> None:
    coarse = kept(ledger)
    with resumed(ledger, coarse) as at:
        assert at.loss_after([], [(0, 0.2, ALL)]) == Loss.NOTHING
        assert at.reveal(0, 0.2, ALL).tolist() == coarse.tolist()
        assert at.loss == Loss.NOTHING
        assert at.level(0) == COARSE
        fresh = at.draw(0, 0.2, ALL)  # afresh, and paid in full
        assert fresh.tolist() != coarse.tolist()
        assert at.loss.epsilon == pytest.approx(0.2)


@given(
    before=st.floats(1e-6, 1024),
    more=st.one_of(st.floats(0, 1024), st.floats(-18, 0).map(lambda power: 10**power)),
    delta=st.integers(1, 2**60),
)
def test_every_step_that_is_decided_on_fits_and_is_no_dearer_than_a_fresh_value(
    before: float, more: float, delta: int
) -> None:
    asked = before + more
    level = next_level(Fraction(before), asked, delta)
    if level is None:  # noise of this scale, or an epsilon, at its end
        assert asked > 1023 or 2 * Fraction(delta * 1280, 2**62) > Fraction(before)
        return
    check_step(before, level, delta)
    assert level >= asked or level == before >= asked
    assert Fraction(level) - Fraction(before) <= Fraction(asked)
    assert next_level(Fraction(before), level, delta) == level
    if asked - before > 1e-3 * before and delta < 2**30:
        assert level == asked


def test_a_step_is_the_least_that_noise_fits_and_the_released_level_is_none() -> None:
    least = Fraction(TAIL + MAX_EPSILON, NOISE_LIMIT)
    released = 1024 * least  # so that it and its next level are floats
    assert next_level(released, float(released), 1) == float(released)
    assert next_level(released, float(released + least / 2), 1) == released + least
    assert next_level(2 * least, 0.5, 1) == 0.5
    assert next_level(2 * least * Fraction(999, 1000), 0.5, 1) is None


def test_groups_at_two_levels_have_none_in_common() -> None:
    state, sampler = NoiseState(3), Sampler(SeededWords(1))
    levels = [state.level]
    for level, groups in ((COARSE, [True] * 3), (FINE, [False, True, False])):
        state.sharpen(sampler, level, 1, np.array(groups))
        levels.append(state.level)
    assert levels == [None, COARSE, None]


def test_a_hair_is_a_step_in_the_meter(ledger: Ledger) -> None:
    """The negative control: the levels that were asked for do not fit, those drawn do."""
    coarse = kept(ledger)
    hair, deltas = COARSE + 1e-15, (100, 1, 1)
    with pytest.raises(DataError, match="fit"):
        check_step(COARSE, hair, deltas[0])
    with meter(ledger, sums(), deltas, receipt=taking(ledger)) as at:
        at.resume(0, "c", coarse, COARSE)
        expected = at.loss_after([], [(0, hair, ALL)])
        assert at.affordable([], [(0, hair, ALL)])
        first = at.reveal(0, hair, ALL)
        assert at.reveal(0, hair, ALL).tolist() == first.tolist()
        level = at.level(0)
        assert level is not None
        assert level > hair
        assert at.loss >= Loss.drawn(Fraction(level) - Fraction(COARSE))
        assert at.loss.epsilon == pytest.approx(expected.epsilon, abs=1e-12)


def test_only_what_this_query_took_is_gone_on_from(ledger: Ledger) -> None:
    coarse = kept(ledger)
    with meter(ledger) as stranger, pytest.raises(InternalError, match="head"):
        stranger.resume(0, "c", coarse, COARSE)
    with resumed(ledger, coarse) as at:
        with pytest.raises(InternalError, match="head"):
            at.resume(0, "c", coarse, COARSE)
        with pytest.raises(InternalError, match="head"):
            at.resume(1, "d", coarse, COARSE)
        at.reveal(1, 0.1, ALL)
        with pytest.raises(InternalError, match="head"):
            at.resume(1, "c", coarse, COARSE)


def test_noise_is_found_again_at_the_ends_of_integers() -> None:
    """What wraps around in the difference has the sum that did not."""
    exact = np.array([2**62 + 5, -(2**62) - 9, 2**63 - 1, -(2**63)])
    noise = np.array([-700, 900, 1 - NOISE_LIMIT, NOISE_LIMIT - 1])
    released = np.array([int(e) + int(n) for e, n in zip(exact, noise, strict=True)])
    state = NoiseState(4)
    state.resume(released, exact, 0.5)
    assert state.noise(np.arange(4)).tolist() == noise.tolist()
    state.sharpen(Sampler(SeededWords(1)), 0.5, 1, ALL)
    state.close()
    assert not state.noise(np.arange(4)).any()
