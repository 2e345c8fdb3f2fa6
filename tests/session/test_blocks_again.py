"""Private blocks that were asked before, and what hangs on a block."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from probe_sql.blocks.explain import brief
from probe_sql.errors import ProbeError
from probe_sql.session import connect
from tests.examples.clinic import POLICY, build, seeded
from tests.session.test_blocks import WARDS, ask

pytestmark = pytest.mark.service  # processes are started


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


# --- asked again ---


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (SELECT count(*) FROM patients WHERE age < 30) a,"
        " (SELECT count(*) FROM patients WHERE age >= 30) b",
        f"SELECT max(n) FROM ({WARDS})",
    ],
)
def test_explain_says_first_that_kept_blocks_are_free(database: Path, query: str) -> None:
    other = "SELECT count(*) FROM patients WHERE age > 70"
    with connect(database, POLICY, analyst="maria") as db:
        costs = brief(db.explain(query, epsilon=0.3), None, 80)[0]
        assert costs == "Costs at most ε 0.300 in all."
        ask(db, query, epsilon=0.3)
        [first, *_] = brief(db.explain(query, epsilon=0.3), None, 80)
        assert re.fullmatch(rf"Free: answered on [^.]+\. Asked anew: {re.escape(costs)}", first)
        assert ask(db, query, epsilon=0.3).privacy.epsilon == 0
        # One that has to be asked is not free, whatever the others are.
        more = f"SELECT * FROM ({query}), ({other})"
        assert brief(db.explain(more, epsilon=0.3), None, 80)[0] == costs
        # What waits for another is explained by an example, which nobody asked.
        waits = "SELECT count(*) FROM patients WHERE age > (SELECT count(*) FROM patients)"
        assert brief(db.explain(waits, epsilon=0.3), None, 80)[0] == costs


def test_blocks_that_were_answered_before_are_free(database: Path) -> None:
    with connect(database, POLICY, analyst="maria") as db:
        first = ask(db, f"SELECT max(n) FROM ({WARDS}) WITH ACCURACY (epsilon = 2)")
        spent = db.budget.spent
        again = ask(db, f"SELECT min(n), max(n) FROM ({WARDS}) WITH ACCURACY (epsilon = 2)")
        assert again.rows[0][1] == first.rows[0][0]
        assert again.privacy.epsilon == 0
        assert db.budget.spent == spent
        # So they are when not enough is left to ask them.
        ask(db, "SELECT sum(age) FROM patients WITH ACCURACY (epsilon = 1.9)")
        ask(db, f"SELECT avg(n) FROM ({WARDS}) WITH ACCURACY (epsilon = 2)")


def test_a_quantile_keeps_its_margin_in_rows(database: Path) -> None:
    query = "SELECT m, m * 2 AS twice FROM (SELECT median(age) AS m FROM patients)"
    with seeded(database, 23) as db:
        answer = ask(db, query)
    [(_, block)] = answer.blocks or ()
    assert answer.ranks == ((block.ranks[0][0], None),)
    assert answer.margins == ((None, None),)
    assert answer.derived == ("twice",)
    assert answer.rows[0][0] == block.rows[0][0]


# --- what hangs on a block is not dropped ---


@pytest.mark.parametrize(("sql", "what"), [
    (f"SELECT * FROM ({WARDS}) a PIVOT (sum(n) FOR ward IN ('A', 'B'))", "with PIVOT"),
    (f"SELECT * FROM ({WARDS}) a UNPIVOT (v FOR c IN (n, ward))", "with UNPIVOT"),
    (f"SELECT * FROM ({WARDS}) a TABLESAMPLE 2 ROWS", "with SAMPLE"),
    (f"WITH a(n, ward) AS ({WARDS}) SELECT count(*) FROM patients p JOIN a ON a.ward = p.ward",
     "an alias with COLUMNS"),
])  # fmt: skip
def test_a_clause_on_a_block_is_refused_free(database: Path, sql: str, what: str) -> None:
    with seeded(database, 3) as db:
        with pytest.raises(ProbeError, match=what):
            db.sql(sql)
        assert db.budget.spent == 0
        assert db.ledger() == ()


def test_a_block_without_its_key_is_called_by_its_name(database: Path) -> None:
    with seeded(database, 3) as db:
        with pytest.raises(
            ProbeError, match=r"^a must be joined on its whole key \(ward\)"
        ) as raised:
            db.sql(f"WITH a AS ({WARDS}) SELECT count(*) FROM patients, a")
        assert "probe_sql_" not in str(raised.value)
        assert "ON a.ward = patients.ward" in str(raised.value)
        assert db.budget.spent == 0


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("trunc(sum(age))", "sum(age)"),
        ("power(avg(age), 2)", "avg(age)"),
        ("count(*) * 1.0 / sum(count(*)) OVER ()", "count(*)"),
    ],
)
def test_what_is_computed_around_a_block_says_whose_the_margin_is(
    database: Path, column: str, value: str
) -> None:
    said = f"the margin that is asked for is that of {value} of block 1; v has none"
    query = f"SELECT ward, {column} AS v FROM patients GROUP BY ward"
    with connect(database, POLICY, analyst="maria") as db:
        answer = ask(db, query, margin=2000.5)
        assert said in answer.notices
        plain = ask(db, query, epsilon=0.1)
        assert not any("margin that is asked for" in notice for notice in plain.notices)
