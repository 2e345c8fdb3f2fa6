"""Whole queries on a real database: answers, charges, denials, releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe_sql.algorithms import NAMES
from probe_sql.answer import Answer, Denied
from probe_sql.errors import BudgetExhausted, InterfaceError, ProbeError, SqlError
from probe_sql.plan.explain import Explanation
from probe_sql.policy import Policy
from probe_sql.session import Outline, connect
from probe_sql.vault.duckdb_backend import DuckDBBackend
from tests.examples.clinic import POLICY, QUERY, SECRET_NAME, build, seeded

# Five groups leave little room for false ones, so the region must start small.
FINE: dict[str, Any] = {"u": 0.03, "epsilon": 3.0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return build(tmp_path)


def answered(result: Answer | Explanation | Outline) -> Answer:
    assert isinstance(result, Answer)
    return result


@pytest.mark.parametrize("algorithm", NAMES)
def test_every_algorithm_finds_the_clear_cases(path: Path, algorithm: str) -> None:
    with seeded(path, 5) as db:
        answer = answered(db.sql(QUERY, algorithm=algorithm, **FINE))
        assert answer.status == "answered"
        found = {row[0] for row in answer.rows}
        if algorithm == "apex":  # decides nothing inside its region of tolerance
            assert found <= {"polio", "shingles"}
        else:
            assert found == {"polio", "shingles"}
        assert 0 < answer.privacy.epsilon <= 3.0
        assert answer.privacy.trace
        state = db.budget
        assert state.spent == pytest.approx(answer.privacy.epsilon, abs=1e-9)
        assert answer.privacy.remaining == pytest.approx(4.0 - answer.privacy.epsilon, abs=1e-9)


def test_counts_come_with_margins_at_no_extra_charge(path: Path) -> None:
    with seeded(path, 3) as db:
        answer = answered(db.sql(QUERY, **FINE))
        counts = {row[0]: row[1] for row in answer.rows}
        assert abs(counts["shingles"] - 700) < 500
        assert all(margins[1] is not None and margins[1] > 0 for margins in answer.margins)
        assert all(margins[0] is None for margins in answer.margins)


def test_a_margin_prices_a_value_and_holds(path: Path) -> None:
    sql = QUERY.replace("count(*) AS cases", "sum(cost) AS total")
    with seeded(path, 5) as db:
        with pytest.raises(SqlError, match="margin"):
            db.sql(sql, algorithm="probe")
        assert db.budget.spent == 0
        answer = answered(db.sql(sql, margin=200_000, confidence=0.99, **FINE))
        assert answer.rows
        for row, margins in zip(answer.rows, answer.margins, strict=True):
            assert margins[1] is not None
            assert margins[1] <= 200_000
            truth = sum(10 + i % 50 for i in range({"polio": 400, "shingles": 700}[row[0]]))
            assert abs(row[1] - truth) <= margins[1]


def test_without_a_margin_values_are_drawn_beside_the_decision(path: Path) -> None:
    sql = QUERY.replace("count(*) AS cases", "sum(cost) AS total")
    with seeded(path, 5) as db:
        plan = db.explain(sql)
        assert "as much again as the decision, which may therefore use at most" in str(plan)
        answer = answered(db.sql(sql, epsilon=3.0, on_exhausted="mark"))
        decision = answer.privacy.trace[-1].epsilon
        assert decision <= 1.5
        assert answer.privacy.epsilon == pytest.approx(2 * decision, rel=1e-6)
        for row, margins in zip(answer.rows, answer.margins, strict=True):
            assert isinstance(row[1], float | int)
            assert margins[1] is not None


@pytest.mark.parametrize("algorithm", ["ladder", "probe"])
def test_a_relative_margin_holds_and_names_its_floor(path: Path, algorithm: str) -> None:
    asked = {**FINE, "algorithm": algorithm, "margin": "5% or 10 rows", "confidence": 0.99}
    with seeded(path, 7) as db:
        answer = answered(db.sql(QUERY, **asked))
        assert answer.rows
        for (name, cases), margins in zip(answer.rows, answer.margins, strict=True):
            truth = {"polio": 400, "shingles": 700}[name]
            assert margins[1] is not None
            assert abs(cases - truth) <= margins[1] <= max(0.05 * truth, 10)
        assert "the margin of cases is 5 % of it, or 10 where that is more" in answer.notices
        assert "values of the SELECT list: at most epsilon" in str(db.explain(QUERY, **asked))


def test_explain_is_free_and_reads_nothing(path: Path) -> None:
    with seeded(path, 1) as db:
        assert isinstance(db.sql("EXPLAIN " + QUERY), Explanation)
        assert db.budget.spent == 0
        assert db.ledger() == ()


def test_certain_answers_are_free(path: Path) -> None:
    with seeded(path, 1) as db:
        everyone = answered(
            db.sql("SELECT disease FROM patients GROUP BY disease HAVING count(*) >= 0")
        )
        assert len(everyone.rows) == 5
        assert everyone.privacy.epsilon == 0
        nobody = answered(
            db.sql("SELECT disease FROM patients GROUP BY disease HAVING count(*) < 0")
        )
        assert nobody.rows == ()
        assert db.budget.spent == 0


def test_a_denial_is_an_answer_and_says_what_is_known(path: Path) -> None:
    with seeded(path, 1) as db:
        answer = db.sql(QUERY, algorithm="naive", epsilon=0.001)
        assert isinstance(answer, Denied)
        assert answer.rows == ()
        assert answer.reason.startswith("ε 0.001 was not enough. The query needs at least ")
        assert "and more may follow" in answer.reason
        assert answer.privacy.epsilon == 0
        assert db.budget.spent == 0


def test_the_budget_is_never_passed(path: Path) -> None:
    with seeded(path, 2) as db:
        spent = 0.0
        for _ in range(200):
            remaining = db.budget.remaining
            try:
                answer = answered(
                    db.sql(QUERY, algorithm="naive", epsilon=min(1.0, remaining), u=0.02)
                )
            except (BudgetExhausted, ProbeError):
                break
            spent += answer.privacy.epsilon
            assert spent <= 4.0 + 1e-9
        with pytest.raises(BudgetExhausted):
            db.sql(QUERY, epsilon=db.budget.remaining + 0.5)


def test_mistakes_cost_nothing(path: Path) -> None:
    with seeded(path, 2) as db:
        for sql in (
            "SELEC",
            "SELECT x FROM patients GROUP BY x HAVING count(*) > 1",
            "DROP TABLE x",
        ):
            with pytest.raises(ProbeError):
                db.sql(sql)
        assert db.budget.spent == 0
        assert db.ledger() == ()


def test_the_ledger_tells_who_asked_what_and_no_result(path: Path) -> None:
    with seeded(path, 2) as db:
        db.sql(QUERY, **FINE)
        (entry,) = db.ledger()
        assert entry.analyst == "maria"
        assert entry.sql.strip() == QUERY.strip()
        assert entry.outcome == "answered"
        assert "shingles" not in repr(entry).replace(entry.sql, "")


def test_thresholds_per_group_and_order_and_limit(path: Path) -> None:
    sql = (
        "SELECT disease, count(*) AS n FROM patients JOIN diseases ON name = disease "
        "GROUP BY disease HAVING count(*) > diseases.cap ORDER BY n DESC LIMIT 1"
    )
    with seeded(path, 4) as db:
        answer = answered(db.sql(sql, u=0.01, epsilon=3.0))
        assert [row[0] for row in answer.rows] == ["flu"]


def test_dates_and_two_keys(path: Path) -> None:
    sql = (
        "SELECT ward, date_trunc('week', admitted) AS week FROM patients GROUP BY 1, 2 "
        "HAVING count(*) > 100 ORDER BY 1, 2"
    )
    with seeded(path, 4) as db:
        answer = answered(db.sql(sql, epsilon=3.0, on_exhausted="mark"))
        assert {row[0] for row in answer.rows} == {"A", "B", "C"}


def test_separate_scans_give_the_same_answer(path: Path) -> None:
    with seeded(path, 9) as db:
        fused = answered(db.sql(QUERY, algorithm="naive"))
        rest = answered(db.sql(QUERY, algorithm="naive", fuse=False))
        assert fused.rows
        assert {row[0] for row in fused.rows} == {row[0] for row in rest.rows}


def test_connect_is_secure_and_takes_no_seed(path: Path) -> None:
    with connect(path, POLICY, analyst="maria") as db:
        assert answered(db.sql(QUERY, algorithm="naive")).status == "answered"
    with pytest.raises(TypeError):
        connect(path, POLICY, sampler=None)  # type: ignore[call-overload]
    with pytest.raises(ProbeError):
        db.sql(QUERY)


def test_an_unlisted_analyst_is_refused(path: Path) -> None:
    with connect(path, POLICY, analyst="mallory") as db, pytest.raises(ProbeError):
        db.sql(QUERY)


def test_a_frame_needs_a_ledger() -> None:
    with pytest.raises(InterfaceError, match="ledger"):
        connect({"patients": object()}, POLICY)


def test_a_key_outside_the_domain_never_appears(path: Path) -> None:
    sql = "SELECT disease FROM patients GROUP BY disease HAVING count(*) < 30"
    with seeded(path, 4) as db:
        answer = answered(db.sql(sql, epsilon=3.0, u=0.05))
        assert SECRET_NAME not in str(answer)
        assert "unheard of" in {row[0] for row in answer.rows}


def test_asking_again_plans_once_and_anything_else_anew(path: Path) -> None:
    with connect(path, POLICY, analyst="maria") as db:
        query = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > ?"
        plan = db.plan(query, [5])
        assert db.plan(query, [5]) is plan
        assert db.plan(query, [6]).atoms != plan.atoms
        assert db.plan(query, [5.5]).atoms[0].threshold == 5
        assert db.plan(query, [5], epsilon=0.5).accuracy.epsilon == 0.5
        with pytest.raises(SqlError):
            db.plan(query, [True])


def test_connecting_checks_public_keys_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    check = DuckDBBackend.check_public_keys

    def counted(self: DuckDBBackend, policy: Policy) -> None:
        checked.append(policy)
        check(self, policy)

    monkeypatch.setattr(DuckDBBackend, "check_public_keys", counted)
    connect(path, POLICY).close()
    assert len(checked) == 1


@pytest.mark.parametrize("algorithm", NAMES)
def test_a_condition_that_leaves_no_group_gives_none(tmp_path: Path, algorithm: str) -> None:
    query = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 10 AND ward = 'Z'"
    with connect(build(tmp_path), POLICY, analyst="maria") as db:
        answer = db.sql(query, algorithm=algorithm)
    assert isinstance(answer, Answer)
    assert answer.rows == ()
