"""Views in Spark: those that may fail for a row are refused, and no logger quotes a row."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probe_sql.errors import OperationalError, ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backends import open_backend
from tests.engines import events
from tests.engines.contract import measured
from tests.engines.failing import COUNT, SECRET
from tests.engines.session import SparkFiles, session
from tests.engines.test_spark import Misbehaving
from tests.examples.policies import listed, one_table, within

pytestmark = pytest.mark.engines
_ANSI = "spark.sql.ansi.enabled"
_COMPUTED = {
    "cast of a text": "SELECT g, CAST(a AS INT) AS b FROM base",
    "cast of a number": "SELECT g, CAST(x AS INT) AS b FROM base",
    "division": "SELECT g, 100 / n AS b FROM base",
    "sum that overflows": "SELECT g, n + 2147483600 AS b FROM base",
    "filter": "SELECT g, n AS b FROM base WHERE CAST(a AS INT) > 1",
    "guard": "SELECT g, CASE WHEN a <> 'x' THEN CAST(a AS INT) END AS b FROM base",
    "join": "SELECT p.g, p.n AS b FROM base p JOIN base q ON CAST(p.a AS INT) = q.n",
    "scalar subquery": "SELECT g, (SELECT q.n FROM base q WHERE q.n < 3) AS b FROM base",
    "error": "SELECT g, IF(n = 0, raise_error(a), n) AS b FROM base",
    "element": "SELECT g, element_at(array(1, 2), n) AS b FROM base",
    "window": "SELECT g, row_number() OVER (ORDER BY n) AS b FROM base",
    "a view of such a view": "SELECT g, b FROM inner_",
}
_TOTAL = {
    "columns": "SELECT g, n AS b FROM base",
    "filter": "SELECT g, n AS b FROM base WHERE n > 3 AND g IN ('x', 'y')",
    "case": "SELECT g, CASE WHEN n > 3 THEN n ELSE 0 END AS b FROM base",
    "try_cast": "SELECT g, try_cast(a AS INT) AS b FROM base",
    "try_add": "SELECT g, try_add(n, 1) AS b FROM base",
    "wider": "SELECT g, CAST(n AS BIGINT) AS b FROM base",
    "join": "SELECT p.g, p.n AS b FROM base p JOIN base q ON p.n = q.n",
    "union": "SELECT g, n AS b FROM base UNION ALL SELECT g, n FROM base",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[None]:
    """A table in which one row is not like the others, and a session under ANSI."""
    rows = {
        "g": ["x"] * 11,
        "a": ["12"] * 10 + [SECRET],
        "n": pa.array([*range(10, 20), 0], pa.int32()),
    }
    table = pa.table({**rows, "x": [1.5] * 10 + [1e300]})
    pq.write_table(table, tmp_path / "base.parquet")
    given = session()
    given.conf.set(_ANSI, "true")
    given.read.parquet(str(tmp_path / "base.parquet")).createOrReplaceTempView("base")
    given.sql("CREATE OR REPLACE TEMP VIEW inner_ AS SELECT g, CAST(a AS INT) AS b FROM base")
    yield
    given.conf.set(_ANSI, "false")
    for name in ("v", "inner_", "base"):
        given.catalog.dropTempView(name)


def _policy() -> Policy:
    return parse_policy(one_table("v", {"g": listed("x", "y"), "b": within(0, 100)}))


def _counted() -> list[list[int]]:
    policy = _policy()
    backend = open_backend(session(), policy)
    query = "SELECT g FROM v WHERE b >= 0 GROUP BY g HAVING count(*) > 5"
    try:
        plan = make_plan(query, policy.with_types(backend.schemas()), engine=backend.engine)
        return measured(backend, plan)
    finally:
        backend.close()


@pytest.mark.usefixtures("base")
def test_views_that_may_fail_for_a_row_are_refused_by_name() -> None:
    """They keep the mode in which they were made."""
    for case, sql in _COMPUTED.items():
        session().sql(f"CREATE OR REPLACE TEMP VIEW v AS {sql}")
        with pytest.raises(OperationalError, match="the view v computes") as caught:
            open_backend(session(), _policy())
        assert "try_cast" in str(caught.value), case
        assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.usefixtures("base")
def test_views_that_fail_for_no_row_are_read() -> None:
    for case, sql in _TOTAL.items():
        session().sql(f"CREATE OR REPLACE TEMP VIEW v AS {sql}")
        assert _counted()[0][0] >= 8, case
    session().conf.set(_ANSI, "false")
    for sql in (
        _COMPUTED["cast of a text"],
        _COMPUTED["division"],
        _COMPUTED["sum that overflows"],
    ):
        session().sql(f"CREATE OR REPLACE TEMP VIEW v AS {sql}")
        assert _counted()[0][0] >= 0


def test_no_logger_of_pyspark_s_quotes_a_row(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """PySpark writes errors to loggers of its own, whatever Spark's level is."""
    session()
    written: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(record.getMessage())

    from pyspark.logger import PySparkLogger

    names = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    loggers = [PySparkLogger.getLogger(name) for name in names]
    kept = Kept()
    for logger in loggers:
        logger.addHandler(kept)
        logger.disabled = False
    made = Misbehaving(SparkFiles(tmp_path, {}))
    try:
        policy = events.policy()
        backend = made.failing(policy)
        plan = make_plan(COUNT, policy.with_types(backend.schemas()), engine=backend.engine)
        with pytest.raises(ScanError):
            measured(backend, plan)
        backend.close()
    finally:
        made.drop()
        for logger in loggers:
            logger.removeHandler(kept)
    assert written == []
    found = capfd.readouterr()
    assert SECRET not in found.out + found.err
