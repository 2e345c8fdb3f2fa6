"""Spark over hours: a driver that does not answer, and rows of people that are kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from probe_sql.errors import ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Resources, parse_policy
from probe_sql.scan.spark.engine import SPARK
from probe_sql.vault import spark
from probe_sql.vault.runner import Watch
from probe_sql.vault.sources import Spark
from probe_sql.vault.spark import SparkRemote
from probe_sql.vault.spark_link import Link
from tests.engines import events
from tests.engines.contract import QUERIES
from tests.engines.session import SparkFiles, session
from tests.engines.test_spark import PEOPLE, Misbehaving, visits

pytestmark = pytest.mark.engines


@pytest.fixture
def files(tmp_path: Path) -> SparkFiles:
    session()
    return SparkFiles(tmp_path, {})


def test_a_driver_that_does_not_answer_is_given_up(
    files: SparkFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it ran out of memory: nothing that it is told ends its job."""
    monkeypatch.setattr(spark, "_DEAF", 1.0)
    policy = replace(events.policy(), engine=Resources(time_limit="1s"))
    driver = Misbehaving(files)
    backend = driver.endless(policy)
    typed = policy.with_types(backend.schemas())
    scan = make_plan(QUERIES["having count"], typed, engine=SPARK).scan
    monkeypatch.setattr(Link, "interrupt", lambda _: None)
    try:
        with pytest.raises(ScanError, match="longer than the data owner allows"):
            backend.measure(scan)
        with pytest.raises(ScanError, match="closed"):
            backend.measure(scan)
    finally:
        monkeypatch.undo()
        backend._remote._link.interrupt()  # type: ignore[attr-defined]
        backend.close()
        driver.drop()


def test_the_rows_of_people_are_kept_in_few_parts(files: SparkFiles) -> None:
    policy = parse_policy(PEOPLE.format(rows=6, more=', null = "drop"'))
    remote = SparkRemote(Spark(tables=files.write({"visits": visits()}), session=session()))
    ours = remote._link.begin()
    ours.conf.set("spark.sql.shuffle.partitions", "200")
    kept = remote._kept(policy.tables["visits"], 5, Watch())
    assert kept.frame.rdd.getNumPartitions() == ours.sparkContext.defaultParallelism
    remote.close()
