"""Values sharpen: a tighter margin goes on from the coarser value and pays the difference.

The proof is docs/proofs/sharpening.md; which data are the same, test_sharpen_data.py.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probe_sql import faults
from probe_sql.again import again
from probe_sql.again.keeping import usable
from probe_sql.answer import Denied
from probe_sql.errors import DataError
from probe_sql.session import Connection, Explanation, connect
from probe_sql.vault import gradual
from probe_sql.vault.noise import NOISE_LIMIT

from .again import ask, rules

pytestmark = pytest.mark.service  # processes are started

COUNTS = "SELECT ward, count(*) AS n FROM patients GROUP BY ward"
SUMS = "SELECT ward, sum(age * 1e0) AS s FROM patients GROUP BY ward"  # a sensitivity of 1,966,080
MEANS = "SELECT ward, avg(age) AS years FROM patients GROUP BY ward"
LEAST = 0.002  # the price of a scan


@pytest.fixture
def hooked() -> Iterator[None]:
    yield
    faults.install(None)


def price(db: Connection, sql: str, **options: Any) -> float:
    """What the question costs now."""
    return ask(db, sql, **options).privacy.epsilon


def told(db: Connection, sql: str, **options: Any) -> float:
    """What EXPLAIN says that it costs, where it would go on from released values."""
    explained = db.explain(sql, **options)
    assert isinstance(explained, Explanation)
    return explained.epsilon_worst if explained.sharper is None else explained.sharper.loss.epsilon


def full(source: Path, sql: str, **options: Any) -> float:
    with connect(source, rules(source.parent), analyst="maria") as db:
        explained = db.explain(sql, **options)
        assert isinstance(explained, Explanation)
        return explained.epsilon_worst


@pytest.mark.parametrize("sql", [COUNTS, COUNTS.replace("count(*)", "sum(age)")])
def test_three_analysts_pay_for_the_finest_margin_once(source: Path, sql: str) -> None:
    margins = (100, 50, 20) if sql == COUNTS else (9000, 5000, 2000)
    dearest = full(source, sql, margin=margins[-1])
    with connect(source, rules(source.parent), analyst="maria") as db:
        analysts = [Connection(db._database, name) for name in ("maria", "jo", "maria")]
        for analyst, margin in zip(analysts, margins, strict=True):
            expected = told(analyst, sql, margin=margin)
            assert price(analyst, sql, margin=margin) == pytest.approx(expected, abs=1e-9)
        assert db.budget.spent == pytest.approx(dearest, abs=1e-9)
        assert db.budget.spent >= dearest
        assert price(db, sql, margin=margins[0]) == 0  # the finest value answers the coarse ones
        db._database.ledger.audit()


def test_a_mean_sharpens_by_its_two_sums(source: Path) -> None:
    with connect(source, rules(source.parent), analyst="maria") as db:
        coarse, fine = (db.explain(MEANS, margin=margin).epsilon_worst for margin in (0.2, 0.1))
        assert price(db, MEANS, margin=0.2) == pytest.approx(coarse)
        assert told(db, MEANS, margin=0.1) == pytest.approx(fine - coarse)
        assert price(db, MEANS, margin=0.1) == pytest.approx(fine - coarse)


def test_columns_go_on_one_by_one(source: Path) -> None:
    """What is fine enough is given as it is, what is coarser sharpens, what is new is drawn."""
    both = COUNTS.replace("AS n", "AS n, count(age) AS m")
    with connect(source, rules(source.parent), analyst="maria") as db:
        first = ask(db, COUNTS, margin=20)
        second = ask(db, both, margin=20)
        assert second.raw[0][1] == first.raw[0][1]
        assert second.privacy.epsilon == pytest.approx(first.privacy.epsilon)
        finer = ask(db, both.replace("count(age)", "sum(age)"), margin={"n": 10, "m": 900})
        assert finer.status == "answered"


def test_an_epsilon_without_a_margin_sharpens_too(source: Path) -> None:
    with connect(source, rules(source.parent), analyst="maria") as db:
        assert price(db, COUNTS, epsilon=0.5) == pytest.approx(0.5)
        assert price(db, COUNTS, epsilon=0.75) == pytest.approx(0.25)
        assert price(db, COUNTS, epsilon=0.75) == 0


def test_a_margin_beyond_the_epsilon_of_one_question_is_bought_in_steps(source: Path) -> None:
    with connect(source, rules(source.parent), analyst="maria") as db:
        assert isinstance(ask(db, COUNTS, margin=10, epsilon=0.2), Denied)
        assert price(db, COUNTS, margin=20, epsilon=0.2) > 0
        assert told(db, COUNTS, margin=10, epsilon=0.2) < 0.2
        assert ask(db, COUNTS, margin=10, epsilon=0.2).status == "answered"


@pytest.mark.parametrize("first", [0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5])
def test_the_same_epsilon_for_a_sum_beside_another_value_is_a_step_that_noise_fits(
    source: Path, first: float
) -> None:
    """The shares of the two epsilons are a hair apart: closer than noise can be refined."""
    both = SUMS.replace("AS s", "AS s, count(*) AS n")
    with connect(source, rules(source.parent), analyst="maria") as db:
        price(db, SUMS, epsilon=first)
        expected = told(db, both, epsilon=2 * first)
        assert expected == pytest.approx(first, abs=1e-6)
        assert price(db, both, epsilon=2 * first) == pytest.approx(expected, abs=1e-11)
        assert db.budget.spent <= 2 * first * (1 + 1e-6)
        assert price(db, SUMS, epsilon=first) == 0


@pytest.mark.parametrize("more", [1e-15, 1e-13, 1e-11, 1e-9])
def test_an_epsilon_a_hair_larger_is_answered(source: Path, more: float) -> None:
    with connect(source, rules(source.parent), analyst="maria") as db:
        price(db, SUMS, epsilon=0.1)
        assert price(db, SUMS, epsilon=0.1 + more) <= LEAST
        assert price(db, COUNTS, epsilon=0.1) == pytest.approx(0.1)  # the account is open


def test_a_step_that_noise_cannot_make_is_drawn_afresh_and_said(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(source, rules(source.parent), analyst="maria") as db:
        price(db, SUMS, epsilon=0.1)
        monkeypatch.setattr(again, "next_level", lambda *_: None)
        assert told(db, SUMS, epsilon=0.2) == pytest.approx(0.2)
        assert price(db, SUMS, epsilon=0.2) == pytest.approx(0.2)


def test_the_rehearsal_is_the_second_wall(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the choice of the level taken away, the same query is refused and nothing charged."""
    with connect(source, rules(source.parent), analyst="maria") as db:
        price(db, SUMS, epsilon=0.1)
        spent = db.budget.spent
        monkeypatch.setattr(gradual, "next_level", lambda _before, asked, _delta: asked)
        monkeypatch.setattr(again.Again, "_follow", lambda *_: None)
        with pytest.raises(DataError, match="fit"):
            db.sql(SUMS, epsilon=0.1 + 1e-13)
        assert db.budget.spent == spent


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        (COUNTS, {"margin": 20, "fresh": True}),
        (COUNTS, {"margin": "5%"}),
        ("SELECT ward, median(age) AS m FROM patients GROUP BY ward", {"margin": 30}),
        (f"{COUNTS} HAVING count(*) > 1", {"margin": 20}),
        (COUNTS.replace(" GROUP", " WHERE age > 1 GROUP"), {"margin": 20}),
        (COUNTS.replace("*", "age"), {"margin": 20}),
        (COUNTS.replace("count(*)", "count(*) FILTER (WHERE age > 1)"), {"margin": 20}),
        ("SELECT disease, count(*) AS n FROM patients GROUP BY disease", {"margin": 20}),
        ("SELECT count(*) AS n FROM patients", {"margin": 20}),
    ],
)
def test_what_is_another_value_is_drawn_afresh(
    source: Path, sql: str, options: dict[str, Any]
) -> None:
    with connect(source, rules(source.parent), analyst="maria") as db:
        ask(db, COUNTS, margin=30)
        explained = db.explain(sql, **options)
        assert isinstance(explained, Explanation)
        assert explained.sharper is None
        if not options.get("fresh") and "HAVING" not in sql:
            spent = ask(db, sql, **options).privacy.epsilon
            assert 0 < spent <= explained.epsilon_worst + 1e-9


def test_the_owner_and_the_analyst_can_have_none_of_it(source: Path) -> None:
    whole = full(source, COUNTS, margin=20)
    for line in ('sharpen = "off"', 'answers = "none"'):
        with connect(source, rules(source.parent, line), analyst="maria") as db:
            ask(db, COUNTS, margin=50, fresh=True)
            assert told(db, COUNTS, margin=20) == pytest.approx(whole)
            assert price(db, COUNTS, margin=20) == pytest.approx(whole)
    with connect(source, rules(source.parent, 'answers = "own"'), analyst="maria") as db:
        jo = Connection(db._database, "jo")
        ask(db, COUNTS, margin=50)
        assert told(jo, COUNTS, margin=20) == pytest.approx(whole)
        assert price(jo, COUNTS, margin=20) == pytest.approx(whole)
        assert price(db, COUNTS, margin=20) < whole


def test_explain_says_it(source: Path) -> None:
    with connect(source, rules(source.parent), analyst="maria") as db:
        ask(db, COUNTS, margin=50)
        explained = db.explain(COUNTS, margin=20)
        assert isinstance(explained, Explanation)
        assert explained.sharper is not None
        assert "going on from the values of" in str(explained)
        assert explained.as_dict()["sharper"]["epsilon"] == explained.sharper.loss.epsilon
        assert explained.sharper.loss < explained.worst_loss
        assert db.explain(COUNTS, margin=60).sharper is None


def test_saturated_sums_are_not_gone_on_from() -> None:
    assert usable(np.array([NOISE_LIMIT - 1, 1 - NOISE_LIMIT]))
    assert not usable(np.array([0, NOISE_LIMIT]))
    assert not usable(np.array([-NOISE_LIMIT, 0]))


def test_sums_over_released_groups_are_free(source: Path) -> None:
    """Answers from answers: coarser groups of what was released, with a margin, without a scan."""
    fine = "SELECT admitted, ward, count(*) AS n FROM patients GROUP BY admitted, ward"
    with connect(source, rules(source.parent), analyst="maria") as db:
        ask(db, fine, margin=20)
        spent = db.budget.spent
        whole = ask(db, f"SELECT sum(n) AS n FROM ({fine}) q", margin=20)
        wards = ask(db, f"SELECT ward, sum(n) AS n FROM ({fine}) q GROUP BY ward", margin=20)
        assert db.budget.spent == spent
        assert whole.raw[0][0] == sum(row[1] for row in wards.raw)
        assert 20 < (wards.margins[0][1] or 0) < (whole.margins[0][0] or 0) < 42 * 20 / 3


# --- at the same time, and cut off -------------------------------------------------------------


@pytest.mark.usefixtures("hooked")
def test_two_that_go_on_from_one_value_at_once(source: Path) -> None:
    """Negative control of the price: the second is not charged as if it had been alone."""
    whole, coarse = (full(source, COUNTS, margin=margin) for margin in (20, 50))
    with connect(source, rules(source.parent), analyst="maria") as db:
        jo = Connection(db._database, "jo")
        ask(db, COUNTS, margin=50)
        inner: list[float] = []

        def meanwhile(point: str) -> None:
            """Jo asks the same while maria's query holds the head."""
            if point == "session.reserved" and not inner:
                inner.append(-1.0)
                inner[0] = price(jo, COUNTS, margin=20)

        faults.install(meanwhile)
        outer = price(db, COUNTS, margin=20)
        assert inner[0] == pytest.approx(whole)  # afresh, in full
        assert outer == pytest.approx(whole - coarse)
        assert db.budget.spent == pytest.approx(2 * whole)


@pytest.mark.usefixtures("hooked")
def test_whoever_comes_second_takes_what_the_first_has_drawn(source: Path) -> None:
    """The head moves between the look and the reservation: look again, and charge nothing twice."""
    whole, coarse = (full(source, COUNTS, margin=margin) for margin in (20, 50))
    with connect(source, rules(source.parent), analyst="maria") as db:
        jo = Connection(db._database, "jo")
        ask(db, COUNTS, margin=50)
        inner: list[float] = []

        def meanwhile(point: str) -> None:
            if point == "ledger.reserve.before" and not inner:
                inner.append(-1.0)
                inner[0] = price(jo, COUNTS, margin=30)

        faults.install(meanwhile)
        outer = price(db, COUNTS, margin=20)
        assert coarse + inner[0] + outer == pytest.approx(whole)
        assert db.budget.spent == pytest.approx(whole)


def _die(source: str, policy: str, point: str) -> None:
    import os
    import signal

    def hook(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    with connect(source, policy, analyst="maria") as db:
        faults.install(hook)
        db.sql(COUNTS, margin=20)


UNCHARGED = ("ledger.reserve.before", "ledger.reserve.inserted")
GIVEN_BACK = (
    "ledger.reserve.committed", "ledger.reserve.anchoring", "ledger.reserve.anchored",
    "session.reserved", "vault.scan.before", "vault.scan.after", "session.scanned",
    "ledger.draw.before", "ledger.draw.inserted",
)  # fmt: skip
BURNT = (
    "ledger.draw.committed", "ledger.draw.anchoring", "ledger.draw.anchored", "session.drawing",
    "vault.draw.before", "vault.draw.after", "session.decided", "ledger.settle.before",
    "ledger.settle.kept", "ledger.settle.inserted",
)  # fmt: skip
SETTLED = ("ledger.settle.committed", "session.settled")
QUICK = ("session.scanned", "vault.draw.after", "ledger.settle.inserted", *SETTLED[:1])
POINTS = [point for point in faults.POINTS if not point.startswith("ledger.create")]


def test_every_point_has_its_place_in_the_table() -> None:
    assert sorted(POINTS) == sorted((*UNCHARGED, *GIVEN_BACK, *BURNT, *SETTLED))
    text = (
        (Path(__file__).parents[2] / "docs/proofs/sharpening.md").read_text().partition("## 5.")[2]
    )
    lines = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    written = [tuple(re.findall(r"`([a-z.]+)`", line)) for line in lines]
    assert written == [UNCHARGED, GIVEN_BACK, BURNT, SETTLED]


@pytest.mark.parametrize(
    "point",
    [pytest.param(p, marks=() if p in QUICK else pytest.mark.slow) for p in POINTS],
)
def test_killed_while_it_goes_on(source: Path, point: str) -> None:
    """The table of faults: whose head is where after a process died at this point."""
    policy = rules(source.parent, 'version = "May"')
    with connect(source, policy, analyst="maria") as db:
        coarse = price(db, COUNTS, margin=50)
        worst = db.explain(COUNTS, margin=20).epsilon_worst
    child = multiprocessing.get_context("fork").Process(
        target=_die, args=(str(source), str(policy), point)
    )
    child.start()
    child.join()
    assert child.exitcode == -9
    with connect(source, policy, analyst="maria") as db:
        before = db.budget.spent
        spent = price(db, COUNTS, margin=20)
        if point in UNCHARGED or point in GIVEN_BACK:  # it had drawn nothing
            assert spent == pytest.approx(worst - coarse)
        elif point in BURNT:  # perhaps it had: afresh, and the reservation stays charged
            assert before == pytest.approx(coarse + 20.0)
            assert spent == pytest.approx(worst)
        else:  # what was settled is kept
            assert before == pytest.approx(worst)
            assert spent == 0
        db._database.ledger.audit()
