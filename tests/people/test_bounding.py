"""Which rows of a person stay: their own affair, whatever the order and whoever else is there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql.vault import bounding
from probe_sql.vault.bounding import RowCap
from tests.examples import visits
from tests.examples.visits import Visit

Kept = Counter[tuple[Any, ...]]


DATABASE = duckdb.connect(":memory:", config={"threads": 2})


def run(sql: str) -> list[tuple[Any, ...]]:
    return DATABASE.execute(sql).fetchall()


def work(job: Callable[[duckdb.DuckDBPyConnection], None]) -> None:
    job(DATABASE)


def how(most: int, key: int = 7, drop_missing: bool = True, salted: bool = False) -> RowCap:
    names, types = ("person", "ward", "age"), ("BIGINT", "VARCHAR", "BIGINT")
    return RowCap('"all"', '"person"', names, visits.NAMES, types, most, drop_missing, key, salted)


def kept(rows: Sequence[Visit], plan: RowCap) -> Kept:
    """The declared columns of the rows that stay, by the real statements in a real database."""
    DATABASE.register("given", visits.table(rows))
    run('CREATE OR REPLACE TABLE "all" AS SELECT * FROM given')
    run("DROP TABLE IF EXISTS rows")
    bounding.build(plan, "rows", run, work)
    assert not run("SELECT 1 FROM duckdb_tables() WHERE table_name LIKE 'probe_sql%'")
    return Counter(run("SELECT * FROM rows"))


def reference(rows: Sequence[Visit], plan: RowCap) -> Kept:
    """The same by ranking everything at once, written down as the definition has it."""
    DATABASE.register("given", visits.table(rows))
    sql = f"SELECT {plan.hash}, person, ward, age FROM given WHERE person IS NOT NULL"
    hashed = [(value, row) for value, *row in run(sql)]
    result: Kept = Counter()
    for person in {row[0] for _, row in hashed}:
        own = sorted((value, tuple(row)) for value, row in hashed if row[0] == person)
        result.update(row for _, row in own[: plan.most])
    return result


def of(found: Kept, person: int | None) -> Kept:
    return Counter({row: count for row, count in found.items() if row[0] == person})


people = st.lists(
    st.tuples(
        st.integers(0, 4) | st.none(),
        st.sampled_from(visits.WARDS),
        st.integers(0, 2),
        st.sampled_from(["x", "y"]),
    ),
    max_size=60,
)
crowds = st.tuples(people, st.integers(0, 60), st.integers(0, 99)).map(
    # One person with many equal rows: all on the same side of the cut.
    lambda x: [*x[0], *[(x[2] % 5, "A", 1, "x")] * x[1]]
)


@settings(max_examples=10)
@given(crowds, st.integers(1, 6), st.integers(0, 2**64 - 1))
def test_the_first_rows_in_the_order_of_the_hash_stay(
    rows: list[Visit], most: int, key: int
) -> None:
    first_rows_stay(rows, most, key)


@pytest.mark.slow
@settings(max_examples=150)
@given(crowds, st.integers(1, 6), st.integers(0, 2**64 - 1))
def test_they_always_do(rows: list[Visit], most: int, key: int) -> None:
    first_rows_stay(rows, most, key)


def first_rows_stay(rows: list[Visit], most: int, key: int) -> None:
    plan = how(most, key)
    found = kept(rows, plan)
    assert found == reference(rows, plan)
    have = Counter(row[0] for row in rows)
    for person in range(5):
        assert of(found, person).total() == min(most, have[person])
    assert not of(found, None)


def test_each_person_has_one_salt_and_each_key_others() -> None:
    """Beside the same rows, also those that were ranked or come above the first cut."""
    rows: list[Visit] = [(p, "A", age, "x") for p in range(4) for age in (1, 2, 3)]
    rows += [(4, "B", 1, "x")] * 200
    seen: set[int] = set()
    for key in (1, 2):
        found = kept(rows, how(2, key, salted=True))
        plain: Kept = Counter()
        for row, count in found.items():
            plain[row[:-1]] += count
        assert plain == kept(rows, how(2, key))
        salts = {(row[0], row[-1]) for row in found}
        assert len(salts) == len({salt for _, salt in salts}) == 5
        assert not seen & {salt for _, salt in salts}
        seen |= {salt for _, salt in salts}


@settings(max_examples=6)
@given(crowds, st.integers(1, 5), st.integers(0, 4), st.randoms(use_true_random=False))
def test_one_person_changes_only_their_own_rows(
    rows: list[Visit], most: int, person: int, rng: random.Random
) -> None:
    only_their_own_change(rows, most, person, rng)


@pytest.mark.slow
@settings(max_examples=100)
@given(crowds, st.integers(1, 5), st.integers(0, 4), st.randoms(use_true_random=False))
def test_nobody_ever_changes_another_persons_rows(
    rows: list[Visit], most: int, person: int, rng: random.Random
) -> None:
    only_their_own_change(rows, most, person, rng)


def only_their_own_change(rows: list[Visit], most: int, person: int, rng: random.Random) -> None:
    others = [row for row in rows if row[0] != person]
    rng.shuffle(others)
    with_them, without = kept(rows, how(most)), kept(others, how(most))
    assert with_them - of(with_them, person) == without
    assert not without - with_them
    assert of(with_them, person).total() <= most


def test_rows_without_a_person_are_dropped_or_are_each_a_person() -> None:
    rows: list[Visit] = [(None, "A", age, "x") for age in range(20)] + [(1, "A", 1, "x")] * 9
    assert kept(rows, how(3)) == {(1, "A", 1): 3}
    own = kept(rows, how(3, drop_missing=False))
    assert of(own, None).total() == 20
    assert of(own, 1).total() == 3


def test_many_people_are_ranked_in_parts_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = visits.visits(3)
    whole = kept(rows, how(4))
    monkeypatch.setattr(bounding, "_PART_ROWS", 100)
    assert kept(rows, how(4)) == whole == reference(rows, how(4))


def test_another_key_chooses_other_rows() -> None:
    rows = visits.visits()
    assert kept(rows, how(4, key=1)) != kept(rows, how(4, key=2))


def test_the_choice_is_fair() -> None:
    """Over many people with equal rows, each place is kept equally often, within five sigma."""
    rows: list[Visit] = [(p, "A", number, "x") for p in range(3000) for number in range(8)]
    ages = Counter[int]()
    for row, count in kept(rows, how(2)).items():
        ages[row[2]] += count
    expected, sigma = 3000 / 4, (3000 * 0.25 * 0.75) ** 0.5
    assert all(abs(ages[number] - expected) < 5 * sigma for number in range(8))


def test_names_of_columns_do_not_clash_with_our_own() -> None:
    run(
        'CREATE OR REPLACE TABLE "all" AS SELECT i % 3 AS n, i AS cut, i AS "wa""rd", i AS person'
        " FROM range(30) t(i)"
    )
    run("DROP TABLE IF EXISTS rows")
    names = ("n", "cut", 'wa"rd', "person")
    plan = RowCap('"all"', '"n"', names, names, ("BIGINT",) * 4, 2, True, 5)
    bounding.build(plan, "rows", run, work)
    counts = run("SELECT n, count(*) FROM rows GROUP BY n ORDER BY n")
    assert counts == [(0, 2), (1, 2), (2, 2)]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 7)), max_size=60),
    st.integers(1, 5),
    st.sampled_from([0, 58]),
)
@settings(max_examples=60, deadline=None)
def test_the_cut_is_the_hash_of_the_last_row_that_stays(
    rows: list[tuple[int, int]], most: int, shift: int
) -> None:
    """With hashes that tie whole, or as far as they are looked at."""
    places = np.array([place for place, _ in rows], dtype=np.int64)
    hashes = np.array([value << shift for _, value in rows], dtype=np.uint64)
    found, upper, ties = bounding.cut(places, hashes, most)
    assert found.tolist() == sorted({place for place, _ in rows})
    for place, end, tied in zip(found.tolist(), upper.tolist(), ties.tolist(), strict=True):
        own = sorted(int(value) for value in hashes[places == place])
        below = [value for value in own if value <= end]
        assert len(below) == min(most, len(own)) or tied
        assert below[:most] == own[:most]
