"""Blocks share a charge where no row can be in two of them, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest

from probe_sql import Answer
from probe_sql.blocks.program import Program
from probe_sql.blocks.receipts import _Able
from probe_sql.errors import BudgetExhausted, ProbeError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, load_policy
from probe_sql.policy.model import Unit
from probe_sql.session import Outline, connect, explain_only
from tests.examples.clinic import POLICY, build, seeded
from tests.examples.hospital import policy

pytestmark = pytest.mark.service  # processes are started

TWO = (
    "SELECT * FROM (SELECT count(*) AS a FROM patients WHERE {}) x, "
    "(SELECT count(*) AS b FROM patients WHERE {}) y WITH ACCURACY (epsilon = 0.4)"
)
X = "(SELECT count(*) AS a FROM patients WHERE age < 30{}) x"
Y = "(SELECT count(*) AS b FROM patients WHERE age >= 30{}) y"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A clinic of which nothing was asked yet."""
    return build(tmp_path)


def outlined(query: str, rules: Policy, **options: Any) -> Outline:
    found = explain_only(query, rules, **options)
    assert isinstance(found, Outline)
    return found


def receipts(program: Program) -> list[list[str]]:
    """The blocks of each charge."""
    return [
        [step.block.name] if step.receipt is None else list(step.receipt.names)
        for step in program.steps
        if step.leads
    ]


# --- what shares ---


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ward = 'A'", "ward = 'B'"),
        ("age < 30", "age >= 30"),
        ("30 > age", "age >= 30"),
        ("ward IN ('A', 'B') AND age > 3", "ward = 'C' AND age > 7"),
        ("age > 5 AND ward = 'A'", "age > 5 AND NOT ward = 'A'"),  # a part of WHERE is common
    ],
)
def test_blocks_of_rows_that_exclude_each_other_cost_what_one_costs(
    database: Path, first: str, second: str
) -> None:
    query = TWO.format(first, second)
    with seeded(database, 3) as db:
        before, entries = db.budget.spent, len(db.ledger())
        said = db.explain(query).epsilon_worst
        answer = db.sql(query)
        [entry] = db.ledger()[entries:]
        assert isinstance(answer, Answer)
        assert said == answer.privacy.epsilon == pytest.approx(0.4)
        assert db.budget.spent - before == entry.charged == pytest.approx(0.4)
        assert entry.sql == f"/* blocks 1, 2 */ {query}"
        blocks = dict(answer.blocks or ())
        assert [(name, one.privacy.epsilon) for name, one in blocks.items()] == [
            ("x", pytest.approx(0.4)),
            ("y", 0),
        ]
        [alone] = db.sql(f"SELECT count(*) AS a FROM patients WHERE {first}", epsilon=0.4).margins  # type: ignore[union-attr]
    assert answer.margins == (alone * 2,)
    assert answer.rows == (blocks["x"].rows[0] + blocks["y"].rows[0],)
    assert blocks["y"].notices == ("it shares the charge of x: no row is in both",)


def test_each_block_has_its_own_values(database: Path) -> None:
    """Counts, sums, means, medians and what is around them, by group, are those of each WHERE."""
    select = (
        "SELECT ward, upper(ward) AS w, count(*) AS n, sum(age) AS s, round(avg(age), 1) AS m, "
        "count(*) FILTER (WHERE disease = 'flu') AS f, margin(count(*)) AS doubt, "
        "median(age) AS middle FROM patients WHERE {} GROUP BY ward"
    )
    both = (
        f"WITH young AS ({select.format('age < 40')}), old AS ({select.format('age >= 40')}) "
        "SELECT * FROM young JOIN old USING (ward) ORDER BY 1 WITH ACCURACY (epsilon = 4)"
    )
    with seeded(database, 4) as db:
        assert receipts(outlined(both, db.policy).program) == [["young", "old"]]
        answer = db.sql(both)
    assert isinstance(answer, Answer)
    names = ["w", "n", "s", "m", "f", "doubt", "middle"]
    assert list(answer.columns) == ["ward", *names, *names]
    with duckdb.connect(str(database), read_only=True) as db:
        for row in answer.rows:
            for place, test in ((1, "age < 40"), (8, "age >= 40")):
                exact = db.execute(
                    f"SELECT count(*), sum(age), avg(age), count_if(disease = 'flu') FROM patients "
                    f"WHERE ward = '{row[0]}' AND {test}"
                ).fetchone()
                assert exact is not None
                n, total, mean, flu = row[place + 1 : place + 5]
                assert row[place] == row[0]
                assert abs(n - exact[0]) < 60
                assert abs(total - exact[1]) < 6000
                assert abs(mean - exact[2]) < 12
                assert abs(flu - exact[3]) < 60
                assert row[place + 5] > 0
                assert (row[place + 6] < 40) == (place == 1)
    young, old = (dict(answer.blocks or ())[name] for name in ("young", "old"))
    assert young.columns == old.columns == ("ward", *names)
    assert len(young.rows) == len(old.rows) == 3
    for block in (young, old):
        [told] = [notice for notice in block.notices if "is in rows" in notice]
        assert told.startswith("the margin of middle is in rows")


def test_three_blocks_and_two_charges(database: Path) -> None:
    """`y` may share with `x` or with `z`, and `z` with no other: it overlaps `x`."""
    query = (
        f"SELECT a, b, c FROM {X.format('')}, {Y.format('')}, "
        "(SELECT count(*) AS c FROM patients WHERE age < 20) z WITH ACCURACY (epsilon = 0.4)"
    )
    outline = outlined(query, load_policy(POLICY))
    assert receipts(outline.program) == [["x", "y"], ["z"]]
    assert [name for name, _ in outline.blocks] == ["x, y", "z"]
    assert outline.epsilon_worst == pytest.approx(0.4)
    with seeded(database, 5) as db:
        before = db.budget.spent
        answer = db.sql(query)
        assert db.budget.spent - before == pytest.approx(0.4)
    assert isinstance(answer, Answer)
    assert [one.privacy.epsilon for _, one in answer.blocks or ()] == pytest.approx([0.2, 0, 0.2])


def test_explain_shows_what_is_shared(database: Path) -> None:
    with seeded(database, 3) as db:
        outline = db.explain(TWO.format("age < 30", "age >= 30"))
    assert isinstance(outline, Outline)
    words = "x, y: at most epsilon 0.4 for all, in one charge: no row passes WHERE of two of them"
    assert words in str(outline)
    assert str(outline).startswith("blocks      2 that read private rows\n")
    assert "\nblocks x, y\n" in str(outline)
    assert any(words in line for line in outline.brief(None, 80, "ε"))
    assert outline.as_dict()["shared"] == [["x", "y"]]


def test_a_margin_is_paid_once(database: Path) -> None:
    query = f"SELECT * FROM {X.format('')}, {Y.format('')} WITH ACCURACY (margin = 20)"
    one = "SELECT count(*) AS a FROM patients WHERE age < 30 WITH ACCURACY (margin = 20)"
    with seeded(database, 3) as db:
        assert db.explain(query).epsilon_worst == pytest.approx(db.explain(one).epsilon_worst)


def test_an_epsilon_of_their_own_is_paid_once(database: Path) -> None:
    own = " WITH ACCURACY (epsilon = 0.3)"
    query = f"SELECT a, b FROM {X.format(own)}, {Y.format(own)}"
    with seeded(database, 3) as db:
        assert db.explain(query).epsilon_worst == pytest.approx(0.3)


# --- what does not ---


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ward = 'A'", "ward = 'A' AND age > 30"),
        ("age <= 30", "age >= 30"),  # 30 is in both
        ("age < 31", "age > 29"),
        ("ward = 'A' OR age < 3", "ward = 'B'"),
        ("ward = 'A'", "age > 30"),
        ("ward = 'A'", "disease = 'B'"),  # two columns
        ("age IS NULL", "ward IS NULL"),
        ("age < 30", "age >= 30 OR age IS NULL"),  # not proved, though it is so
        ("TRUE", "ward = 'A'"),
        ("CAST(cost AS INTEGER) = 1", "cost = 1.4"),  # what a cast rounds to, and what is rounded
    ],
)
def test_what_is_not_proved_is_charged_apart(database: Path, first: str, second: str) -> None:
    query = TWO.format(first, second)
    with seeded(database, 3) as db:
        entries = len(db.ledger())
        outline = db.explain(query)
        assert isinstance(outline, Outline)
        assert receipts(outline.program) == [["x"], ["y"]]
        assert outline.as_dict()["shared"] == []
        answer = db.sql(query)
        assert isinstance(answer, Answer)
        assert [e.charged for e in db.ledger()[entries:]] == pytest.approx([0.2, 0.2])
        assert [one.privacy.epsilon for _, one in answer.blocks or ()] == pytest.approx([0.2, 0.2])


CLINIC = load_policy(POLICY)
PERSONS = replace(
    CLINIC,
    tables={
        "patients": replace(
            CLINIC.tables["patients"], unit=Unit(column="disease_type", max_rows=10)
        ),
    },
)


@pytest.mark.parametrize(
    "query",
    [
        # Other groups, other tables, other joins.
        "SELECT * FROM (SELECT ward, count(*) AS a FROM patients WHERE age < 30 GROUP BY ward) x, "
        + Y.format(""),
        "SELECT * FROM (SELECT ward, count(*) AS a FROM patients WHERE age < 30 GROUP BY ward) x, "
        "(SELECT disease, count(*) AS b FROM patients WHERE age >= 30 GROUP BY disease) y",
        "SELECT * FROM (SELECT ward, count(*) AS a FROM patients WHERE age < 30 GROUP BY ward "
        "HAVING ward <> 'A') x, (SELECT ward, count(*) AS b FROM patients WHERE age >= 30 "
        "GROUP BY ward) y",
        "SELECT * FROM (SELECT count(*) AS a FROM patients JOIN diseases ON disease = name WHERE "
        f"age < 30) x, {Y.format('')}",
        "SELECT * FROM (SELECT count(*) AS a FROM patients JOIN diseases ON disease = name WHERE "
        "age < 30) x, (SELECT count(*) AS b FROM patients LEFT JOIN diseases ON disease = name "
        "WHERE age >= 30) y",
        # What depends on all groups, or waits for another block.
        "SELECT * FROM (SELECT ward, count(*) AS a FROM patients WHERE age < 30 GROUP BY ward "
        "HAVING count(*) > 5) x, (SELECT ward, count(*) AS b FROM patients WHERE age >= 30 "
        "GROUP BY ward HAVING count(*) > 5) y",
        "SELECT * FROM (SELECT ward, count(*) AS a FROM patients WHERE age < 30 GROUP BY ward "
        "ORDER BY a DESC LIMIT 2) x, (SELECT ward, count(*) AS b FROM patients WHERE age >= 30 "
        "GROUP BY ward ORDER BY b DESC LIMIT 2) y",
        "SELECT * FROM (SELECT ward, count(*) AS a FROM patients WHERE age < 30 GROUP BY ward "
        "ORDER BY a) x, (SELECT ward, count(*) AS b FROM patients WHERE age >= 30 GROUP BY ward "
        "ORDER BY b) y",
        f"SELECT * FROM {X.format('')}, (SELECT count(*) AS b FROM patients WHERE age >= 30 AND "
        "age < (SELECT max(cap) FROM diseases)) y",
        # Clauses of their own.
        f"SELECT a, b FROM {X.format(' WITH ACCURACY (epsilon = 0.1)')}, {Y.format('')}",
        f"SELECT a, b FROM {X.format(' WITH ACCURACY (confidence = 0.9)')}, {Y.format('')}",
        f"SELECT a, b FROM {X.format('')}, {Y.format('')} WITH ACCURACY (margin = (a = 30))",
    ],
)
def test_blocks_that_differ_otherwise_are_charged_apart(query: str) -> None:
    found = receipts(outlined(query, CLINIC, epsilon=0.4).program)
    assert all(len(names) == 1 for names in found)
    assert {"x", "y"} <= {name for [name] in found}


def test_a_person_is_in_both() -> None:
    """One has rows of both kinds, so what they cost adds up."""
    query = TWO.format("age < 30", "age >= 30")
    assert receipts(outlined(query, PERSONS).program) == [["x"], ["y"]]
    assert receipts(outlined(query, CLINIC).program) == [["x", "y"]]


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        ("SELECT zone AS x FROM stays", "SELECT age AS x FROM stays", False),
        ("SELECT zone AS x FROM stays", "SELECT s.zone AS x FROM stays AS s", True),
        ("SELECT zone AS x, age FROM stays", "SELECT zone AS x FROM (SELECT * FROM stays)", True),
        ("SELECT zone AS x FROM stays", "SELECT zone + 1 AS x FROM stays", False),
        ("SELECT zone AS x FROM stays", "SELECT CAST(floor_no AS INTEGER) AS x FROM stays", False),
    ],
)
def test_one_name_in_two_ctes_is_what_each_says(first: str, second: str, shared: bool) -> None:
    query = (
        f"WITH a AS ({first}), b AS ({second}) SELECT (SELECT count(*) FROM a WHERE x = 1) AS one, "
        "(SELECT count(*) FROM b WHERE x = 2) AS other WITH ACCURACY (epsilon = 0.4)"
    )
    found = receipts(outlined(query, policy()).program)
    assert len(found) == (1 if shared else 2)


CONDITIONS = (
    "age < 30", "age <= 30", "age > 30", "age >= 30", "age = 30", "NOT age = 30", "age <> 30",
    "age BETWEEN 10 AND 30", "age IN (3, 50)", "age IN (50, 80)", "age IS NULL", "ward = 'A'",
    "ward <> 'A'", "ward IN ('A', 'B')", "ward IS NULL", "age < 30 AND ward = 'A'",
    "age < 30 OR ward = 'A'", "NOT (age < 30)", "cost < 12.5", "cost >= 12.5", "cost = 12.5",
)  # fmt: skip


def test_no_row_is_in_two_blocks_that_share(database: Path) -> None:
    """Every pair of conditions: what shares a charge has no row in common."""
    program = "SELECT " + ", ".join(
        f"(SELECT count(*) FROM patients WHERE {one})" for one in CONDITIONS
    )
    steps = outlined(program, CLINIC).program.steps
    together = {step.receipt.numbers for step in steps if step.receipt is not None}
    assert {tuple(CONDITIONS[n - 1] for n in one) for one in together} >= {
        ("age < 30", "age > 30", "age = 30")
    }
    with duckdb.connect(str(database), read_only=True) as db:
        for numbers in together:
            for one, other in combinations(numbers, 2):
                where = f"({CONDITIONS[one - 1]}) AND ({CONDITIONS[other - 1]})"
                assert db.execute(f"SELECT count(*) FROM patients WHERE {where}").fetchone() == (
                    0,
                ), where


def test_the_account_of_the_one_query_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were blocks taken for exclusive that are not, they would be asked apart."""
    monkeypatch.setattr(_Able, "shares", lambda *_: True)
    found = receipts(outlined(TWO.format("age < 30", "age > 20"), CLINIC).program)
    assert found == [["x"], ["y"]]


# --- asking again, denials, failures ---


def test_asked_again_they_are_free(database: Path) -> None:
    query = TWO.format("age < 30", "age >= 30")
    with seeded(database, 6, again=True) as db:
        first = db.sql(query)
        spent = db.budget.spent
        assert [one.free is None for one in db.explain(query).explanations] == [False]
        again = db.sql(query.replace("WHERE age < 30", "WHERE (age < 30)"))
        assert isinstance(first, Answer)
        assert isinstance(again, Answer)
        assert (again.raw, again.margins) == (first.raw, first.margins)
        assert db.budget.spent == spent
        assert all(one.privacy.replay is not None for _, one in again.blocks or ())
        # The same as one block, as docs/dialect.md says: one answer serves both.
        one = db.sql("SELECT count_if(age < 30), count_if(age >= 30) FROM patients", epsilon=0.4)
        assert isinstance(one, Answer)
        assert one.raw == first.raw
        assert db.budget.spent == spent


def test_a_block_that_was_answered_before_is_not_paid_again(database: Path) -> None:
    query = "SELECT * FROM {}, {} WITH ACCURACY (margin = 30)".format(X.format(""), Y.format(""))
    alone = "SELECT count(*) AS a FROM patients WHERE age < 30 WITH ACCURACY (margin = 30)"
    with seeded(database, 7, again=True) as db:
        before = db.sql(alone)
        spent = db.budget.spent
        outline = db.explain(query)
        assert isinstance(outline, Outline)
        assert receipts(outline.program) == [["x"], ["y"]]
        answer = db.sql(query)
        assert isinstance(before, Answer)
        assert isinstance(answer, Answer)
        assert answer.raw[0][0] == before.raw[0][0]
        assert db.budget.spent - spent == pytest.approx(spent)
        assert dict(answer.blocks or ())["x"].privacy.epsilon == 0


def test_what_one_charge_released_is_not_lost(database: Path) -> None:
    with seeded(database, 8) as db:
        before = db.budget.spent
        with pytest.raises(ProbeError) as raised:
            db.sql(TWO.format("age < 30", "age >= 30").replace("SELECT *", "SELECT error('no')"))
        assert db.budget.spent == before  # it is no function of the list
        with pytest.raises(ProbeError, match="convert") as raised:
            db.sql(
                "SELECT CAST(x.ward AS INTEGER), y.n FROM (SELECT ward, count(*) AS n FROM "
                "patients WHERE age < 30 GROUP BY ward) x JOIN (SELECT ward, count(*) AS n FROM "
                "patients WHERE age >= 30 GROUP BY ward) y USING (ward)",
                epsilon=0.2,
            )
        assert db.budget.spent - before == pytest.approx(0.2)
    released = raised.value.released
    assert list(released) == ["x", "y"]
    assert all(isinstance(one, Answer) and len(one.rows) == 3 for one in released.values())
    assert released["x"].raw != released["y"].raw


def test_a_charge_that_is_not_admitted_asks_nothing(database: Path) -> None:
    query = TWO.format("age < 30", "age >= 30").replace("0.4", "3")
    with seeded(database, 9) as db:
        db.sql(query)
        with pytest.raises(BudgetExhausted):
            db.sql(query)
        assert len(db.ledger()) == 1


def test_a_denial_names_all_that_share(database: Path) -> None:
    """What the margins cost is more than the whole may spend: public facts deny it."""
    query = TWO.format("age < 30", "age >= 30").replace("epsilon = 0.4", "margin = 1, epsilon=0.01")
    with connect(database, POLICY, analyst="maria") as db:
        answer = db.sql(query)
        assert answer.status == "denied"  # type: ignore[union-attr]
        assert answer.reason.startswith("x, y: ")  # type: ignore[union-attr]
        assert db.budget.spent == 0


# --- one block ---


def test_within_one_block_filters_that_exclude_each_other_share(database: Path) -> None:
    query = "SELECT count_if(age < 30), count_if(age >= 30) FROM patients"
    with seeded(database, 3) as db:
        both = db.explain(query, margin=20).epsilon_worst
        one = db.explain("SELECT count_if(age < 30) FROM patients", margin=20).epsilon_worst
    assert both == pytest.approx(one)


STAYS = "SELECT count_if({}) AS a, count_if({}) AS b FROM stays s JOIN wards w ON w.ward = s.ward"
DERIVED = (
    "SELECT count_if({}) AS a, count_if({}) AS b FROM (SELECT ward AS x, hall AS y FROM "
    "(SELECT s.ward, s.site AS hall FROM stays s) i) o"
)


@pytest.mark.parametrize(
    ("shape", "first", "second", "rows"),
    [
        (STAYS, "s.zone = 1", "s.zone = 2", 1),  # one column, two values: no row is in both
        (STAYS, "w.hall = 'east'", "w.hall = 'west'", 1),
        (STAYS, "s.site = 'east'", "w.hall = 'west'", 2),  # two columns of two tables
        (DERIVED, "x = 'A'", "x = 'B'", 1),
        (DERIVED, "x = 'A'", "y = 'B'", 2),
    ],
)
def test_exclusion_compares_bound_columns(shape: str, first: str, second: str, rows: int) -> None:
    plan = make_plan(shape.format(first, second), policy())
    assert plan.unit_loss([1.0] * len(plan.deltas)).epsilon == pytest.approx(rows)
