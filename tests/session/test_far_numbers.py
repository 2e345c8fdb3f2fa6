"""Numbers of a query that no DOUBLE shows: refused in words, before anything is reserved."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe_sql import Answer
from probe_sql.errors import AccuracyError, Refused
from probe_sql.plan.explain import Explanation
from tests.examples.clinic import build, seeded

FAR = (
    "sum(age)*1e155*1e155",
    "sum(age)*1e300*1e300",
    "avg(age)*1e155*1e153",
    "count(*)/1e155/1e155",
    "count(*) + 1e305",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("clinic"))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("value", FAR)
def test_a_value_that_no_double_shows_is_refused_and_free(source: Path, value: str) -> None:
    sql = f"SELECT ward, {value} AS n FROM patients GROUP BY ward"
    with seeded(source, 3) as db:
        spent = db.budget.spent
        for ask in (db.explain, db.sql):
            with pytest.raises(Refused, match="too large or too small to be shown") as found:
                ask(sql)
            assert found.value.why
            assert found.value.fix
            assert found.value.span is not None
        assert db.budget.spent == spent


@pytest.mark.parametrize("value", ["count(*)*1e300*1e300", "avg(age)*1e-200/1e200"])
def test_a_comparison_of_such_a_value_is_refused_and_free(source: Path, value: str) -> None:
    sql = f"SELECT ward FROM patients GROUP BY ward HAVING {value} > 1"
    with seeded(source, 3) as db:
        spent = db.budget.spent
        for ask in (db.explain, db.sql):
            with pytest.raises(Refused, match="too large or too small to be shown"):
                ask(sql)
        assert db.budget.spent == spent


def test_a_far_threshold_is_none_of_them(source: Path) -> None:
    with seeded(source, 3) as db:
        found = db.sql("SELECT ward FROM patients GROUP BY ward HAVING count(*) > 1e300")
    assert isinstance(found, Answer)
    assert found.rows == ()


@pytest.mark.parametrize("epsilon", ["1e-308", "1e-300", "1e-18"])
def test_an_epsilon_whose_noise_cannot_be_drawn_is_refused(source: Path, epsilon: str) -> None:
    asked = f"WITH ACCURACY (epsilon={epsilon})"
    sql = f"SELECT ward, count(*) AS n FROM patients GROUP BY ward {asked}"
    with seeded(source, 3) as db:
        for ask in (db.explain, db.sql):
            with pytest.raises(AccuracyError, match=r"epsilon = 1e-.* is out of range"):
                ask(sql)


@pytest.mark.parametrize(
    ("value", "margin"),
    [
        ("avg(age)", "1e308"),
        ("max(age)", "1e308"),
        ("sqrt(abs(stddev(age)))", "1e249"),
        ("1e249 / (sum(age) + 1e-249)", "1e240"),
    ],
)
def test_a_margin_as_wide_as_a_double_is_planned(source: Path, value: str, margin: str) -> None:
    sql = f"SELECT ward, {value} AS n FROM patients GROUP BY ward"
    with seeded(source, 3) as db:
        assert "cost" in str(db.explain(f"{sql} WITH ACCURACY (margin={margin})"))


@pytest.mark.parametrize("value", ["avg(age)", "avg(age) * 1e240", "median(age)"])
def test_a_margin_as_narrow_as_a_double_is_denied_and_free(source: Path, value: str) -> None:
    asked = "WITH ACCURACY (margin=1e-300)"
    sql = f"SELECT ward, {value} AS n FROM patients GROUP BY ward {asked}"
    with seeded(source, 3) as db:
        spent = db.budget.spent
        priced = db.explain(sql)
        assert isinstance(priced, Explanation)
        assert priced.epsilon_first > 1
        assert str(priced)
        denied = db.sql(sql)
        assert isinstance(denied, Answer)
        assert denied.status == "denied"
        assert db.budget.spent == spent


def test_a_confidence_that_is_rounded_to_none_is_refused(source: Path) -> None:
    asked = "WITH ACCURACY (confidence=1e-300)"
    with seeded(source, 3) as db:
        for ask in (db.explain, db.sql):
            with pytest.raises(AccuracyError, match="confidence = 1e-300 is out of range"):
                ask(f"SELECT ward, sum(cost)/sum(age) AS n FROM patients GROUP BY ward {asked}")
