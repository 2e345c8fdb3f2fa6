"""Budgets of periods: no row is charged beyond its period's, whatever is asked in which order."""

from __future__ import annotations

import random
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import BudgetExhausted, LedgerError
from probe_sql.ledger import Ledger, Receipt, chain, store
from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.chain import Hold
from probe_sql.ledger.dated import PeriodLimit, Timeline
from probe_sql.loss import Loss
from probe_sql.periods import EVERY, EVERYTHING, Pays, first_of, following, whole_periods
from probe_sql.policy.model import Budget, Periods

OpenLedger = Callable[..., Ledger]
StartWorker = Callable[..., "subprocess.Popen[str]"]

FIRST, LAST = date(2024, 1, 1), date(2024, 12, 31)
SMALL: dict[str, Any] = {"least": 1e-12, "failure": 1e-12, "holds": 1000}
BUDGET = Budget(epsilon=10.0, periods=Periods("day", "month", 1.0, FIRST, LAST), **SMALL)


def month(number: int, last: int | None = None) -> Pays:
    """The days of a month of 2024, or of all to another one."""
    return Pays(
        "day", whole_periods([(date(2024, number, 1), date(2024, last or number, 1))], "month")
    )


def spend(ledger: Ledger, epsilon: float, pays: Pays = EVERYTHING) -> Receipt:
    """A reservation that stays charged whatever happens."""
    receipt = ledger.reserve("maria", Loss.asked(epsilon), sql="SELECT 1", pays=pays)
    ledger.draw(receipt)
    return receipt


def left(ledger: Ledger, pays: Pays = EVERYTHING) -> float:
    return ledger.state(None, pays).remaining


def test_each_period_has_its_own_budget(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(budget=BUDGET)
    spend(ledger, 0.75, month(3))
    spend(ledger, 0.5, month(2, 2))
    assert (left(ledger, month(3)), left(ledger, month(2)), left(ledger, month(4))) == (
        0.25,
        0.5,
        1,
    )
    with pytest.raises(BudgetExhausted, match=r"0\.25 of the budget of the month 2024-03 of day"):
        spend(ledger, 0.5, month(3, 5))
    spend(ledger, 0.5, month(4, 12))
    assert ledger.state().spent == 1.75
    assert [(one.name, one.spent) for one in ledger.state().periods] == [
        ("2024-01", 0), ("2024-02", 0.5), ("2024-03", 0.75), ("2024-04 to 2024-12, each", 0.5),
    ]  # fmt: skip


def test_what_names_no_days_is_charged_to_every_period(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(budget=BUDGET)
    spend(ledger, 0.25)
    assert left(ledger, month(7)) == left(ledger) == 0.75
    spend(ledger, 0.5, month(1))
    assert left(ledger) == 0.25  # the period that has spent most decides
    with pytest.raises(BudgetExhausted, match="2024-01"):
        spend(ledger, 0.5)
    spend(ledger, 0.75, month(2))


def test_a_settlement_gives_back_to_the_periods_that_paid(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(budget=BUDGET)
    receipt = spend(ledger, 1.0, month(3))
    assert left(ledger, month(3)) == 0
    ledger.settle(receipt, Loss.asked(0.25), outcome="answered")
    assert (left(ledger, month(3)), left(ledger, month(4))) == (0.75, 1.0)


def test_the_whole_budget_and_that_of_an_analyst_hold_beside_it(open_ledger: OpenLedger) -> None:
    ledger = open_ledger(budget=replace(BUDGET, epsilon=1.5, analysts={"maria": 1.25, "jo": 1.5}))
    spend(ledger, 1.0, month(1))
    with pytest.raises(BudgetExhausted, match="analyst 'maria'"):
        spend(ledger, 0.5, month(2))
    assert ledger.state("maria", month(2)).remaining == 0.25
    assert ledger.state("jo", month(2)).remaining == 0.5
    assert ledger.state("jo", EVERYTHING).remaining == 0.0  # January has spent its own
    assert ledger.state("jo").remaining == 0.5  # and a question about another month may cost this
    assert ledger.state("maria").unspent == 0.25


@pytest.mark.parametrize("every", EVERY)
def test_another_length_or_column_is_no_fresh_budget(open_ledger: OpenLedger, every: str) -> None:
    ledger = open_ledger(budget=BUDGET)
    spend(ledger, 0.5, month(1))
    spend(ledger, 0.25, month(3))
    ledger.close()
    for column, spent in (("day", None), ("seen", 0.75)):
        budget = replace(BUDGET, periods=Periods(column, every, 1.0, FIRST, LAST))
        with open_ledger(budget=budget) as other:
            other.allow()
            most = other.state().periods
            if spent is None:  # months of one quarter or year: both count
                spent = 0.75 if every in ("quarter", "year") else 0.5
            assert max(one.spent for one in most) == spent
            assert left(other) == 1 - spent


def test_the_smaller_of_policy_and_entry_holds_for_periods(open_ledger: OpenLedger) -> None:
    with open_ledger(budget=BUDGET) as ledger:
        spend(ledger, 0.75, month(1))
    assert BUDGET.periods is not None
    more = replace(BUDGET, periods=replace(BUDGET.periods, epsilon=2.0))
    none = replace(BUDGET, periods=None)
    for budget in (more, none, replace(BUDGET, periods=Periods("seen", "year", 5.0))):
        ledger = open_ledger(budget=budget)
        assert left(ledger, month(1)) == 0.25  # what the entry says still holds
        assert ledger.withheld() is not None
        with pytest.raises(BudgetExhausted, match="probe-sql ledger DB --budget"):
            spend(ledger, 0.5, month(1))
    ledger = open_ledger(budget=none)
    ledger.allow()
    assert left(ledger, month(1)) == 9.25


def test_periods_declared_later_count_what_was_spent_before(open_ledger: OpenLedger) -> None:
    with open_ledger(budget=replace(BUDGET, periods=None)) as ledger:
        spend(ledger, 0.75)
    ledger = open_ledger(budget=BUDGET)
    assert left(ledger, month(1)) == left(ledger, month(12)) == 0.25


def test_an_older_file_is_upgraded_and_its_charges_count_everywhere(
    path: Path, open_ledger: OpenLedger
) -> None:
    with open_ledger(budget=replace(BUDGET, periods=None)) as ledger:
        spend(ledger, 0.75)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 4")
    db.close()
    with open_ledger(budget=BUDGET) as ledger:
        assert left(ledger, month(5)) == 0.25
        ledger.audit()
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (5,)
    db.close()


def test_what_an_older_copy_forgot_counts_in_every_period(
    path: Path, open_ledger: OpenLedger
) -> None:
    with open_ledger(budget=BUDGET) as ledger:
        spend(ledger, 0.25, month(1))
    old = path.read_bytes()
    with open_ledger(budget=BUDGET) as ledger:
        spend(ledger, 0.5, month(2))
    path.write_bytes(old)
    with Ledger.adopt(path, budget=BUDGET, identity="clinic"):
        pass
    ledger = open_ledger(budget=BUDGET)
    assert (left(ledger, month(1)), left(ledger, month(7))) == (0.25, 0.5)


def test_snapshots_carry_what_the_periods_have_spent(
    open_ledger: OpenLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (chain, store):
        monkeypatch.setattr(module, "SNAPSHOT_EVERY", 4)
    with open_ledger(budget=BUDGET) as ledger:
        for number in (1, 2, 3, 1):
            ledger.settle(spend(ledger, 0.25, month(number)), Loss.asked(0.125), outcome="denied")
        spend(ledger, 0.25, month(1, 12))
    ledger = open_ledger(budget=BUDGET)
    assert (left(ledger, month(1)), left(ledger, month(2)), left(ledger)) == (0.5, 0.625, 0.5)
    ledger.audit()


def test_days_that_were_edited_are_found(path: Path, open_ledger: OpenLedger) -> None:
    with open_ledger(budget=BUDGET) as ledger:
        spend(ledger, 0.25, month(1))
    with sqlite3.connect(path) as db:
        db.execute("DROP TRIGGER log_no_update")
        db.execute("UPDATE log SET hold = replace(hold, '2024-01-31', '2024-01-01')")
        db.execute(
            "CREATE TRIGGER log_no_update BEFORE UPDATE ON log BEGIN"
            " SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        )
    db.close()
    with pytest.raises(LedgerError, match="edited"):
        open_ledger(budget=BUDGET)


@pytest.mark.parametrize(
    "said",
    [
        ["day", []], ["day", [["2024-02-01", "2024-01-01"]]],
        [None, [["2024-02-01", "2024-02-01"]]],
        ["day", [["2024-02-01", "2024-02-09"], ["2024-02-03", "2024-02-11"]]], ["day"],
        ["day", [["20240201", "2024-02-09"]]],
    ],
)  # fmt: skip
def test_days_that_no_version_wrote_are_refused(said: list[object]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of them breaks the chain
        Pays.load(said)
    assert Pays.load(month(1, 3).dump()) == month(1, 3)


def test_a_hold_of_every_day_is_written_as_before() -> None:
    hold = Hold("u", "p", 1, 2)
    assert hold.dump() == '{"failure": 2, "least": 1, "process": "p", "user": "u"}'
    assert Hold.load(replace(hold, pays=month(1)).dump()).pays == month(1)


def test_an_allowance_with_periods_reads_back() -> None:
    both = Allowance.of(BUDGET)
    assert Allowance.load(both.dump()) == both
    assert str(both) == "epsilon 10 in all, 1 for each month of day"
    assert Allowance(1, None).dump() == "[1, null]"


def _spent(charges: Iterable[tuple[Pays, int]], limit: PeriodLimit, first: date) -> int:
    """What a period has spent, charge by charge."""
    end = following(first, limit.every)
    return sum(
        units
        for pays, units in charges
        if pays.column != limit.column or any(a < end and b >= first for a, b in pays.spans)
    )


def _starts(limit: PeriodLimit) -> list[date]:
    return sorted({first_of(FIRST + timedelta(days=i), limit.every) for i in range(366)})


def _random_pays(rng: random.Random) -> Pays:
    if rng.random() < 0.2:
        return EVERYTHING
    spans = []
    for _ in range(rng.randint(1, 3)):
        start = FIRST + timedelta(days=rng.randrange(360))
        spans.append((start, min(LAST, start + timedelta(days=rng.randrange(90)))))
    return Pays(rng.choice(("day", "day", "seen")), whole_periods(spans, rng.choice(EVERY)))


def test_the_timeline_is_the_sum_of_the_charges() -> None:
    rng = random.Random(7)
    for _ in range(60):
        charges = [(_random_pays(rng), rng.randint(1, 9)) for _ in range(rng.randint(0, 8))]
        limit = PeriodLimit(rng.choice(("day", "seen")), rng.choice(EVERY), 100)
        whole = sum(units for pays, units in charges if pays == EVERYTHING)
        named = [one for one in charges if one[0] != EVERYTHING]
        line = Timeline.of(limit, whole, named)
        starts = _starts(limit)
        spent = {first: _spent(charges, limit, first) for first in starts}
        assert line.most(EVERYTHING)[0] == max(spent.values())
        asked = _random_pays(rng)
        reached = [f for f in starts if _spent([(asked, 1)], limit, f)]
        assert line.most(asked)[0] == max(spent[first] for first in reached)
        for (start, end), units in line.runs((starts[0], LAST)):
            assert {spent[f] for f in starts if start <= f <= end} == {units}


def test_no_period_is_ever_charged_beyond_its_budget(open_ledger: OpenLedger) -> None:
    """A model: random questions, settlements and openings, with policies that change."""
    rng = random.Random(11)
    charges: dict[int, tuple[Pays, int]] = {}
    waiting: list[Receipt] = []
    refused = 0
    for _ in range(8):
        periods = Periods(
            rng.choice(("day", "seen")), rng.choice(EVERY), rng.choice((1.0, 2.0)), FIRST, LAST
        )
        ledger = open_ledger(budget=replace(BUDGET, epsilon=6.0, periods=periods))
        if rng.random() < 0.5:
            ledger.allow()
        for _ in range(12):
            if waiting and rng.random() < 0.4:
                receipt = waiting.pop()
                units = rng.randrange(1, receipt.units + 1)
                ledger.settle(receipt, Loss(units), outcome="answered")
                charges[receipt.number] = charges[receipt.number][0], units
                continue
            pays, epsilon = _random_pays(rng), rng.choice((0.125, 0.25, 0.5))
            try:
                receipt = spend(ledger, epsilon, pays)
            except BudgetExhausted:
                refused += 1
                continue
            waiting.append(receipt)
            charges[receipt.number] = pays, receipt.units
            for limit in ledger._allowance().periods:
                for first in _starts(limit):
                    spent = _spent(charges.values(), limit, first)
                    assert spent <= limit.units or not _spent([(pays, 1)], limit, first)
        waiting = []  # their receipts are of a ledger that is closed
        ledger.close()
        assert sum(units for _, units in charges.values()) <= 6 * 10**12
    assert refused > 10


def test_processes_that_ask_of_one_period_spend_it_to_the_last_unit(
    open_ledger: OpenLedger, start: StartWorker
) -> None:
    budget = replace(BUDGET, periods=Periods("day", "month", 1e-10, FIRST, LAST))
    workers = [start("spend_month", units, number) for units, number in ((7, 1), (11, 1), (13, 2))]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    told = [0, 0, 0]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for index, worker in enumerate(workers):
        output, trouble = worker.communicate(timeout=60)
        assert worker.returncode == 0, trouble
        told[index] = sum(int(line.split()[1]) for line in output.splitlines())
    assert (told[0] + told[1], told[2]) == (100, 100)
    ledger = open_ledger(budget=budget)
    ledger.audit()
    assert (left(ledger, month(1)), left(ledger, month(2))) == (0, 0)
    assert ledger.state(None, month(3)).remaining_units == 100
