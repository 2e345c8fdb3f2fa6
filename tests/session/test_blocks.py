"""SQL around private blocks, from text to answer, on a real database, ledger and child process."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from probe_sql import Answer
from probe_sql.answer.values import Denied
from probe_sql.errors import (
    AccuracyError,
    BudgetExhausted,
    Interrupted,
    ProbeError,
    SqlError,
)
from probe_sql.outside import Sandbox
from probe_sql.policy import Resources, load_policy
from probe_sql.session import Connection, Outline, connect, explain_only
from tests.examples.clinic import POLICY, build, seeded

pytestmark = pytest.mark.service  # processes are started

WARDS = "SELECT ward, count(*) AS n FROM patients GROUP BY ward"
EXACT = {"A": 673, "B": 673, "C": 673}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


def answered(result: object) -> Answer:
    assert isinstance(result, Answer)
    assert result.status == "answered", str(result)
    return result


def ask(db: Connection, sql: str, **options: Any) -> Answer:
    return answered(db.sql(sql, **options))


# --- public tables alone ---


def test_public_tables_are_answered_free_and_exactly(database: Path) -> None:
    with seeded(database, 1) as db:
        answer = ask(db, "SELECT name, cap FROM diseases ORDER BY name LIMIT 2")
        assert answer.rows == (("flu", 500), ("gout", 500))
        first = ask(db, "SELECT name, cap FROM diseases ORDER BY name FETCH FIRST 2 ROWS ONLY")
        assert first.rows == answer.rows
        assert answer.derived == ()
        assert answer.blocks == ()
        assert answer.as_dict()["privacy"]["epsilon"] == 0
        assert db.budget.spent == 0
        assert db.ledger() == ()
        assert ask(db, "SELECT * FROM diseases WHERE cap IS NULL").rows == (("unheard of", None),)
        assert db.cursor().execute("SELECT 1 + 1 AS two").fetchall() == [(2,)]
        assert ask(db, "SELECT count(*) FROM diseases WHERE cap > ?", parameters=[10]).rows == (
            (4,),
        )


def test_the_owner_limits_what_runs_around_blocks(database: Path) -> None:
    """Before anything is charged where that is known then."""
    policy = replace(load_policy(POLICY), engine=Resources(around_rows=4))
    with connect(database, policy, analyst="maria") as db:
        with pytest.raises(ProbeError, match="diseases has more than 4 rows") as caught:
            db.sql("SELECT count(*) FROM diseases")
        assert "around_rows" in str(caught.value)
        assert ask(db, f"SELECT a.ward FROM ({WARDS}) a").rows == (("A",), ("B",), ("C",))
        with pytest.raises(ProbeError, match="gives more than 4 rows") as caught:
            db.sql(f"WITH w AS ({WARDS}) SELECT a.ward FROM w a, w b")
        assert caught.value.released
    policy = replace(load_policy(POLICY), engine=Resources(around_memory="1 KB"))
    with (
        connect(database, policy, analyst="maria") as db,
        pytest.raises(ProbeError, match="1 KB"),
    ):
        db.sql("SELECT count(*) FROM diseases")


# --- blocks, charges ---


def test_blocks_are_charged_one_by_one_and_joined_outside(database: Path) -> None:
    query = f"""
        WITH w AS ({WARDS}), ages AS (SELECT ward, avg(age) AS age FROM patients GROUP BY ward)
        SELECT ward, w.n, age, w.n * 2 + 1 AS twice, w.n / age AS odd
        FROM w JOIN ages USING (ward) ORDER BY ward DESC WITH ACCURACY (epsilon = 1)
    """
    with seeded(database, 2) as db:
        answer = ask(db, query)
        entries = db.ledger()
        assert db.budget.spent == pytest.approx(answer.privacy.epsilon)
    assert [row[0] for row in answer.rows] == ["C", "B", "A"]
    assert [name for name, _ in answer.blocks or ()] == ["w", "ages"]
    assert [entry.sql for entry in entries] == [
        "SELECT ward, count(*) AS n FROM patients GROUP BY ward",
        "SELECT ward, avg(age) AS age FROM patients GROUP BY ward",
    ]
    assert all(entry.charged <= 0.5 for entry in entries)
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        assert abs(row[1] - EXACT[row[0]]) <= 5 * (margins[1] or 0)
        assert margins[3] == pytest.approx(2 * (margins[1] or 0))
        assert margins[0] is margins[4] is None
    assert answer.derived == ("odd",)
    assert answer.confidence == 0.95
    assert "w, ages: Each value lies within its margin" in answer.privacy.sentence


@pytest.mark.parametrize(("sql", "shown"), [
    (f"SELECT n /* why */ FROM ( {WARDS} ) WITH ACCURACY (epsilon = 1)", [WARDS]),
    # With a clause of its own, in odd spellings, twice alike.
    ("select N from (select Ward, COUNT( * ) as N from PATIENTS /* all */ group by 1 "
     "WITH ACCURACY (epsilon = 0.5)), (SELECT avg(age) AS a FROM patients)",
     ["select Ward, COUNT( * ) as N from PATIENTS /* all */ group by 1 "
      "WITH ACCURACY (epsilon = 0.5)",
      "SELECT avg(age) AS a FROM patients"]),
    # What a part does not say by itself: names of WITH, released values, what is around values.
    (f"WITH p AS (SELECT * FROM patients WHERE age > 3) SELECT (SELECT count(*) FROM p), "
     f"max(n) FROM ({WARDS})", [WARDS, "/* block 2 */ ..."]),
    ("SELECT ward FROM patients GROUP BY ward HAVING count(*) > (SELECT avg(age) FROM patients)",
     ["SELECT avg(age) FROM patients", "/* block 2 */ ..."]),
    ("SELECT ward, rank() OVER (ORDER BY count(*)) FROM patients GROUP BY ward",
     ["/* block 1 */ ..."]),
    ("SELECT ward, count(*) FROM patients GROUP BY ROLLUP (ward)",
     ["/* block 1 */ ...", "/* block 2 */ ..."]),
])  # fmt: skip
def test_the_ledger_shows_what_was_typed(database: Path, sql: str, shown: list[str]) -> None:
    with seeded(database, 2) as db:
        db.sql(sql)
        found = [entry.sql for entry in db.ledger()]
    assert found == [one.replace("...", sql) for one in shown]


def test_what_the_ledger_shows_can_be_asked_again(database: Path) -> None:
    """With a placeholder, the values are not in the text: so it is for every query."""
    with seeded(database, 2) as db:
        ask(db, f"SELECT max(n) FROM ({WARDS})")
        assert ask(db, db.ledger()[0].sql).columns == ("ward", "n")
        ask(db, f"SELECT max(n) FROM ({WARDS} HAVING count(*) > ?)", parameters=[3])
        assert db.ledger()[2].sql.startswith("/* block 1 */ SELECT max(n)")


def test_the_rest_of_epsilon_is_divided_among_blocks_without_their_own(database: Path) -> None:
    query = f"""
        WITH a AS ({WARDS} WITH ACCURACY (epsilon = 0.4)), b AS (SELECT count(*) AS m FROM patients),
             c AS (SELECT sum(age) AS s FROM patients), free AS (SELECT ward FROM patients GROUP BY ward)
        SELECT a.ward, n, m, s FROM a, b, c WHERE ward IN (SELECT ward FROM free)
        WITH ACCURACY (epsilon = 1)
    """  # noqa: E501
    with seeded(database, 3) as db:
        outline = db.explain(query)
        assert isinstance(outline, Outline)
        shares = {s.block.name: s.plan.accuracy.epsilon for s in outline.program.steps if s.pays}
        assert shares == {"a": 0.4, "b": 0.3, "c": 0.3}
        assert outline.epsilon_worst == pytest.approx(1)
        assert db.budget.spent == 0
        answer = ask(db, query)
        assert answer.privacy.epsilon == pytest.approx(1)
        with pytest.raises(AccuracyError, match=r"take 0\.4, and the query may spend 0\.4"):
            db.sql(query.replace("epsilon = 1)", "epsilon = 0.4)"))


def test_own_epsilons_need_no_other(database: Path) -> None:
    query = f"SELECT max(n) FROM ({WARDS} WITH ACCURACY (epsilon = 1.5))"
    with seeded(database, 3) as db:
        assert ask(db, query).privacy.epsilon == pytest.approx(1.5)


def test_equal_blocks_are_asked_once(database: Path) -> None:
    query = f"""
        SELECT x.ward, x.n - y.m AS gap FROM ({WARDS}) x
        JOIN (SELECT p.ward, count(*) AS m FROM patients AS p GROUP BY p.ward) y USING (ward)
    """
    with seeded(database, 4) as db:
        answer = ask(db, query)
        assert len(db.ledger()) == 1
        assert "y: the same as x, asked once" in str(db.explain(query))
    assert [row[1] for row in answer.rows] == [0, 0, 0]


def test_blocks_that_differ_in_one_constant_are_two(database: Path) -> None:
    query = (
        "SELECT (SELECT count(*) FROM patients WHERE age > 40)"
        " - (SELECT count(*) FROM patients WHERE age > 41) AS d"
    )
    with seeded(database, 4) as db:
        ask(db, query)
        assert len(db.ledger()) == 2


def test_values_are_computed_from_what_was_measured(database: Path) -> None:
    """Sums of values that were moved to 0 would be too high: small groups have noise only."""
    days = "SELECT admitted, count(*) AS n FROM patients WHERE age > 119 GROUP BY admitted"
    with seeded(database, 5) as db:
        answer = ask(db, f"SELECT sum(n), min(n) FROM ({days}) WITH ACCURACY (epsilon = 0.5)")
        [(_, block)] = answer.blocks or ()
        assert answer.rows[0][0] == sum(row[1] for row in block.raw)
        assert answer.rows[0][1] == min(row[1] for row in block.raw) < 0
        assert min(row[1] for row in block.rows) == 0
        assert answer.derived == ("min(n)",)
        assert (answer.margins[0][0] or 0) > (block.margins[0][1] or 0)


def test_margins_of_sums_add_and_hold_less_often(database: Path) -> None:
    query = (
        "SELECT a.n - b.n AS gap, a.n FROM (SELECT count(*) AS n FROM patients WHERE age > 40) a,"
        " (SELECT count(*) AS n FROM patients WHERE age < 40) b"
    )
    with seeded(database, 6) as db:
        answer = ask(db, query)
    [(_, left), (_, right)] = answer.blocks or ()
    assert answer.margins[0][0] == (left.margins[0][0] or 0) + (right.margins[0][0] or 0)
    assert answer.confidence == pytest.approx(0.9)


def test_rows_of_a_union_all_keep_their_margins(database: Path) -> None:
    query = f"""
        WITH w AS ({WARDS}), old AS (SELECT count(*) AS n FROM patients WHERE age > 40)
        SELECT ward, n FROM w UNION ALL SELECT 'old', 2 * n FROM old
        UNION ALL SELECT 'all', sum(n) FROM w UNION ALL SELECT 'mean', avg(n) FROM w
        UNION ALL SELECT name, cap FROM diseases ORDER BY 1
    """
    with seeded(database, 7) as db:
        answer = ask(db, query)
        assert "n: DOUBLE, with a margin" in str(db.explain(query))
    (_, wards), (_, old) = answer.blocks or ()
    shown = {row[0]: row for row in answer.rows}
    margins = {row[0]: one[1] for row, one in zip(answer.rows, answer.margins, strict=True)}
    for row, one in zip(wards.rows, wards.margins, strict=True):
        assert (shown[row[0]], margins[row[0]]) == (row, one[1])
    assert margins["old"] == 2 * (old.margins[0][0] or 0)
    assert margins["all"] == pytest.approx(3 * (margins["mean"] or 0))
    assert (margins["A"] or 0) < (margins["all"] or 0) < 3 * (margins["A"] or 0)
    assert margins["flu"] is None
    assert answer.derived == ()
    assert answer.confidence == 0.95
    assert answer.rows == tuple(sorted(answer.rows))


def test_totals_of_a_rollup_have_margins(database: Path) -> None:
    query = "SELECT ward, count(*) AS n FROM patients GROUP BY ROLLUP (ward)"
    with seeded(database, 7) as db:
        answer = ask(db, query)
    assert [row[0] for row in answer.rows] == ["A", "B", "C", None]
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        assert abs(row[1] - EXACT.get(row[0], 3 * 673)) <= 5 * (margins[1] or 0)
    assert answer.derived == ()


def test_a_number_among_texts_has_no_margin(database: Path) -> None:
    query = "SELECT 'none' AS n UNION ALL SELECT count(*) FROM patients"
    with seeded(database, 7) as db:
        answer = ask(db, query)
    assert answer.margins == ((None,), (None,))
    assert answer.derived == ("n",)


# --- nothing is charged in vain, and nothing paid for is lost ---


@pytest.mark.parametrize("sql", [
    f"SELECT nothing FROM ({WARDS})", f"SELECT ward + n FROM ({WARDS})",
    f"SELECT pg_sleep(n) FROM ({WARDS})", f"SELECT ward FROM ({WARDS}) GROUP BY n",
    f"{WARDS} UNION SELECT 1", f"SELECT n FROM ({WARDS}) q, (SELECT first(age) FROM patients) r",
    "SELECT ward FROM patients GROUP BY ward HAVING count(*) > (SELECT name, cap FROM diseases)",
    "SELECT count(*) FROM patients WHERE disease IN (SELECT cap FROM diseases d WHERE d.x = ward)",
    f"SELECT n FROM ({WARDS}) q WITH ACCURACY (margin = (other = 5))",
])  # fmt: skip
def test_what_cannot_run_is_refused_before_anything_is_charged(database: Path, sql: str) -> None:
    with seeded(database, 12) as db:
        with pytest.raises(ProbeError) as raised:
            db.sql(sql)
        assert not raised.value.released
        assert db.budget.spent == 0
        assert db.ledger() == ()


def test_the_sum_of_all_blocks_is_admitted_first(database: Path) -> None:
    query = f"SELECT * FROM ({WARDS} WITH ACCURACY (epsilon = 3)) a, (SELECT sum(age) FROM patients WITH ACCURACY (epsilon = 3)) b"  # noqa: E501
    with seeded(database, 13) as db:
        with pytest.raises(BudgetExhausted):
            db.sql(query)
        assert db.ledger() == ()


def test_what_was_released_is_in_the_hands_of_the_error(database: Path) -> None:
    with seeded(database, 14) as db:
        with pytest.raises(SqlError, match="Could not convert string 'A'") as raised:
            db.sql(f"WITH w AS ({WARDS}) SELECT CAST(ward AS INTEGER) FROM w")
        spent = db.budget.spent
        assert spent > 0
    assert list(raised.value.released) == ["w"]
    block = raised.value.released["w"]
    assert isinstance(block, Answer)
    assert block.privacy.epsilon == pytest.approx(spent)
    assert [row[0] for row in block.rows] == ["A", "B", "C"]
    assert "error.released" in str(raised.value)


def test_a_denied_block_denies_the_whole_and_says_which(database: Path) -> None:
    query = (
        f"WITH w AS ({WARDS} WITH ACCURACY (epsilon = 0.1)), near AS (SELECT ward FROM patients"
        " GROUP BY ward HAVING count(*) > 673 WITH ACCURACY (epsilon = 0.1))"
        " SELECT * FROM w JOIN near USING (ward)"
    )
    with seeded(database, 15) as db:
        answer = db.sql(query)
        assert isinstance(answer, Denied)
        assert answer.reason.startswith("near: ")
        assert answer.privacy.epsilon == pytest.approx(db.budget.spent)
        assert [name for name, _ in answer.blocks or ()] == ["w"]
        with pytest.raises(ProbeError, match="the query was denied: near"):
            len(answer)


def test_a_denial_that_public_facts_decide_comes_before_any_charge(database: Path) -> None:
    query = (
        f"WITH w AS ({WARDS}), fine AS (SELECT count(*) AS n FROM patients WITH ACCURACY"
        " (margin = 0.001, epsilon = 0.1)) SELECT * FROM w, fine"
    )
    with seeded(database, 16) as db:
        answer = db.sql(query)
        assert isinstance(answer, Denied)
        assert answer.reason.startswith("fine: ")
        assert db.budget.spent == 0


def test_the_outer_query_that_dies_leaves_the_blocks(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Sandbox.run

    def dying(self: Sandbox, sql: str, columns: Any) -> Any:
        self._child._process.kill()
        return run(self, sql, columns)

    with seeded(database, 17) as db:
        monkeypatch.setattr(Sandbox, "run", dying)
        with pytest.raises(ProbeError, match="memory or processor time") as raised:
            db.sql(f"SELECT max(n) FROM ({WARDS})")
        assert list(raised.value.released) == ["block 1"]


# --- EXPLAIN ---


def test_explain_shows_blocks_prices_and_what_is_around(database: Path) -> None:
    query = (
        f"WITH w AS ({WARDS}) SELECT ward, n, n * n AS square FROM w"
        " WHERE n > (SELECT avg(cap) FROM diseases)"
    )
    with seeded(database, 18) as db:
        text = str(db.sql(f"EXPLAIN {query}"))
        found = db.explain(query)
        assert db.ledger() == ()
    for part in (
        "blocks      1 that read private rows", "w: at most epsilon 1", "block w",
        "groups      by ward (3 listed values)", "around them", "FROM w",
        "n: BIGINT, with a margin", "square: BIGINT, computed from noisy values",
        "cost        at most epsilon 1 is charged in all",
    ):  # fmt: skip
        assert part in text, part
    facts = found.as_dict()
    assert facts["epsilon_worst"] == pytest.approx(1)
    assert [block["name"] for block in facts["blocks"]] == ["w"]
    with pytest.raises(AttributeError, match=r"each of its \.blocks has"):
        _ = found.doubt


def test_explain_works_with_the_policy_alone() -> None:
    found = explain_only(f"SELECT max(n) FROM ({WARDS})", POLICY)
    assert isinstance(found, Outline)
    assert found.epsilon_worst == pytest.approx(1)


def test_one_block_with_nothing_around_has_the_answer_it_always_had(database: Path) -> None:
    with seeded(database, 19) as db:
        plain = ask(db, WARDS)
    database.with_name("clinic.duckdb.ledger").unlink()
    assert plain.blocks is None
    assert "blocks" not in plain.as_dict()


# --- windows over groups ---


def test_windows_beside_aggregates_compute_on_released_groups(database: Path) -> None:
    query = (
        "SELECT disease AS d, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS r,"
        " 100 * count(*) / sum(count(*)) OVER () AS share FROM patients GROUP BY 1"
        " HAVING n > 100 ORDER BY r LIMIT 2 WITH ACCURACY (epsilon = 3)"
    )
    with seeded(database, 20) as db:
        answer = ask(db, query)
        [entry] = db.ledger()
    assert [(row[0], row[2]) for row in answer.rows] == [("flu", 1), ("shingles", 2)]
    assert answer.margins[0][1] is not None
    assert answer.derived == ("r", "share")
    [(_, block)] = answer.blocks or ()
    assert answer.rows[0][3] == pytest.approx(100 * 900 / 2000, abs=1)
    assert len(block.rows) == 3
    assert entry.sql == f"/* block 1 */ {query}"


# --- cancelling ---


def test_the_sql_around_blocks_can_be_cancelled(database: Path) -> None:
    """A product of many copies of a public table does not end by itself."""
    endless = "SELECT count(*) FROM " + ", ".join(f"diseases d{i}" for i in range(20))
    ended: list[BaseException] = []

    def asks(db: Connection) -> None:
        try:
            db.sql(endless)
        except ProbeError as error:
            ended.append(error)

    with seeded(database, 21) as db:
        thread = threading.Thread(target=asks, args=(db,))
        thread.start()
        while thread.is_alive():
            db.interrupt()
            thread.join(0.1)
        assert isinstance(ended[0], Interrupted)
        with pytest.raises(ValueError, match="enough"):
            db.sql(endless, progress=enough)
        assert ask(db, "SELECT 1 AS one").rows == ((1,),)


def enough(_seconds: float) -> None:
    raise ValueError("enough")
