"""Apportionment: the paper's formulas, the optimum by prime implicants, and its certificate."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Sequence
from functools import partial
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql.algorithms.apportion import (
    even_beta,
    implicant_beta,
    paper_beta,
    solve,
    tight_beta,
    walk_beta,
)
from probe_sql.logic import And, Formula, Leaf, Or, atoms, minimise, occurrences, prime_implicants
from tests.logic.formulas import random_formula, random_read_once

Q1, Q2, Q3, Q4 = (Leaf(i) for i in range(4))
WEIGHTS = st.floats(-5, 5).map(lambda exponent: 10.0**exponent)
BETAS = st.floats(1e-9, 0.49)


def total_epsilon(weights: Sequence[float], betas: Sequence[float], counts: Sequence[int]) -> float:
    """Epsilon when atom i is measured afresh `counts[i]` times: sum o_i w_i ln(1/(2 beta_i))."""
    return math.fsum(
        count * epsilon for count, epsilon in zip(counts, _epsilons(weights, betas), strict=True)
    )


def shared_epsilon(
    weights: Sequence[float], betas: Sequence[float], aggregates: Sequence[Hashable]
) -> float:
    """Epsilon when every aggregate is measured once, as finely as its hardest atom needs."""
    largest: dict[Hashable, float] = {}
    for name, epsilon in zip(aggregates, _epsilons(weights, betas), strict=True):
        largest[name] = max(epsilon, largest.get(name, 0.0))
    return math.fsum(largest.values())


def _epsilons(weights: Sequence[float], betas: Sequence[float]) -> list[float]:
    return [-w * math.log(2 * beta) for w, beta in zip(weights, betas, strict=True)]


def counts(formula: Formula) -> list[int]:
    return list(occurrences(formula).values())


# --- the paper -----------------------------------------------------------------------


def test_example_of_the_paper() -> None:
    """Example 4.1: b1 + b2 + b3 for T1, 2 b1 + b2 + b3 for the distributed T2."""
    weights = [0.3, 1.7, 0.4]
    compact = Or((Q1, And((Q2, Q3))))
    distributed = And((Or((Q1, Q2)), Or((Q1, Q3))))
    assert counts(compact) == [1, 1, 1]
    assert counts(distributed) == [2, 1, 1]
    b1, b2, b3 = paper_beta(0.05, weights, counts(compact))
    assert b1 + b2 + b3 == pytest.approx(0.05, rel=1e-12)
    c1, c2, c3 = paper_beta(0.05, weights, counts(distributed))
    assert 2 * c1 + c2 + c3 == pytest.approx(0.05, rel=1e-12)
    assert all(c < b for c, b in zip((c1, c2, c3), (b1, b2, b3), strict=True))
    assert counts(minimise(distributed).formula) == [1, 1, 1]
    assert total_epsilon(weights, [b1, b2, b3], [1, 1, 1]) < total_epsilon(
        weights, [c1, c2, c3], [2, 1, 1]
    )


def product_form(
    beta: float, deltas: Sequence[float], us: Sequence[float], o: Sequence[int]
) -> list[float]:
    """Eq. gen_beta_occ as its proof derives it: o_y Delta_y times the product of the other u."""
    n = len(us)

    def others(i: int) -> float:
        return math.prod(us[x] for x in range(n) if x != i)

    below = sum(o[y] * deltas[y] * others(y) for y in range(n))
    return [deltas[i] * beta * others(i) / below for i in range(n)]


def as_printed(
    beta: float, deltas: Sequence[float], us: Sequence[float], o: Sequence[int]
) -> list[float]:
    """The same read literally: o_y Delta_y stands inside the product over x."""
    n = len(us)
    below = sum(math.prod(us[x] * o[y] * deltas[y] for x in range(n) if x != y) for y in range(n))
    return [
        deltas[i] * beta * math.prod(us[x] for x in range(n) if x != i) / below for i in range(n)
    ]


SIDES = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0.1, 50), min_size=n, max_size=n),
        st.lists(st.floats(0.1, 50), min_size=n, max_size=n),
        st.lists(st.integers(1, 4), min_size=n, max_size=n),
    )
)


@given(BETAS, SIDES)
def test_equal_to_the_product_form(
    beta: float, sides: tuple[list[float], list[float], list[int]]
) -> None:
    deltas, us, o = sides
    weights = [delta / u for delta, u in zip(deltas, us, strict=True)]
    found = paper_beta(beta, weights, o)
    assert found == pytest.approx(product_form(beta, deltas, us, o), rel=1e-9)
    if len(us) == 2:
        assert found == pytest.approx(as_printed(beta, deltas, us, o), rel=1e-9)


def test_the_printed_product_misplaces_its_factor() -> None:
    """Read literally with three atoms, the shares do not add up to beta: ours do."""
    literal = as_printed(0.05, [2.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1, 1, 1])
    assert sum(literal) != pytest.approx(0.05, rel=0.1)
    assert sum(paper_beta(0.05, [2.0, 1.0, 1.0], [1, 1, 1])) == pytest.approx(0.05)


def test_one_atom_gets_everything_and_equal_atoms_get_equal_shares() -> None:
    assert paper_beta(0.05, [7.0], [1]) == pytest.approx([0.05])
    assert paper_beta(0.05, [3.0] * 5, [1] * 5) == pytest.approx(even_beta(0.05, [1] * 5))
    assert even_beta(0.06, [2, 1]) == pytest.approx([0.02, 0.02])


def test_epsilon_of_the_mechanism() -> None:
    """Delta ln(1/(2 beta)) / u for each leaf (section 3.2)."""
    assert total_epsilon([1 / 30], [0.05], [1]) == pytest.approx(math.log(10) / 30)
    assert total_epsilon([2.0, 1.0], [0.01, 0.02], [2, 1]) == pytest.approx(
        4 * math.log(50) + math.log(25)
    )


@given(BETAS, SIDES, st.lists(st.floats(0.2, 5), min_size=8, max_size=8))
def test_no_other_split_of_the_sum_is_cheaper(
    beta: float, sides: tuple[list[float], list[float], list[int]], factors: list[float]
) -> None:
    deltas, us, o = sides
    weights = [delta / u for delta, u in zip(deltas, us, strict=True)]
    shares = paper_beta(beta, weights, o)
    moved = [share * factor for share, factor in zip(shares, factors, strict=False)]
    scale = beta / math.fsum(count * share for count, share in zip(o, moved, strict=True))
    other = [share * scale for share in moved]
    best = total_epsilon(weights, shares, o)
    assert total_epsilon(weights, other, o) >= best - 1e-9 * best


def test_ten_orders_of_magnitude_and_beyond() -> None:
    weights = [10.0**exponent for exponent in range(-300, 300, 40)]
    o = [1] * len(weights)
    shares = paper_beta(0.05, weights, o)
    assert math.fsum(shares) == pytest.approx(0.05)
    assert all(0 < share < 0.5 for share in shares)


# --- by prime implicants -------------------------------------------------------------


def test_each_arm_of_an_or_may_have_the_whole() -> None:
    formula = Or((Q1, And((Q2, Q3))))
    shares = walk_beta(formula, 0.06, [5.0, 2.0, 1.0])
    assert shares == pytest.approx([0.06, 0.04, 0.02])
    assert total_epsilon([5.0, 2.0, 1.0], shares, [1] * 3) < total_epsilon(
        [5.0, 2.0, 1.0], paper_beta(0.06, [5.0, 2.0, 1.0], [1] * 3), [1] * 3
    )


def test_a_conjunction_is_the_paper_s_case() -> None:
    weights = [5.0, 2.0, 1.0, 0.1]
    formula = And((Q1, Q2, Q3, Q4))
    expected = paper_beta(0.05, weights, [1] * 4)
    assert walk_beta(formula, 0.05, weights) == pytest.approx(expected)
    solved = implicant_beta(0.05, weights, prime_implicants(formula), range(4))
    assert solved == pytest.approx(expected, rel=1e-4)


def test_atoms_that_do_not_occur_get_the_whole() -> None:
    assert walk_beta(Q2, 0.05, [1.0, 1.0]) == [0.05, 0.05]
    assert implicant_beta(0.05, [1.0, 1.0], [{1}], [0, 1]) == pytest.approx([0.05, 0.05])
    assert implicant_beta(0.05, [1.0], [], [0]) == [0.05]
    assert all(type(share) is float for share in implicant_beta(0.05, [1.0], [{0}], [0]))
    assert implicant_beta(0.05, [1.0], [frozenset()], [0]) == [0.05]


def feasible(beta: float, shares: Sequence[float], implicants: Sequence[frozenset[int]]) -> bool:
    return all(0 < share < 0.5 for share in shares) and all(
        math.fsum(shares[i] for i in implicant) <= beta for implicant in implicants
    )


def lower_bound(
    beta: float,
    weights: Sequence[float],
    implicants: Sequence[frozenset[int]],
    aggregates: Sequence[int],
    multipliers: Sequence[float],
) -> float:
    """What no feasible point can undercut: the Lagrangian's minimum for any multipliers >= 0.

    It separates over the aggregates: minimise e + sum_i L_i exp(-e/w_i)/2, by bisection.
    """
    used = sorted(frozenset[int]().union(*implicants))
    total = -beta * math.fsum(multipliers)
    for name in {aggregates[i] for i in used}:
        members = [
            (
                weights[i],
                math.fsum(m for m, T in zip(multipliers, implicants, strict=True) if i in T),
            )
            for i in used
            if aggregates[i] == name
        ]
        low, high = 0.0, 800 * max(w for w, _ in members)
        for _ in range(120):
            e = (low + high) / 2
            if sum(pull / (2 * w) * math.exp(-e / w) for w, pull in members) > 1:
                low = e
            else:
                high = e
        total += low + sum(pull / 2 * math.exp(-low / w) for w, pull in members)
    return total


def certified(
    beta: float,
    weights: Sequence[float],
    implicants: Sequence[frozenset[int]],
    aggregates: Sequence[int],
) -> None:
    """The shares are feasible, and within 1e-6 of a bound that no feasible point undercuts."""
    shares = implicant_beta(beta, weights, implicants, aggregates)
    assert feasible(beta, shares, implicants)
    used = sorted(frozenset[int]().union(*implicants))
    cost = shared_epsilon(
        [weights[i] for i in used], [shares[i] for i in used], [aggregates[i] for i in used]
    )
    multipliers = solve(beta, weights, implicants, aggregates).multipliers.tolist()
    assert min(multipliers) >= 0
    bound = lower_bound(beta, weights, implicants, aggregates, multipliers)
    assert bound <= cost * (1 + 1e-9)
    assert cost - bound <= 1e-6 * cost


@pytest.mark.parametrize("seed", range(40))
def test_optimal_on_random_trees(seed: int) -> None:
    """Up to 16 atoms, weights over ten orders of magnitude, aggregates shared or not."""
    source = random.Random(seed)
    n = source.randint(1, 16)
    formula = random_formula(n, source.randint(1, 24), source)
    weights = [10 ** source.uniform(-5, 5) for _ in range(n)]
    shared = source.randint(1, n)
    aggregates = [source.randrange(shared) if seed % 2 else i for i in range(n)]
    certified(10 ** source.uniform(-6, -0.31), weights, prime_implicants(formula), aggregates)


def test_the_certificate_rejects_shares_that_are_not_optimal() -> None:
    """Negative control: an even split, feasible, misses the bound by far."""
    weights, implicants = [10.0, 1.0, 1.0], (frozenset({0, 1}), frozenset({1, 2}))
    multipliers = solve(0.05, weights, implicants, range(3)).multipliers.tolist()
    bound = lower_bound(0.05, weights, implicants, range(3), multipliers)
    assert shared_epsilon(weights, [0.025] * 3, range(3)) - bound > 1e-2 * bound


@pytest.mark.parametrize("seed", range(15))
def test_the_walk_is_the_optimum_of_read_once_trees(seed: int) -> None:
    source = random.Random(100 + seed)
    n = source.randint(1, 12)
    formula = random_read_once(range(n), source)
    weights = [10 ** source.uniform(-5, 5) for _ in range(n)]
    implicants = prime_implicants(formula)
    walked = walk_beta(formula, 0.05, weights)
    assert feasible(0.05, walked, implicants)
    assert tight_beta(formula, 0.05, weights, range(n)) == walked
    multipliers = solve(0.05, weights, implicants, range(n)).multipliers.tolist()
    bound = lower_bound(0.05, weights, implicants, range(n), multipliers)
    assert abs(total_epsilon(weights, walked, [1] * n) - bound) <= 1e-6 * bound


@pytest.mark.parametrize("spread", [0.0, 5.0])
def test_thousands_of_implicants(spread: float) -> None:
    """Any 8 of 16: the largest antichain there is."""
    source = random.Random(9)
    weights = [10 ** source.uniform(-spread, spread) for _ in range(16)]
    implicants = [frozenset(chosen) for chosen in combinations(range(16), 8)]
    certified(0.05, weights, implicants, range(16))


@pytest.mark.parametrize("seed", range(6))
def test_against_scipy(seed: int) -> None:
    """An independent solver on the same program, one atom for each aggregate."""
    optimize = pytest.importorskip("scipy.optimize")
    source = random.Random(200 + seed)
    n = source.randint(2, 6)
    formula = random_formula(n, 10, source)
    used = atoms(formula)
    weights = [10 ** source.uniform(-1, 1) for _ in range(n)]
    implicants = prime_implicants(formula)
    start = [0.05 / (2 * n)] * n

    def slack(implicant: frozenset[int], logs: Sequence[float]) -> float:
        return 1 - sum(math.exp(logs[i]) for i in implicant) / 0.05

    found = optimize.minimize(
        lambda logs: -sum(weights[i] * logs[i] for i in used),
        [math.log(share) for share in start],
        method="SLSQP",
        bounds=[(math.log(1e-9), math.log(0.05))] * n,
        constraints=[
            {"type": "ineq", "fun": partial(slack, implicant)} for implicant in implicants
        ],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    shares = implicant_beta(0.05, weights, implicants, range(n))
    ours = sum(-weights[i] * math.log(shares[i]) for i in used)
    assert ours == pytest.approx(found.fun, rel=1e-5)


def test_atoms_on_one_aggregate_are_paid_once() -> None:
    """n > 500 OR n < 20 costs what one of them costs; with AND both share beta."""
    either = implicant_beta(0.05, [1.0, 1.0], [frozenset({0}), frozenset({1})], [0, 0])
    assert shared_epsilon([1.0, 1.0], either, [0, 0]) == pytest.approx(math.log(10), rel=1e-6)
    both = implicant_beta(0.05, [1.0, 1.0], [frozenset({0, 1})], [0, 0])
    assert shared_epsilon([1.0, 1.0], both, [0, 0]) == pytest.approx(math.log(20), rel=1e-6)


def test_implicants_that_cannot_be_true_take_no_share() -> None:
    """(n > 20 OR a) AND (n < 10 OR b): both arms on n never hold together."""
    formula = And((Or((Q1, Q3)), Or((Q2, Q4))))
    possible = [found for found in prime_implicants(formula) if not found >= {0, 1}]
    weights, aggregates = [9.0, 9.0, 1.0, 1.0], ["n", "n", "a", "b"]
    every = tight_beta(formula, 0.05, weights, aggregates)
    fewer = tight_beta(formula, 0.05, weights, aggregates, possible)
    assert shared_epsilon(weights, fewer, aggregates) < 0.95 * shared_epsilon(
        weights, every, aggregates
    )


@settings(max_examples=40)
@given(BETAS, st.lists(WEIGHTS, min_size=4, max_size=4), st.randoms(use_true_random=False))
def test_never_dearer_than_the_paper(
    beta: float, weights: list[float], source: random.Random
) -> None:
    formula = minimise(random_formula(4, 8, source)).formula
    o = [occurrences(formula).get(i, 0) for i in range(4)]
    measured = [min(count, 1) for count in o]
    tight = tight_beta(formula, beta, weights, range(4))
    paper = paper_beta(beta, weights, o)
    assert total_epsilon(weights, tight, measured) <= total_epsilon(weights, paper, o) * (1 + 1e-6)


def test_bounds_near_one_half_keep_every_share_below_it() -> None:
    formula = Or((And((Q1, Q2)), And((Q1, Q3)), And((Q2, Q3))))
    for beta in (0.4999999, 0.5, 0.9):
        for shares in (
            implicant_beta(beta, [1.0, 2.0, 3.0], prime_implicants(formula), range(3)),
            paper_beta(beta, [1.0, 2.0, 3.0], [2, 2, 2]),
            walk_beta(Or((Q1, Q2)), beta, [1.0, 2.0]),
        ):
            assert all(0 < share < 0.5 for share in shares)
