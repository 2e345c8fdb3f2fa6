"""Scans: every group comes back, exactly, whatever the source is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from probe_sql.errors import InternalError, PolicyError
from probe_sql.plan.plan import make_plan
from probe_sql.plan.tally import LIMIT
from probe_sql.policy import parse_policy
from probe_sql.scan.engine import DUCKDB
from probe_sql.scan.render import render_scan
from probe_sql.vault import instance
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from tests.examples import awkward
from tests.examples.policies import listed, one_table, public, within

TOKYO = timezone(timedelta(hours=9))

THREE = (
    "SELECT ward FROM patients GROUP BY ward"
    " HAVING count(*) > 5 AND sum(age) > 100 AND sum(cost) > 200"
)


def by_text(plan: Any, exact: Any) -> dict[str, list[int]]:
    """Measures under the aggregate they belong to."""
    found = awkward.values(exact)
    return {measure.aggregates[0]: v for measure, v in zip(plan.measures, found, strict=True)}


def test_groups_come_back_in_domain_order_with_zeros_and_clamped_values(backend: Backend) -> None:
    plan = awkward.planned(backend, THREE)
    truth = awkward.expected()
    assert backend.groups(plan.scan) == len(awkward.WARDS)
    exact = backend.measure(plan.scan)
    assert by_text(plan, exact) == {
        "count(*)": truth["count"],
        "sum(age)": truth["age"],
        "sum(cost)": truth["cost"],
    }
    assert truth["count"][awkward.WARDS.index("C")] == 0  # a group without a row
    assert sum(truth["count"]) < len(awkward.rows())  # rows of no group exist


@pytest.mark.parametrize("kind", awkward.KINDS)
def test_every_kind_of_source_gives_the_same_sums(
    kind: Callable[[Path], Any], tmp_path: Path
) -> None:
    opened = open_backend(kind(tmp_path), awkward.policy(), threads=1)
    try:
        plan = awkward.planned(opened, THREE)
        truth = awkward.expected()
        assert sorted(awkward.values(opened.measure(plan.scan))) == sorted(truth.values())
        assert opened.keys(plan.scan, np.arange(4)) == {0: list(awkward.WARDS)}
    finally:
        opened.close()


@pytest.mark.parametrize(
    "sql",
    [
        THREE,
        "SELECT ward FROM patients WHERE age > 30 GROUP BY ward HAVING avg(cost) > 100"
        " OR count(*) FILTER (WHERE note = 'n1') > 3",
        "SELECT ward FROM patients GROUP BY ward HAVING median(age) > 40 AND max(cost) > 900",
        "SELECT ward FROM patients GROUP BY ward HAVING count(DISTINCT note) > 2 OR min(age) < 5",
        "SELECT admitted, ward FROM patients GROUP BY admitted, ward HAVING count(*) > 5"
        " AND sum(age) > 10",
    ],
)
def test_one_scan_and_a_scan_for_each_measure_agree(backend: Backend, sql: str) -> None:
    plan = awkward.planned(backend, sql)
    fused = awkward.values(backend.measure(plan.scan, fuse=True))
    assert fused == awkward.values(backend.measure(plan.scan, fuse=False))
    assert len(fused) == len(plan.measures) >= 2


def test_rows_that_where_drops_count_nowhere(backend: Backend) -> None:
    sql = "SELECT ward FROM patients WHERE note = 'n1' GROUP BY ward HAVING count(*) > 5"
    plan = awkward.planned(backend, sql)
    truth = awkward.expected(lambda row: row[4] == "n1")
    assert awkward.values(backend.measure(plan.scan)) == [truth["count"]]


def test_keys_of_chosen_groups_only(backend: Backend) -> None:
    sql = (
        "SELECT ward, count(*), admitted FROM patients GROUP BY ward, admitted HAVING count(*) > 1"
    )
    plan = awkward.planned(backend, sql)
    assert backend.groups(plan.scan) == 12
    found = backend.keys(plan.scan, np.array([0, 2, 11]))
    assert found[0] == ["A", "A", "D"]
    assert [value.day for value in found[2]] == [1, 3, 3]
    assert {type(value) for value in found[2]} <= {date, datetime}
    assert 1 not in found
    assert backend.keys(plan.scan, np.array([], dtype=np.int64)) == {0: [], 2: []}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT admitted, count(*), ward FROM patients GROUP BY ward, admitted HAVING count(*) > 1",
        "SELECT count(*) AS n FROM patients GROUP BY ward ORDER BY n",
        "SELECT ward FROM patients GROUP BY ward, admitted HAVING ward <> 'B' AND count(*) > 1",
        "SELECT count(*) FROM patients",
    ],
)
def test_keys_that_are_kept_are_those_that_are_read(
    backend: Backend, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = awkward.planned(backend, sql)
    every = np.arange(backend.groups(plan.scan))
    for chosen in (every, every[1::2], every):
        kept = backend.keys(plan.scan, chosen)
        with monkeypatch.context() as large:
            large.setattr(awkward.instance(backend), "_shown", {})
            assert backend.keys(plan.scan, chosen) == kept


def test_keys_are_kept_when_a_domain_is_made_and_of_small_ones_alone(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with the first answer: that there was one, would be told by the time of the next."""
    inside = awkward.instance(backend)
    backend.groups(awkward.planned(backend, THREE).scan)
    assert [*inside._shown.values()] == [[[*awkward.WARDS]]]
    monkeypatch.setattr(instance, "_SHOWN", 3)
    plan = awkward.planned(
        backend, THREE.replace("ward ", "ward, admitted ").replace("BY ward", "BY ward, admitted")
    )
    backend.groups(plan.scan)
    assert len(inside._shown) == 1


def test_sql_is_written_once_for_a_session_and_again_for_another(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the time would tell what somebody else asked."""
    written: list[object] = []

    def counted(*given: Any, **named: Any) -> str:
        written.append(given)
        return render_scan(*given, **named)

    monkeypatch.setattr("probe_sql.vault.instance.render_scan", counted)
    assert isinstance(backend, DuckDBBackend)
    rules, other = awkward.policy().with_types(backend.schemas()), backend.session()
    texts = (THREE, THREE, THREE.replace("> 5", "> 6"))
    scans = [make_plan(text, rules, engine=DUCKDB).scan for text in texts]
    first = awkward.values(backend.measure(scans[0]))
    for scan in scans:
        assert awkward.values(backend.measure(scan)) == first
    assert len(written) == 1
    assert awkward.values(other.measure(scans[0])) == first
    assert len(written) == 2


def test_chosen_groups_out_of_order_are_a_broken_plan(backend: Backend) -> None:
    plan = awkward.planned(backend, THREE)
    with pytest.raises(InternalError):
        backend.keys(plan.scan, np.array([2, 0]))


def test_moments_with_a_zone_come_back_in_utc() -> None:
    opened = open_backend(
        {
            "patients": awkward.arrow(),
            "wards": awkward.wards().append_column(
                "opened", pa.array([datetime(2020, 3, 1, 9, tzinfo=TOKYO), None] * 2)
            ),
        },
        awkward.policy(),
    )
    sql = (
        "SELECT ward, wards.opened FROM patients JOIN wards ON ward = name GROUP BY ward"
        " HAVING count(*) > 1"
    )
    found = opened.keys(awkward.planned(opened, sql).scan, np.array([0, 1]))
    assert found == {0: ["A", "B"], 1: [datetime(2020, 3, 1, tzinfo=UTC), None]}
    assert str(found[1][0]) == "2020-03-01 00:00:00+00:00"
    opened.close()


def test_thresholds_of_a_public_table_come_in_domain_order(backend: Backend) -> None:
    sql = (
        "SELECT ward FROM patients JOIN wards ON patients.ward = wards.name"
        " GROUP BY ward HAVING count(*) > wards.cap"
    )
    plan = awkward.planned(backend, sql)
    (found,) = backend.thresholds(plan.scan)
    assert found.dtype == np.int64
    assert found.tolist() == [2, 40, LIMIT, -1]  # a NULL lets no group pass
    assert backend.thresholds(awkward.planned(backend, THREE).scan) == ()


def test_sums_beyond_64_bits_saturate(tmp_path: Path) -> None:
    path = tmp_path / "huge.duckdb"
    big = 2**50
    with duckdb.connect(str(path)) as connection:
        # 5000 rows of 2^50 are more than 2^62, 20,000 more than 2^64.
        connection.execute(
            f"CREATE TABLE sums AS SELECT g, v::BIGINT AS v FROM range(20000) r(i), (VALUES"
            f" ('up', {big}), ('down', {-big}), ('even', {big}), ('even', {-big})) s(g, v)"
        )
    rules = parse_policy(
        one_table(
            "sums", {"g": listed("up", "down", "even", "none"), "v": within(-big, big)}, epsilon=1
        )
    )
    opened = open_backend(path, rules)
    plan = awkward.planned(opened, "SELECT g FROM sums GROUP BY g HAVING sum(v) > 5", rules)
    assert awkward.values(opened.measure(plan.scan)) == [[LIMIT, -LIMIT, 0, 0]]
    opened.close()


def test_a_public_table_must_be_unique_on_its_key(tmp_path: Path) -> None:
    path = awkward.make_database(tmp_path / "clinic.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO wards VALUES (NULL, 1), (NULL, 2)")
    open_backend(path, awkward.policy()).close()  # NULL joins nothing
    with duckdb.connect(str(path)) as connection:
        connection.execute("INSERT INTO wards VALUES ('A', 1)")
    with pytest.raises(
        PolicyError, match=r"public\.wards\.key: two rows of wards have the same name"
    ):
        open_backend(path, awkward.policy())


def test_schemas_cover_the_policy_and_the_rest_of_the_database(backend: Backend) -> None:
    schemas = backend.schemas()
    assert {"patients", "wards", "records"} <= set(schemas)
    assert {name: type_.name for name, type_ in schemas["patients"].items()} == {
        "ward": "VARCHAR",
        "admitted": "DATE",
        "age": "BIGINT",
        "cost": "DOUBLE",
        "note": "VARCHAR",
    }


@pytest.mark.parametrize("name", ["a", "b", "c", "d", "s", "t", "p1", "x"])
def test_a_table_may_have_any_name(name: str) -> None:
    """Also one that the rendered statement uses for something else."""
    text = awkward.POLICY.replace("wards", f"{name}_wards").replace(
        "tables.patients", f"tables.{name}"
    )
    rules = awkward.policy(text)
    opened = open_backend({name: awkward.arrow(), f"{name}_wards": awkward.wards()}, rules)
    plan = awkward.planned(opened, THREE.replace("patients", name), rules)
    truth = awkward.expected()
    assert awkward.values(opened.measure(plan.scan))[0] == truth["count"]
    assert opened.keys(plan.scan, np.array([3])) == {0: ["D"]}
    opened.close()


def test_many_domains_are_kept_apart_and_not_for_ever(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("probe_sql.vault.instance._DOMAINS", 3)
    schemas = backend.schemas()
    plans = [
        awkward.planned(
            backend,
            THREE.replace("GROUP BY ward", f"GROUP BY {key}").replace(
                "SELECT ward", f"SELECT {key}"
            ),
        )
        for key in ("ward", "admitted", "ward, admitted", "admitted, ward")
    ]
    for _ in range(3):
        for plan, size in zip(plans, (4, 3, 12, 12), strict=True):
            assert backend.groups(plan.scan) == size
    assert backend.schemas() == schemas
    assert isinstance(backend, DuckDBBackend)
    tables = (
        awkward.instance(backend)
        .connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'probe_sql_domain_%'"
        )
        .fetchall()
    )
    assert len(tables) == 3


def test_a_collation_of_the_database_neither_merges_keys_nor_multiplies_rows(
    tmp_path: Path,
) -> None:
    """Under NOCASE one private row would meet two public keys, and count twice."""
    path = tmp_path / "collated.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE events (site VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO events VALUES ('a'), ('A'), ('b')")
        connection.execute("CREATE TABLE sites (name VARCHAR, region VARCHAR)")
        connection.execute("INSERT INTO sites VALUES ('a', 'R'), ('A', 'R'), ('b', 'R')")
        joined = "SELECT count(*) FROM events JOIN sites ON site = name"
        assert connection.execute(joined).fetchall() == [(5,)]  # what must not happen here
    policy = parse_policy(
        one_table(
            "events",
            {"site": 'keys = { table = "sites", column = "name" }'},
            more=public("sites", "name"),
        )
    )
    opened = open_backend(str(path), policy)
    try:
        for where in ("", "WHERE s.region = 'R' "):
            plan = awkward.planned(
                opened,
                f"SELECT e.site FROM events e JOIN sites s ON e.site = s.name {where}"
                "GROUP BY e.site HAVING count(*) > 1",
                policy,
            )
            assert awkward.values(opened.measure(plan.scan)) == [[1, 1, 1]]
    finally:
        opened.close()


def test_a_statement_that_is_kept_reads_what_is_there_when_it_runs(tmp_path: Path) -> None:
    """It is parsed once; types, rows and what files say of their rows are those of each run."""
    path = tmp_path / "t.parquet"
    kept = instance.Parsed(f"SELECT max(i) AS i FROM '{path}' WHERE i < 10")
    for rows, expected in (
        ("1::INTEGER", 1),
        ("2::BIGINT", 2),
        ("3.5::DOUBLE", 3.5),
        ("12::INTEGER", None),
    ):
        with duckdb.connect() as connection:
            connection.execute(f"COPY (SELECT {rows} AS i) TO '{path}' (FORMAT parquet)")
            assert kept.execute(connection).fetchall() == [(expected,)]
