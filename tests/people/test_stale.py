"""What is kept beside a source is what the source holds, under the policy that is asked."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from probe_sql.errors import ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.vault import bounded_tables
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.exact import unsealed
from tests.examples import visits
from tests.examples.policies import listed, one_table, people, within
from tests.examples.visits import Visit

SLOW = pytest.mark.slow
ROWS: list[Visit] = [(p, "A", 50, f"n{i}") for p in range(4) for i in range(6)]
OTHER: list[Visit] = [(p, "B", 50, f"n{i}") for p in range(9) for i in range(3)]
COUNT = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 5"


def scanned(backend: Backend, policy: Any, sql: str = COUNT) -> list[list[int]]:
    plan = make_plan(sql, policy.with_types(backend.schemas()))
    return [column.tolist() for column in unsealed(backend.measure(plan.scan))]


def counted(source: Any, policy: Any, sql: str = COUNT) -> list[list[int]]:
    backend = open_backend(source, policy, threads=1)
    try:
        return scanned(backend, policy, sql)
    finally:
        backend.close()


@pytest.mark.parametrize("make", [
    visits.as_database, visits.as_csv, pytest.param(visits.as_parquet, marks=SLOW),
])  # fmt: skip
def test_a_source_replaced_while_open_is_not_remembered_wrongly(tmp_path: Path, make: Any) -> None:
    """The first query of an old connection must not leave its rows for the new file."""
    policy = visits.policy(2)
    source = make(tmp_path, ROWS)
    path: Path = source["visits"] if isinstance(source, dict) else source
    backend = open_backend(source, policy, threads=1)
    try:
        (tmp_path / "new").mkdir()
        new = make(tmp_path / "new", OTHER)
        os.replace(new["visits"] if isinstance(new, dict) else new, path)
        scanned(backend, policy)
    finally:
        backend.close()
    assert counted(source, policy) == [[0, 18, 0, 0]]


def test_a_file_that_changes_between_two_steps_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People who had few rows in the first step and many in the next would keep them all."""
    many: list[Visit] = [(p, "A", 50, f"n{i}") for p in range(4) for i in range(40)]
    (tmp_path / "new").mkdir()
    new = visits.as_parquet(tmp_path / "new", many)["visits"]
    source = visits.as_parquet(tmp_path, OTHER[:9])
    real, policy = vars(bounded_tables)["build"], visits.policy(5)

    def build(how: Any, target: str, run: Any, work: Any) -> None:
        def step(sql: str) -> Any:
            if sql.startswith("CREATE TABLE"):
                shutil.copy(new, source["visits"])
            return run(sql)

        real(how, target, step, work)

    backend = open_backend(source, policy, threads=1)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(bounded_tables, "build", build)
            with pytest.raises(ScanError, match="could not be read"):
                scanned(backend, policy)
        assert scanned(backend, policy) == [[20, 0, 0, 0]]  # the next time, as it is now
    finally:
        backend.close()


def test_another_type_in_the_policy_is_another_table(tmp_path: Path) -> None:
    """As text '1' and '01' are two people; as numbers they are one, with one cap."""
    path = tmp_path / "visits.csv"
    path.write_text("person,ward,age\n" + "1,A,5\n01,A,5\n" * 4)
    text = visits.policy_text(people("person", 3))
    numbers = parse_policy(text)
    texts = parse_policy(text.replace('person = { type = "BIGINT" }', 'person = { type = "TEXT" }'))
    source = {"visits": path, "wards": visits.wards()}
    assert counted(source, texts) == [[6, 0, 0, 0]]
    assert counted(source, numbers) == [[3, 0, 0, 0]]
    assert counted(source, texts) == [[6, 0, 0, 0]]


def test_a_kept_file_without_the_table_is_built_again(tmp_path: Path) -> None:
    source, policy = visits.as_database(tmp_path, ROWS), visits.policy(2)
    first = counted(source, policy)
    folder = source.with_name(source.name + ".bounded")
    (path,) = folder.glob("*.duckdb")
    path.unlink()
    duckdb.connect(str(path)).close()
    assert counted(source, policy) == first


# --- people whose names are equal, but not the same ---------------------------------------------

FLOATS = one_table(
    "visits",
    {"person": "", "ward": listed("A", "B"), "x": within(-5, 5)},
    unit=people("person", 3),
    rows=200,
)


@pytest.mark.parametrize("pair", [(0.0, -0.0), (float("nan"), -float("nan"))])
def test_equal_floats_are_one_person_and_one_value(pair: tuple[float, float]) -> None:
    """-0.0 = 0.0 and NaN = NaN, yet their texts differ: no query may tell them apart."""
    people_ = np.array([pair[i % 2] for i in range(12)])
    values = np.array([pair[i // 2 % 2] for i in range(12)])
    frame = pa.table({"person": people_, "ward": ["A"] * 12, "x": values})
    policy, source = parse_policy(FLOATS), {"visits": frame}
    backend = open_backend(source, policy, threads=1)
    try:
        for sign in ("", "-"):
            text = f"{sign}{'nan' if np.isnan(pair[0]) else '0.0'}"
            sql = (
                "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 2"
                " AND count(DISTINCT CAST(person AS TEXT)) > 1"
                f" AND count(*) FILTER (WHERE CAST(x AS TEXT) = '{text}') > 1"
            )
            rows, persons, seen = scanned(backend, policy, sql)
            assert (rows[0], persons[0], seen[0]) == (3, 1, 3 if not sign else 0)
    finally:
        backend.close()


RARE = ("UUID", "DATE", "ENUM('a', 'b', 'c')", "INTEGER[]")


@pytest.mark.parametrize("kind", ["INTERVAL", *(pytest.param(kind, marks=SLOW) for kind in RARE)])
def test_people_of_any_type_are_bounded(tmp_path: Path, kind: str) -> None:
    values = {
        "UUID": "uuid()",
        "INTERVAL": "INTERVAL '30 days'",
        "DATE": "DATE '2020-01-01'",
        "INTEGER[]": "[1, NULL]",
    }
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute(f"CREATE TABLE visits (person {kind}, ward VARCHAR, x DOUBLE)")
        value = values.get(kind, "'a'")
        db.execute(f"INSERT INTO visits SELECT p, 'A', 1 FROM (SELECT {value} AS p), range(9)")
        if kind == "INTERVAL":  # equal to the others
            db.execute("INSERT INTO visits SELECT INTERVAL '1 month', 'A', 1 FROM range(9)")
    assert counted(path, parse_policy(FLOATS)) == [[3, 0]]


@pytest.mark.parametrize("parts", [pytest.param(False, marks=SLOW), True])
def test_collations_make_no_people_equal(
    tmp_path: Path, parts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ann and ANN are two people, of whom each keeps three rows, in one part or in many."""
    if parts:
        monkeypatch.setattr("probe_sql.vault.bounding._PART_ROWS", 5)
    path = tmp_path / "visits.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE visits (person VARCHAR COLLATE nocase, ward VARCHAR, x DOUBLE)")
        db.execute("INSERT INTO visits SELECT 'Ann', 'A', i FROM range(9) t(i)")
        db.execute("INSERT INTO visits SELECT 'ANN', 'A', i FROM range(9) t(i)")
    sql = COUNT + " AND count(DISTINCT person) > 1"
    rows, persons = counted(path, parse_policy(FLOATS), sql)
    assert Counter(rows=rows[0], persons=persons[0]) == Counter(rows=6, persons=2)
