"""The contract on Apache Spark, and what is Spark's own: sessions, plans, people, failures."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from probe_sql.errors import InterfaceError, OperationalError, Refused, ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, parse_policy
from probe_sql.scan.engine import public_relations
from probe_sql.scan.spark.engine import SPARK
from probe_sql.types import Kind
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.runner import Watch
from probe_sql.vault.sources import Spark
from probe_sql.vault.spark import SparkRemote, bounded_rows
from probe_sql.vault.spark_link import Link, library
from tests.engines import cases, events, extremes
from tests.engines.contract import QUERIES, Contract, Pair
from tests.engines.failing import SECRET, Failing, Limited
from tests.engines.session import SETTINGS, SparkFiles, session
from tests.examples.policies import integers, one_table

_CASE = "map the case of some letters differently"
_TEXT = "do not read the same texts"
REFUSED = {
    "where ilike": _CASE,
    "where lower": _CASE,
    "where upper": _CASE,
    "where logarithm": "rounded differently in the last digit",
    "where logarithm of base 10": "rounded differently in the last digit",
    "where cast text to integer": _TEXT,
    "where cast text to date": _TEXT,
    "values and quantiles": "by itself",
}
pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> SparkFiles:
    session()
    return SparkFiles(tmp_path_factory.mktemp("spark"), REFUSED)


class TestSpark(Contract):
    @pytest.fixture(scope="class")
    @classmethod
    def engines(cls, files: SparkFiles) -> SparkFiles:
        return files

    @pytest.mark.parametrize("case", cases.WHOLE)
    def test_queries_of_other_shapes(self, case: str, opened: Pair, engines: Any) -> None:
        self._check_case(case, opened, engines)


class TestFailing(Failing, Limited):
    @pytest.fixture
    def breakable(self, files: SparkFiles) -> Iterator[Misbehaving]:
        made = Misbehaving(files)
        yield made
        made.drop()


class Misbehaving:
    """Views of the given session named `events` that never end, or fail for a row."""

    def __init__(self, files: SparkFiles) -> None:
        paths = files.write({"events": events.events(20), "sites": events.sites()})
        self._sites = {"sites": paths["sites"]}
        self._rows = f"parquet.`{paths['events']}`"

    def endless(self, policy: Policy) -> Backend:
        return self._opened(
            f"SELECT e.* FROM {self._rows} e CROSS JOIN range(0, 1000000000000, 1, 2) r"
            " WHERE e.id + r.id >= 0",
            policy,
        )

    def failing(self, policy: Policy) -> Backend:
        """The cast of the view is not total, and Spark's message quotes what it meets.

        Such a view is refused on opening, so it takes the place of another afterwards.
        """
        backend: Any = self._opened(f"SELECT * FROM {self._rows}", policy)
        failing = f"CAST(IF(id = 7, '{SECRET}', '1') AS INT)"
        ours = backend._remote._link.begin()
        ours.conf.set("spark.sql.ansi.enabled", "true")
        frame = ours.sql(f"SELECT * EXCEPT (small), {failing} AS small FROM {self._rows}")
        frame.createOrReplaceTempView(backend._remote._views["events"])
        ours.conf.set("spark.sql.ansi.enabled", "false")
        opened: Backend = backend
        return opened

    def _opened(self, sql: str, policy: Policy) -> Backend:
        session().sql(sql).createOrReplaceTempView("events")
        return open_backend(Spark(tables=self._sites, session=session()), policy)

    def drop(self) -> None:
        session().catalog.dropTempView("events")


# --- extremes ------------------------------------------------------------------------------


def _soup(files: SparkFiles, seed: int, count: int) -> None:
    tables = extremes.tables(seed)
    backend = files.open(tables, extremes.policy())
    reference = open_backend(tables, extremes.policy())
    try:
        conditions, refused = extremes.atoms(backend, seed, count)
        assert refused < count  # most of what DuckDB answers is answered here
        assert list(extremes.differences(backend, reference, conditions)) == []
    finally:
        backend.close()
        reference.close()


def test_random_conditions_over_extremes(files: SparkFiles) -> None:
    _soup(files, 3, 20)


def test_dates_and_timestamps_at_their_ends(files: SparkFiles) -> None:
    """Conditions that once failed, or counted what is not there."""
    conditions = [
        "max(CAST(CAST(CASE WHEN x < 0 THEN ts END AS DATE) AS TIMESTAMP)) < DATE '2020-01-01'",
        "count(CAST(day AS TIMESTAMP)) > 0",
        "sum(date_diff('quarter', ts, DATE '2020-02-29')) > 0",
    ]
    tables = extremes.tables(4)
    backend = files.open(tables, extremes.policy())
    reference = open_backend(tables, extremes.policy())
    assert list(extremes.differences(backend, reference, conditions)) == []
    backend.close()
    reference.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 16))
def test_many_random_conditions_over_extremes(seed: int, files: SparkFiles) -> None:
    _soup(files, seed, 120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_the_matrix(seed: int, files: SparkFiles) -> None:
    """Every form of the dialect on every type: the same integers, or a refusal."""
    tables = extremes.tables(seed)
    backend = files.open(tables, extremes.policy())
    reference = open_backend(tables, extremes.policy())
    try:
        conditions, _ = extremes.matrix_atoms(backend, seed, 120)
        assert list(extremes.differences(backend, reference, conditions)) == []
    finally:
        backend.close()
        reference.close()


TEXTS = [
    "", "'", "''", '"', "\\", "\\\\", "\\n", "\n", "\t", "\r", "\\'", "%", "_", "\\%", "a%b_c",
    "${HOME}", "${spark.app.name}", "--", "/* */", ";", "`", "\x01", "\x1a", "\\u0041", "\\101",
    "é", "e\u0301", "😀",
    "日本語", "\u2028", "\ufeff", "{}", ":p", "?", "0x41", "r'x'",
]  # fmt: skip


def test_texts_of_a_query_arrive_as_they_are(files: SparkFiles) -> None:
    """Each literal finds its own row and no other, whatever Spark's parser makes of it."""
    table = pa.table({"g": pa.array([0] * len(TEXTS), pa.int32()), "s": TEXTS})
    policy = parse_policy(one_table("t", {"g": integers(0, 0), "s": ""}, rows=1))
    backend = files.open({"t": table}, policy)
    typed = policy.with_types(backend.schemas())
    scans = []
    for text in TEXTS:
        literal = "'" + text.replace("'", "''") + "'"
        for test in (f"s = {literal}", f"s IN ({literal}, 'no')", f"starts_with(s, {literal})"):
            having = f"count(*) FILTER (WHERE {test}) > 3"
            sql = f"SELECT g FROM t GROUP BY g HAVING {having}"
            scans.append(make_plan(sql, typed, engine=backend.engine).scan)
    counts = [column[0] for column in extremes.exact(backend, extremes.together(scans))]
    backend.close()
    expected = []
    for text in TEXTS:
        expected += [1, 1, sum(other.startswith(text) for other in TEXTS)]
    assert counts == expected


# --- people --------------------------------------------------------------------------------

PEOPLE = """
[budget]
epsilon = 100.0
[tables.visits]
unit = {{ column = "person", max_rows = {rows}{more} }}
rows_per_group = 10
[tables.visits.columns]
person = {{}}
ward = {{ keys = {{ integers = [0, 3] }} }}
cost = {{ bounds = [0, 100], type = "INTEGER" }}
"""
WARDS = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 3 AND sum(cost) > 10"


def visits(seed: int = 1, without: int | None = None, missing: int = 0) -> pa.Table:
    """Person p has p rows in every ward; their order is that of the seed."""
    rows: list[tuple[int | None, int, int]] = [
        (person, ward, 10 * person + visit)
        for person in range(1, 8)
        for ward in range(4)
        for visit in range(person)
        if person != without
    ]
    rows += [(None, number % 4, 5) for number in range(missing)]
    Random(seed).shuffle(rows)
    person, ward, cost = zip(*rows, strict=True)
    return pa.table(
        {
            "person": pa.array(person, pa.int64()),
            "ward": pa.array(ward, pa.int32()),
            "cost": pa.array(cost, pa.int32()),
        }
    )


def _counts(files: SparkFiles, table: pa.Table, rows: int, more: str = "") -> list[list[int]]:
    """Counts and sums of the wards, under a key that is always the same."""
    policy = parse_policy(PEOPLE.format(rows=rows, more=more))
    source = Spark(tables=files.write({"visits": table}), session=session())
    beside = files.folder / "ledger"
    backend = open_backend(source, policy, beside=beside)
    try:
        typed = policy.with_types(backend.schemas())
        return extremes.exact(backend, make_plan(WARDS, typed, engine=backend.engine).scan)
    finally:
        backend.close()


def test_people_keep_at_most_their_rows(files: SparkFiles) -> None:
    counts, sums = _counts(files, visits(), 6)
    assert sum(counts) == sum(min(4 * person, 6) for person in range(1, 8))
    assert _counts(files, visits(seed=2), 6) == [counts, sums]  # whatever the order of rows
    others, _ = _counts(files, visits(without=7), 6)
    assert sum(a - b for a, b in zip(counts, others, strict=True)) == 6
    assert all(a >= b for a, b in zip(counts, others, strict=True))  # nobody else's rows change


def test_no_person_is_counted_before_rows_are_bounded(files: SparkFiles) -> None:
    policy = parse_policy(PEOPLE.format(rows=6, more=', null = "drop"'))
    remote = SparkRemote(Spark(tables=files.write({"visits": visits()}), session=session()))
    typed = policy.with_types(remote.schemas())
    scan = make_plan(WARDS, typed, engine=SPARK).scan
    with pytest.raises(Exception, match="before their rows were bounded"):
        remote.tallies([scan], [], None, Watch())
    remote.close()


def test_rows_beyond_the_cap_are_dropped_before_they_are_shuffled(files: SparkFiles) -> None:
    policy = parse_policy(PEOPLE.format(rows=6, more=', null = "drop"'))
    remote = SparkRemote(Spark(tables=files.write({"visits": visits()}), session=session()))
    ours = remote._link.begin()
    sql = bounded_rows(
        policy.tables["visits"], remote.schemas()["visits"], remote._views["visits"], 5
    )
    plan = ours._jvm.PythonSQLUtils.explainString(ours.sql(sql)._jdf.queryExecution(), "simple")
    assert plan.index("WindowGroupLimit") < plan.index("Exchange")
    assert plan.rindex("WindowGroupLimit") > plan.index("Exchange")  # and in every task before
    remote.close()


# --- sessions, tables, plans ---------------------------------------------------------------


def test_one_scan_one_shuffle_of_partial_aggregates(files: SparkFiles) -> None:
    backend = files.open({"events": events.events(50), "sites": events.sites()}, events.policy())
    remote = backend._remote  # type: ignore[attr-defined]
    typed = events.policy().with_types(backend.schemas())
    scan = make_plan(QUERIES["having many"], typed, engine=SPARK).scan
    extremes.exact(backend, scan)  # leaves the domain as a view
    assert [one.name for one in public_relations(scan)] == ["probe_sql_domain"]
    ours = remote._link.begin()
    counted = make_plan(QUERIES["having count filter"], typed, engine=SPARK).scan
    frame = ours.sql(SPARK.statement(counted, (remote._views["events"],)))
    plan = ours._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "simple")
    assert plan.count("FileScan parquet") == 1
    # Rows are counted before they travel; then the groups by their place, one number for each.
    assert plan.count("Exchange hashpartitioning") == 2
    assert plan.count("partial_count") == 1
    assert "BroadcastHashJoin" in plan
    backend.close()


def test_no_row_raises_where_the_translation_would_let_it(files: SparkFiles) -> None:
    backend = files.open({"sites": events.sites()}, events.policy())
    ours = backend._remote._link.begin()  # type: ignore[attr-defined]
    frame = ours.sql(
        "SELECT CAST(s AS INT) AS a, n + n AS b, n DIV (n - n) AS c, CAST(d AS DECIMAL(3,0)) AS e "
        "FROM VALUES ('x', 9223372036854775807L, 1e300D) AS v(s, n, d)"
    )
    assert frame.collect()[0].asDict() == {"a": None, "b": -2, "c": None, "e": None}
    backend.close()


def test_settings_and_views_of_the_given_session_stay(files: SparkFiles) -> None:
    given = session()
    given.sql("SELECT 1 AS a, 'x' AS s").createOrReplaceTempView("mine")
    before = {row["tableName"] for row in given.sql("SHOW TABLES").collect()}
    backend = files.open({"sites": events.sites()}, events.policy())
    assert backend.schemas()["mine"]["s"].kind is Kind.TEXT
    backend.close()
    assert {row["tableName"] for row in given.sql("SHOW TABLES").collect()} == before
    assert given.conf.get("spark.sql.session.timeZone") == SETTINGS["spark.sql.session.timeZone"]
    assert given.conf.get("spark.sql.ansi.enabled") == "false"
    assert given.range(3).count() == 3
    given.catalog.dropTempView("mine")


def test_types_that_compare_otherwise_are_not_texts() -> None:
    given = session()
    given.sql(
        "SELECT CAST('a' AS STRING COLLATE UNICODE_CI) AS ci, X'00' AS bin, map('a', 1) AS m,"
        " CAST(1 AS DECIMAL(38, 18)) AS d, current_timestamp() AS z"
    ).createOrReplaceTempView("odd")
    remote = SparkRemote(Spark(session=given))
    kinds = {name: type_.kind for name, type_ in remote.schemas()["odd"].items()}
    assert [kinds[name] for name in ("ci", "bin", "m")] == [Kind.OTHER] * 3
    assert (kinds["d"], kinds["z"]) == (Kind.DECIMAL, Kind.TIMESTAMPTZ)
    remote.close()
    given.catalog.dropTempView("odd")


def test_a_source_that_is_not_there_is_named() -> None:
    with pytest.raises(OperationalError, match="table trips could not be opened") as caught:
        SparkRemote(Spark(tables={"trips": "no/such/*.parquet"}, session=session()))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(InterfaceError, match="not a session"):
        SparkRemote(Spark(session=object()))
    with pytest.raises(InterfaceError, match="another master"):
        SparkRemote(Spark(master="local[1]"))


def test_a_context_that_runs_already_is_joined_and_not_stopped() -> None:
    SparkRemote(Spark(master="local[2]")).close()
    assert session().range(2).count() == 2


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(InterfaceError, match=r"probe-sql\[spark\]"):
        open_backend("spark:local[2]", None)


def test_without_java_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InterfaceError, match="needs Java"):
        Link(Spark(master="local[1]"))._start(library())


@pytest.mark.slow
def test_the_command_starts_a_context_of_its_own(files: SparkFiles, tmp_path: Path) -> None:
    (path,) = files.write({"visits": visits()}).values()
    policy = tmp_path / "visits.toml"
    policy.write_text(PEOPLE.format(rows=6, more=""))
    query = f"{WARDS} WITH ACCURACY (epsilon = 90)"
    command = [
        sys.executable,
        "-m",
        "probe_sql",
        "query",
        f"spark:local[1]?visits={path}/*.parquet",
        query,
        "--policy",
        str(policy),
        "--ledger",
        str(tmp_path / "a.ledger"),
        "--format",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr  # answered, or denied for its epsilon
    assert json.loads(done.stdout)["privacy"]["unit"] == "person: person, at most 6 rows"


# --- failures ------------------------------------------------------------------------------

LOST = parse_policy(one_table("lost", {"g": integers(0, 3), "v": ""}, rows=10))
COUNT = "SELECT g FROM lost GROUP BY g HAVING count(*) FILTER (WHERE v > 1) > 3"


def test_progress_is_reported_and_what_it_raises_ends_the_job(files: SparkFiles) -> None:
    breakable = Misbehaving(files)
    backend = breakable.endless(events.policy())
    typed = events.policy().with_types(backend.schemas())
    scan = make_plan(QUERIES["having count"], typed, engine=SPARK).scan

    def report() -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        backend.measure(scan, progress=report)
    assert list(session().sparkContext.statusTracker().getActiveJobsIds()) == []
    backend.close()
    breakable.drop()


def test_a_file_that_vanished_is_a_failure_of_the_scan(files: SparkFiles) -> None:
    paths = files.write({"lost": pa.table({"g": pa.array([1], pa.int32()), "v": [2]})})
    backend = open_backend(Spark(tables=paths, session=session()), LOST)
    scan = make_plan(COUNT, LOST.with_types(backend.schemas()), engine=SPARK).scan
    for path in Path(paths["lost"]).iterdir():
        path.unlink()
    with pytest.raises(ScanError, match="could not be read"):
        backend.measure(scan)
    backend.close()
    with pytest.raises(InterfaceError, match="closed"):
        backend.measure(scan)


def test_what_becomes_too_long_is_refused() -> None:
    typed = events.policy()
    deep = "score"
    for _ in range(10):
        deep = f"floor({deep})"
    sql = cases.SITE.format(where=f" WHERE {deep} > 1", having="count(*) > 3")
    with pytest.raises(Refused, match="becomes too long"):
        make_plan(sql, typed, engine=SPARK)
