"""Plans that a connection keeps: whatever tells two questions apart, each has its own."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from probe_sql import arguments
from probe_sql.errors import ProbeError
from probe_sql.plan.plan import Plan
from probe_sql.recent import Recent
from probe_sql.session import Connection
from tests.examples.clinic import build, seeded

COUNT = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 50"
OLDER = "SELECT disease FROM patients WHERE age > ? GROUP BY disease HAVING count(*) > 50"
TEXT = "SELECT disease FROM patients WHERE disease_type = ? GROUP BY disease HAVING count(*) > 50"
DAY = "SELECT disease FROM patients WHERE admitted > ? GROUP BY disease HAVING count(*) > 50"
SUM = "SELECT disease, sum(age) AS s FROM patients GROUP BY disease"
NOON = datetime(2020, 3, 1, 12)
AN_HOUR_AHEAD = timezone(timedelta(hours=1))

# Each differs from every other in one thing that a plan can depend on.
ASKED: list[tuple[str, list[Any], dict[str, Any]]] = [
    (COUNT, [], {}),
    (COUNT.replace("50", "51"), [], {}),
    (COUNT.replace("50", "50.0"), [], {}),
    (COUNT.replace("disease FROM", "disease AS d FROM"), [], {}),
    (f"EXPLAIN {COUNT}", [], {}),
    (f"{COUNT} WITH ACCURACY (fnr = 0.01)", [], {}),
    *((OLDER, [value], {}) for value in (1, 2, -1, 1.0, 1.5, -0.0, 0.0, Decimal(1))),
    *((OLDER, [Decimal(text)], {}) for text in ("1.0", "1.00", "0.1", "0.10")),
    *((TEXT, [text], {}) for text in ("a", "A", "a ", "", "1", "?")),
    *((DAY, [day], {}) for day in (date(2020, 3, 1), date(2020, 3, 2), NOON)),
    *((COUNT, [], {"fnr": value}) for value in (0.01, 0.02)),
    *((COUNT, [], {"fdr": value}) for value in (0.01, 0.02)),
    *((COUNT, [], {"fpr": 0.01, "algorithm": name}) for name in ("probe", "naive", "apex")),
    *((COUNT, [], {"epsilon": value}) for value in (0.5, 1, 1.0)),
    *((COUNT, [], {"spend": value}) for value in ("all", "least")),
    (COUNT, [], {"proof": "strict"}),
    (COUNT, [], {"fresh": True}),
    (COUNT, [], {"fuse": False}),
    *((SUM, [], {"margin": value}) for value in (5000, 6000, "5%", "6%", {"s": 5000}, {"s": "5%"})),
    (SUM, [], {"margin": 5000, "confidence": 0.9}),
]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        with seeded(build(tmp_path_factory.mktemp("clinic")), 7) as connection:
            yield connection


def told(plan: object) -> str:
    """All that a plan says of itself."""
    assert isinstance(plan, Plan)
    return repr(plan)


def test_the_same_question_is_planned_once(db: Connection) -> None:
    first = db.question(COUNT)
    db.question(COUNT.replace("50", "60"))
    assert db.question(COUNT) is first
    assert db.question(SUM, margin={"s": 5000}) is db.question(SUM, margin={"s": 5000})


def test_whatever_was_asked_before_a_plan_is_the_one_that_would_be_made(db: Connection) -> None:
    """In a random order, each several times, so that some are kept and some were dropped."""
    random_ = random.Random(7)
    fresh = {
        number: told(db._database.question(sql, given, **accuracy))
        for number, (sql, given, accuracy) in enumerate(ASKED)
    }
    kept = 0
    seen: dict[int, object] = {}
    for number in random_.choices(range(len(ASKED)), k=400):
        sql, given, accuracy = ASKED[number]
        plan = db.question(sql, given, **accuracy)
        assert told(plan) == fresh[number], ASKED[number]
        kept += seen.get(number) is plan
        seen[number] = plan
    assert 100 < kept < 400


def test_no_two_questions_are_told_apart_by_nothing() -> None:
    for one, other in combinations(ASKED, 2):
        assert arguments.exactly(one) != arguments.exactly(other), (one, other)


@pytest.mark.parametrize(
    "values",
    [
        (1, 1.0, True, "1", Decimal(1), Decimal("1.0"), None, [1], (1,), {1: 1}),
        (0.0, -0.0, False, 0, "", float("nan")),
        (
            NOON, NOON.replace(tzinfo=UTC), NOON.replace(hour=13, tzinfo=AN_HOUR_AHEAD),
            NOON.replace(hour=14, tzinfo=timezone(timedelta(hours=2))), NOON.date(), str(NOON),
        ),
        ({"a": 1}, {"a": 1.0}, {"a": 1, "b": 1}, {"b": 1}, [("a", 1)]),
        ([1, [2]], [[1], 2], [1, 2], [1, "2"]),
    ],
)  # fmt: skip
def test_what_is_equal_and_means_something_else_is_told_apart(values: tuple[Any, ...]) -> None:
    for one, other in combinations(values, 2):
        assert arguments.exactly(one) != arguments.exactly(other), (one, other)
    for one in values:
        assert arguments.exactly(one) == arguments.exactly(one)


def test_a_margin_that_is_changed_after_it_was_asked_for_counts(db: Connection) -> None:
    """The caller's own dictionary, in the same place."""
    margins = {"s": 5000}
    first = db.question(SUM, margin=margins)
    margins["s"] = 6000
    second = db.question(SUM, margin=margins)
    assert isinstance(first, Plan)
    assert isinstance(second, Plan)
    assert first.accuracy.margins != second.accuracy.margins


class Odd(float):
    """A number whose equality, hash and words are the caller's."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "1.0"

    __str__ = __repr__


@pytest.mark.parametrize("value", [Odd(2.5), np.float64(2.5), np.int32(2)])
def test_what_may_say_of_itself_what_it_likes_is_planned_each_time(
    db: Connection, value: Any
) -> None:
    assert db.question(OLDER, [value]) is not db.question(OLDER, [value])


def test_one_session_keeps_nothing_for_another(db: Connection) -> None:
    """Else the time would tell what somebody else asked."""
    mine, theirs = Connection(db._database, "maria"), Connection(db._database, "jo")
    assert mine.question(COUNT) is mine.question(COUNT)
    assert mine.question(COUNT) is not theirs.question(COUNT)


def test_a_very_long_query_is_not_kept(db: Connection) -> None:
    long = f"{COUNT} -- {'x' * 10_000}"
    assert db.question(long) is not db.question(long)


def test_what_was_used_longest_ago_goes_first() -> None:
    made: list[int] = []

    def make(value: int) -> int:
        made.append(value)
        return value

    recent: Recent[int] = Recent(2)
    for value in (1, 2, 1, 3, 1, 2):
        assert recent.of(value, lambda value=value: make(value)) == value  # type: ignore[misc]
    assert made == [1, 2, 3, 2]


@pytest.fixture
def _fast_turns() -> Iterator[None]:
    """Threads that are interrupted between nearly any two steps."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("_fast_turns")
def test_threads_that_share_what_was_made_get_what_they_asked_for() -> None:
    recent: Recent[int] = Recent(2)

    def ask(seed: int) -> list[tuple[int, int]]:
        keys = random.Random(seed).choices(range(4), k=20_000)
        return [(key, recent.of(key, partial(int, key))) for key in keys]

    with ThreadPoolExecutor(8) as pool:
        given = [each for one in pool.map(ask, range(8)) for each in one]
    assert all(key == made for key, made in given)
    assert len(recent._kept) <= 2


def test_what_could_not_be_made_is_made_again() -> None:
    recent: Recent[int] = Recent(2)
    with pytest.raises(ZeroDivisionError):
        recent.of("key", lambda: 1 // 0)
    assert recent.of("key", lambda: 1) == 1


def test_what_holds_itself_is_refused_by_name(db: Connection) -> None:
    """The key of a plan is made before anything is looked at."""
    endless: list[Any] = [1]
    endless.append(endless)
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    margins: dict[str, Any] = {}
    margins["s"] = margins
    for given in (endless, deep):
        with pytest.raises(ProbeError, match="parameter 1"):
            db.question(OLDER, [given])
        with pytest.raises(ProbeError, match="margin must be"):
            db.question(SUM, margin=given)
    with pytest.raises(ProbeError, match="margin must be"):
        db.question(SUM, margin=margins)
