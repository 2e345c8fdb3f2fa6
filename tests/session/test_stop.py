"""Failures that stop a user: which ones count, and that no more of them are told."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import ProbeError, ScanError, Stopped
from probe_sql.owner import record
from probe_sql.session import connect
from probe_sql.vault.failures import Failure, scan_error
from tests.examples.clinic import POLICY, QUERY, build, seeded

from .test_prices import CHEAP, failing


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


def ended(database: Path, *failures: Failure | None) -> list[ProbeError | None]:
    """How queries end that scan side by side, one after the other, with these failures."""
    errors: list[ProbeError | None] = [None] * len(failures)
    began, done = threading.Barrier(len(failures)), [threading.Event() for _ in failures]

    def ask(index: int) -> None:
        with connect(database, POLICY, analyst="maria") as db:
            measure = db._database.backend.measure

            def measured(*arguments: Any) -> Any:
                began.wait(30)
                if index:
                    assert done[index - 1].wait(30)
                failure = failures[index]
                if failure is not None:
                    raise scan_error(failure)
                return measure(*arguments)

            vars(db._database.backend)["measure"] = measured
            try:
                db.sql(CHEAP, epsilon=0.5)
            except ProbeError as error:
                errors[index] = error
            done[index].set()

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(len(failures))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_scans_side_by_side_tell_no_more_failures_than_the_policy_allows(database: Path) -> None:
    """After the one that stops the user, nobody can tell whether the others failed as well."""
    first, second, third, last = ended(database, None, Failure.OTHER, Failure.TIMEOUT, None)
    assert first is None
    assert isinstance(second, ScanError)
    assert isinstance(third, Stopped)
    assert isinstance(last, Stopped)
    assert str(third) == str(last)
    assert third.__context__ is third.__cause__ is last.__context__ is last.__cause__ is None
    entries = record(database, POLICY)
    outcomes = sorted(entry.outcome for entry in entries)
    assert [outcome for outcome in outcomes if ":" in outcome] == [
        "failed: other", "interrupted: stopped", "interrupted: stopped",
    ]  # fmt: skip
    assert {entry.charged for entry in entries if "interrupted" in entry.outcome} == {0.1}


def test_closing_while_a_scan_runs_costs_a_failure_and_stops_no_one(database: Path) -> None:
    with seeded(database, 1) as db:

        def closed(*_: Any) -> Any:
            db.close()
            raise RuntimeError("whatever a closed engine raises")

        vars(db._database.backend)["measure"] = closed
        with pytest.raises(RuntimeError):
            db.sql(QUERY)
    with seeded(database, 1) as db:
        assert [entry.outcome for entry in db.ledger()] in (["interrupted: closed"], ["died"])
        assert db.budget.spent == 0.1
        db.sql(QUERY)


def test_a_scan_that_the_engine_fails_counts_though_the_connection_is_closed(
    database: Path,
) -> None:
    """Else whoever closes at the right moment could ask by failures for ever."""
    with seeded(database, 1) as db:

        def closed(*_: Any) -> Any:
            db._closed = True
            raise scan_error(Failure.OTHER)

        vars(db._database.backend)["measure"] = closed
        with pytest.raises(ScanError):
            db.sql(QUERY)
        db._closed = False
    with seeded(database, 1) as db, pytest.raises(Stopped):
        db.sql(QUERY)


def test_a_right_that_is_missing_for_some_row_counts(database: Path) -> None:
    """A function in a view may ask for a right for some rows only."""
    with seeded(database, 1) as db:
        failing(db, Failure.DENIED)
        with pytest.raises(ScanError, match=r"charged: epsilon 0\.1.*may not ask"):
            db.sql(QUERY)
        with pytest.raises(Stopped):
            db.sql(QUERY)


class Chameleon(str):
    """Text that says of itself that it equals everything."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def test_text_that_equals_every_other_is_planned_and_recorded_as_what_it_is(
    database: Path,
) -> None:
    other = CHEAP.replace("500", "400")
    with seeded(database, 1) as db:
        db.sql(Chameleon(CHEAP))
        assert db.plan(Chameleon(other)).query.sql == other
        db.sql(Chameleon(other))
        assert [entry.sql for entry in db.ledger()] == [CHEAP, other]
        first, second = (
            db.plan(
                "SELECT disease FROM patients WHERE disease = ? GROUP BY disease HAVING"
                " count(*) > 1",
                [Chameleon(value)],
            )
            for value in ("a", "b")
        )
        assert first is not second
