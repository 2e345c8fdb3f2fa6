"""What people write and what was released before, in Spark, against DuckDB's counts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probe_sql.errors import Refused
from probe_sql.session import Connection, Spark, connect
from tests.engines import events
from tests.engines.contract import tables
from tests.engines.session import SparkFiles, session
from tests.engines.test_blocks import FORMS, QUERIES, rows

pytestmark = pytest.mark.engines
# What Spark would compute otherwise is refused by name.
REFUSED: dict[str, str] = {}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Connection]]:
    given, folder = session(), tmp_path_factory.mktemp("spark")
    source = Spark(tables=SparkFiles(folder, {}).write(tables()), session=given)
    with (
        connect(source, events.policy(), ledger=folder / "spark.ledger") as spark,
        connect(tables(), events.policy(), ledger=folder / "duckdb.ledger") as duckdb,
    ):
        yield spark, duckdb


@pytest.mark.parametrize("sql", [*QUERIES, *FORMS])
def test_every_form_means_the_same(sql: str, both: tuple[Connection, Connection]) -> None:
    spark, duckdb = both
    if sql in REFUSED:
        with pytest.raises(Refused, match=REFUSED[sql]):
            spark.sql(sql, epsilon=30.0)
        return
    assert rows(spark, sql, 30.0) == rows(duckdb, sql, 30.0)
