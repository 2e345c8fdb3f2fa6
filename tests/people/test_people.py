"""Whole queries for people: every source, what is kept beside it, and what EXPLAIN says."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from probe_sql.algorithms import NAMES
from probe_sql.answer import Answer
from probe_sql.errors import Interrupted, PolicyError
from probe_sql.owner.check import check
from probe_sql.plan.plan import make_plan
from probe_sql.policy import dump_policy, parse_policy
from probe_sql.session import connect, explain_only
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.exact import unsealed
from probe_sql.vault.failures import Failure, scan_error
from tests.examples import visits
from tests.examples.visits import Visit

QUERY = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 5 AND count(DISTINCT person) > 2"
Make = Callable[[Path, Sequence[Visit]], Any]
SLOW = pytest.mark.slow


def counts(source: Any, **caps: Any) -> list[list[int]]:
    """Exact rows and people of every ward, as the engine bounds them."""
    policy = visits.policy(**caps)
    backend = open_backend(source, policy, threads=2)
    try:
        plan = make_plan(QUERY, policy.with_types(backend.schemas()))
        return [column.tolist() for column in unsealed(backend.measure(plan.scan))]
    finally:
        backend.close()


def answered(result: object) -> Answer:
    assert isinstance(result, Answer)
    return result


RARE = ("view", "parquet in parts", "arrow", "polars")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=SLOW) if kind in RARE else kind for kind in visits.KINDS]
)
def test_every_source_is_bounded(tmp_path: Path, kind: str) -> None:
    make = visits.KINDS[kind]
    rows = [row for row in visits.visits() if row[1] in visits.WARDS]
    per_person: dict[int | None, int] = {}
    for row in rows:
        per_person[row[0]] = per_person.get(row[0], 0) + 1
    kept, people = counts(make(tmp_path, rows), rows=4)
    assert sum(kept) == sum(min(4, count) for count in per_person.values())
    assert all(count <= number for count, number in zip(people, kept, strict=True))
    one, same = counts(make(tmp_path, rows), rows=4, groups=1, per_group=1)
    assert sum(one) == sum(same) == len(per_person)


@pytest.mark.parametrize(
    "algorithm",
    [name if name in ("probe", "ladder") else pytest.param(name, marks=SLOW) for name in NAMES],
)
def test_every_algorithm_answers_for_people(tmp_path: Path, algorithm: str) -> None:
    """Ward A has many people, B few: clear cases at a loss within the limit."""
    rows: list[Visit] = [(p, "A", 50, f"n{i}") for p in range(3000) for i in range(3)]
    rows += [(p, "B", 50, "n") for p in range(40)]
    sql = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 2500"
    with connect(visits.as_database(tmp_path, rows), visits.policy(2)) as db:
        spent = db.budget.spent
        answer = answered(db.sql(sql, algorithm=algorithm, epsilon=5.0, u=0.1))
        assert answer.rows == (("A",),)
        assert 0 < answer.privacy.epsilon <= 5
        assert db.budget.spent - spent == pytest.approx(answer.privacy.epsilon, abs=1e-9)
        assert answer.privacy.unit == "person: person, at most 2 rows"
        assert answer.as_dict()["privacy"]["unit"] == answer.privacy.unit


def test_a_person_costs_as_much_as_their_rows(tmp_path: Path) -> None:
    """The same draws, charged for a row, for a person, and for a person counted once."""
    source = visits.as_database(tmp_path, visits.visits())
    rows = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 50"
    people = rows.replace("count(*)", "count(DISTINCT person)")
    ledger = tmp_path / "x.ledger"

    def cost(policy: Any, sql: str) -> float:
        with connect(source, policy, ledger=ledger) as db:
            return answered(db.sql(sql, algorithm="naive")).privacy.epsilon

    row = cost(visits.row_policy(), rows)
    assert cost(visits.policy(7), rows) == pytest.approx(7 * row)
    assert cost(visits.policy(7, 2, 2), rows) == pytest.approx(4 * row)
    assert cost(visits.policy(7), people) == pytest.approx(4 * row)  # four wards
    assert cost(visits.policy(3), people) == pytest.approx(3 * row)
    assert cost(visits.policy(7, 2), people) == pytest.approx(2 * row)
    assert cost(visits.policy(7, 1, 1), rows) == pytest.approx(row)


# --- what is kept beside the source -----------------------------------------------------------


def store(source: Any) -> Path:
    path: Path = source["visits"] if isinstance(source, dict) else source
    return path.with_name(path.name + ".bounded")


def files(folder: Path) -> dict[str, int]:
    return {p.name: p.stat().st_mtime_ns for p in folder.glob("*.duckdb")}


@pytest.mark.parametrize("make", [
    visits.as_database, pytest.param(visits.as_parquet, marks=SLOW),
    pytest.param(visits.as_csv, marks=SLOW),
])  # fmt: skip
def test_what_was_bounded_is_kept_until_the_source_changes(tmp_path: Path, make: Make) -> None:
    rows = visits.visits()
    source = make(tmp_path, rows)
    first = counts(source, rows=3)
    folder = store(source)
    kept = files(folder)
    key = (folder / "key").read_text()
    assert len(kept) == 1
    assert counts(source, rows=3) == first
    assert files(folder) == kept  # neither built again nor touched
    assert counts(source, rows=4) != first
    assert len(files(folder)) == 1
    assert files(folder) != kept  # other caps, another table
    source = make(tmp_path, rows[:100])
    assert sum(counts(source, rows=3)[0]) < sum(first[0])
    assert (folder / "key").read_text() == key
    source = make(tmp_path, rows)
    assert counts(source, rows=3) == first  # the key makes the choice the same again


def test_it_is_private(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    counts(source)
    folder = store(source)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    with duckdb.connect(str(next(folder.glob("*.duckdb"))), read_only=True) as kept:
        columns = kept.execute("DESCRIBE rows").fetchall()
    assert [column[0] for column in columns] == ["person", "ward", "age"]  # no note


def test_a_damaged_file_is_built_again(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    first = counts(source)
    path = next(store(source).glob("*.duckdb"))
    path.write_bytes(b"broken" * 1000)
    assert counts(source) == first


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no permissions of this kind here")
def test_where_nothing_can_be_kept_it_is_bounded_for_the_connection(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    store(source).write_text("in the way")
    kept, _ = counts(source, rows=4)
    assert sum(kept) > 0
    assert store(source).read_text() == "in the way"


def test_explain_reads_and_keeps_nothing(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    explain_only(QUERY, visits.policy(), source=source)
    with connect(source, visits.policy()) as db:
        db.explain(QUERY)
    assert not store(source).exists()


def test_before_the_rows_are_bounded_there_are_none(tmp_path: Path) -> None:
    """Whatever reads the table without bounding it first finds it empty."""
    backend = open_backend(visits.as_database(tmp_path, visits.visits()), visits.policy())
    assert isinstance(backend, DuckDBBackend)
    try:
        with backend._call() as instance:
            found = instance.execute("SELECT count(*) FROM visits")
        assert found == [(0,)]
        assert set(backend.schemas()) == {"visits", "wards"}
    finally:
        backend.close()


# --- the policy -------------------------------------------------------------------------------


def test_rows_without_a_person_are_refused_unless_the_policy_says_otherwise(
    tmp_path: Path,
) -> None:
    rows: list[Visit] = [(None, "A", 1, "x"), (1, "B", 1, "x")]
    for make in (visits.as_database, visits.as_arrow):
        source = make(tmp_path, rows)
        with pytest.raises(PolicyError) as caught:
            open_backend(source, visits.policy(null="refuse"))
        assert "tables.visits.unit.null" in str(caught.value)
        assert sum(counts(source, null="own")[0]) == sum(counts(source, null="drop")[0]) + 1


def test_explaining_without_a_ledger_looks_at_no_private_row(tmp_path: Path) -> None:
    """Whether a row lacks its person is a fact about rows: EXPLAIN, which is free, tells none."""
    rows: list[Visit] = [(None, "A", 1, "x"), (1, "B", 1, "x")]
    policy = visits.policy(null="refuse")
    for make in (visits.as_database, visits.as_arrow):
        said = explain_only(QUERY, policy, source=make(tmp_path, rows))
        assert str(said) == str(explain_only(QUERY, policy, source=make(tmp_path, rows[1:])))


def test_a_view_without_the_person_is_refused_with_the_reason(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    with duckdb.connect(str(source)) as connection:
        connection.execute("ALTER TABLE visits RENAME TO everything")
        connection.execute("CREATE VIEW visits AS SELECT ward, age FROM everything")
    with pytest.raises(PolicyError, match="cannot be told from those of another"):
        connect(source, visits.policy())


def test_a_cte_does_not_lose_the_person(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    sql = "WITH v AS (SELECT ward AS w FROM visits) SELECT w FROM v GROUP BY w HAVING count(*) > 5"
    policy = visits.policy(4, 1, 1)
    backend = open_backend(source, policy)
    try:
        plan = make_plan(sql, policy.with_types(backend.schemas()))
        (values,) = unsealed(backend.measure(plan.scan))
    finally:
        backend.close()
    assert plan.caps.rows == 1
    assert int(np.sum(values)) <= len({row[0] for row in visits.visits()})


# --- EXPLAIN ----------------------------------------------------------------------------------


def test_explain_says_what_the_caps_mean_and_cost() -> None:
    sql = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 50"
    row = explain_only(sql, visits.row_policy())
    person = explain_only(sql, visits.policy(10, 3, 2))
    assert person.epsilon_first == pytest.approx(6 * row.epsilon_first)
    assert person.epsilon_unminimised == pytest.approx(6 * row.epsilon_unminimised)
    text = str(person)
    assert "one person: person, at most 10 rows, 3 groups of a query, 2 rows of a group" in text
    assert "a person weighs up to 6 rows" in text
    assert "is charged, for one person" in text
    assert "about the rows that the caps on one person keep." in text
    told = json.loads(json.dumps(person.as_dict()))
    assert told["unit"] == "person: person, at most 10 rows, 3 groups of a query, 2 rows of a group"
    costs = {
        (cell["max_groups"], cell["max_rows_per_group"]): cell["epsilon"]
        for cell in told["caps"]["epsilon_by_caps"]
    }
    assert costs[1, 1] == pytest.approx(row.epsilon_first)
    assert costs[3, 2] == pytest.approx(person.epsilon_first)
    assert costs[10, 10] == pytest.approx(10 * row.epsilon_first)
    assert costs[5, 1] == pytest.approx(4 * row.epsilon_first)  # there are four wards
    assert json.loads(json.dumps(row.as_dict()))["unit"] == "row"
    assert "by max_groups and max_rows_per_group" in text
    assert "by max_groups and max_rows_per_group" not in str(explain_only(sql, visits.policy(1)))


def test_the_prediction_is_what_is_charged(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    for cap in ((3, None, None), (9, 2, 2), (9, None, 1)):
        with connect(source, visits.policy(*cap)) as db:
            predicted = db.explain(QUERY, algorithm="naive").epsilon_first
            answer = answered(db.sql(QUERY, algorithm="naive"))
            assert answer.privacy.epsilon == pytest.approx(predicted)


GUIDE = (Path(__file__).parents[2] / "docs" / "unit.md").read_text(encoding="utf-8")


def test_the_table_of_the_guide_is_true() -> None:
    table = GUIDE.partition("| max_groups | R = 1")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(table) == 5
    for line in table:
        groups, *costs = (int(cell) for cell in line.strip("|").split("|"))
        for per_group, cost in zip((1, 2, 5, 10), costs, strict=True):
            told = explain_only(
                "SELECT age, ward FROM visits GROUP BY age, ward HAVING count(*) > 50",
                wide_policy(groups, per_group),
            )
            assert told.people is not None
            assert told.epsilon_first == pytest.approx(cost * told.people.row.epsilon)


def wide_policy(groups: int, per_group: int) -> Any:
    """Many groups, so that all caps can bind."""
    text = dump_policy(visits.policy(10, groups, per_group))
    return parse_policy(text.replace("age = { ", "age = { keys = { integers = [0, 99] }, "))


def test_the_explanation_of_the_guide_is_what_explain_prints() -> None:
    policy = parse_policy(
        "[budget]\nepsilon = 10.0\nper_query = 2.0\n[tables.visits]\n"
        'unit = { column = "patient_id", max_rows = 10, max_groups = 3, max_rows_per_group = 2 }\n'
        "rows_per_group = 5000\n[tables.visits.columns]\npatient_id = {}\n"
        'ward = { keys = ["A", "B", "C", "D", "E"] }\n'
    )
    sql = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 400"
    printed = GUIDE.partition("```text\n")[2].partition("```")[0]
    assert printed in str(explain_only(sql, policy, algorithm="probe")) + "\n"


def test_check_tells_the_owner_of_rows_without_a_person(tmp_path: Path) -> None:
    rows: list[Visit] = [(None, "A", 1, "x"), (1, "B", 1, "x")]
    source = visits.as_database(tmp_path, rows)
    path = tmp_path / "visits.toml"
    path.write_text(dump_policy(visits.policy()))
    (problem,) = check(path, source).problems
    assert problem.path == "tables.visits.unit.null"
    path.write_text(dump_policy(visits.policy(null="own")))
    assert check(path, source).problems == ()


def test_connections_share_what_is_kept(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    with connect(source, visits.policy(3)) as first, connect(source, visits.policy(3)) as second:
        one, two = (
            answered(db.sql(QUERY, algorithm="naive", fresh=True)) for db in (first, second)
        )
        assert one.privacy.epsilon == two.privacy.epsilon
        with connect(source, visits.policy(4)) as third:  # removes what the others read
            third.sql(QUERY, algorithm="naive")
        third_time = answered(first.sql(QUERY, algorithm="naive", fresh=True))
        assert third_time.privacy.epsilon == one.privacy.epsilon


def test_an_interrupted_bounding_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, visits.visits())
    policy = visits.policy(3)
    backend = open_backend(source, policy)
    assert isinstance(backend, DuckDBBackend)
    try:
        plan = make_plan(QUERY, policy.with_types(backend.schemas()))
        (instance,) = backend._source.pool._members
        run, calls = instance.execute, 0

        def fails(sql: str) -> Any:
            nonlocal calls
            calls += 1
            if "ROW_NUMBER" in sql and calls < 6:
                raise scan_error(Failure.INTERRUPTED)
            return run(sql)

        vars(instance)["execute"] = fails
        with pytest.raises(Interrupted):
            backend.measure(plan.scan)
        assert {path.name for path in store(source).iterdir()} == {"key", "lock"}
        values = [column.tolist() for column in unsealed(backend.measure(plan.scan))]
    finally:
        backend.close()
    assert values == counts(source, rows=3)
