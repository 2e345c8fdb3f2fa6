"""An answer that was given before opens again by its name, for nothing, and for whom it may."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe_sql.owner import build_demo
from probe_sql.reopening import kept, kept_names, reopen
from probe_sql.session import Connection, connect

QUERY = "SELECT disease, count(*) AS n FROM patients GROUP BY disease HAVING count(*) > 12000"
VALUES = "SELECT ward, count(*) AS n FROM patients GROUP BY ward WITH ACCURACY (epsilon = 0.1)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_demo(tmp_path)
    return tmp_path


def opened(folder: Path, analyst: str = "maria", reuse: str = "") -> Connection:
    policy = folder / "clinic.toml"
    if reuse:
        policy.write_text(policy.read_text() + f"\n[reuse]\n{reuse}\n")
    return connect(str(folder / "clinic.duckdb"), str(policy), analyst=analyst)


def test_answers_open_by_their_names_and_cost_nothing(folder: Path) -> None:
    with opened(folder) as db:
        answers = [
            db.sql(QUERY),
            db.sql(QUERY.replace("12000", "11000"), fdr=0.2, epsilon=0.3),  # options beside it
            db.sql(VALUES),
        ]
        names, spent = kept_names(db), db.budget.spent
        assert len(names) == 3
        for number, answer in zip(sorted(names), answers, strict=True):
            found = reopen(db, names[number])
            assert found is not None
            assert found.own
            assert found.entry.number == number
            assert found.answer.rows == answer.rows  # type: ignore[union-attr]
            assert found.answer.privacy.guarantee == answer.privacy.guarantee  # type: ignore[union-attr]
        assert db.budget.spent == spent
        assert [entry.replays for entry in db.ledger()] == [1, 1, 1]
        reopen(db, names[min(names)], counted=False)
        assert next(iter(db.ledger())).replays == 1
        assert kept(db, QUERY) == names[min(names)]


def test_who_does_not_know_the_name_learns_nothing(folder: Path) -> None:
    with opened(folder) as db:
        db.sql(QUERY)
        [name] = kept_names(db).values()
        number, _, mark = name.partition("-")
        for wrong in (number, f"{number}-", f"{number}-{mark[:-1]}", f"{number}-{mark}0", "",
                      "-", f"2-{mark}", f"{'9' * 40}-{mark}", f"²-{mark}"):  # fmt: skip
            assert reopen(db, wrong) is None


def test_names_of_the_same_question_differ(folder: Path) -> None:
    """A name is made of the answer, so that nobody finds one out from the question."""
    with opened(folder) as db:
        fresh = QUERY + " WITH ACCURACY (fresh = true, epsilon = 0.1)"
        for _ in range(3):
            db.sql(fresh)
        marks = {name.partition("-")[2] for name in kept_names(db).values()}
        assert len(marks) == 3
        assert kept(db, fresh) is None


@pytest.mark.parametrize(
    ("reuse", "others"), [('answers = "shared"', True), ('answers = "own"', False)]
)
def test_the_policy_says_who_may_open_them(folder: Path, reuse: str, others: bool) -> None:
    with opened(folder, "maria", reuse) as db:
        db.sql(QUERY)
        [name] = kept_names(db).values()
    with opened(folder, "noor") as db:
        found = reopen(db, name)
        assert (found is not None) == others
        assert found is None or not found.own
        assert kept_names(db) == {}


def test_an_owner_who_keeps_no_answers_gives_none(folder: Path) -> None:
    with opened(folder) as db:
        db.sql(QUERY)
        [name] = kept_names(db).values()
    with opened(folder, reuse='answers = "none"') as db:
        assert reopen(db, name) is None
