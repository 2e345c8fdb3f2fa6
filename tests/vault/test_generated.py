"""Generated columns: no row decides whether a query fails, and a value is one value."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from probe_sql.errors import OperationalError, ScanError
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.views import Catalogue
from tests.examples import awkward
from tests.examples.policies import listed, one_table, within

ROWS = 1000


def rules(unit: str = '"row"') -> Policy:
    return parse_policy(
        one_table(
            "t",
            {"g": listed("x", "y"), "name": "", "v": within(0, 100)},
            unit=unit,
            rows=10000,
            epsilon=1,
        )
    )


def made(path: Path, column: str, *more: str) -> Path:
    """A table whose generated column was sound when its rows came, and one row changed since."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (g VARCHAR, name VARCHAR, cost VARCHAR, {column})")
        connection.execute(
            f"INSERT INTO t SELECT 'x', 'n' || i, (i % 50)::VARCHAR FROM range({ROWS}) r(i)"
        )
        connection.execute("UPDATE t SET name = 'alice', cost = 'unknown' WHERE name = 'n60'")
        for sql in more:
            connection.execute(sql)
    return path


def counted(path: Path, having: str, fuse: bool = True, policy: Policy | None = None) -> list[int]:
    policy = policy or rules()
    backend = open_backend(path, policy)
    try:
        plan = awkward.planned(backend, f"SELECT g FROM t GROUP BY g HAVING {having}", policy)
        return [each[0] for each in awkward.values(backend.measure(plan.scan, fuse))]
    finally:
        backend.close()


BELOW = ["ALTER TABLE t RENAME TO base", "CREATE VIEW t AS SELECT g, name, v FROM base"]
TWICE = [*BELOW[:1], "CREATE VIEW m AS SELECT * FROM base", "CREATE VIEW t AS SELECT * FROM m"]
CAST = "v INTEGER AS (CAST(cost AS INTEGER))"
CHAIN = "w INTEGER AS (CAST(cost AS INTEGER)), v INTEGER AS (w + 1)"


@pytest.mark.parametrize("unit", ['"row"', '{ column = "name", max_rows = 1, null = "drop" }'])
@pytest.mark.parametrize("more", [[], BELOW, TWICE], ids=["table", "view", "views"])
@pytest.mark.parametrize("column", [CAST, CHAIN])
def test_a_generated_column_fails_for_no_row(
    column: str, more: list[str], unit: str, tmp_path: Path
) -> None:
    path = made(tmp_path / "d.duckdb", column, *more)
    having = "count(*) > 1 AND count(v) > 1 AND count(*) FILTER (WHERE name = 'alice') > 1"
    assert counted(path, having, policy=rules(unit)) == [ROWS, ROWS - 1, 1]
    having = "sum(v) > 1 AND count(*) FILTER (WHERE name = 'alice' AND v IS NULL) > 1"
    assert counted(path, having, policy=rules(unit))[1] == 1


@pytest.mark.parametrize("more", [[], BELOW, TWICE], ids=["table", "view", "views"])
def test_a_volatile_column_has_one_value_for_every_scan(more: list[str], tmp_path: Path) -> None:
    path = made(tmp_path / "d.duckdb", "v DOUBLE AS (100 * random())", *more)
    having = "count(*) FILTER (WHERE v < 50) > 3 AND count(*) FILTER (WHERE v >= 50) > 3"
    for fuse in (True, False):
        assert sum(counted(path, having, fuse)) == ROWS


def test_a_column_that_is_computed_on_opening_fails_there_by_name(tmp_path: Path) -> None:
    path = made(tmp_path / "d.duckdb", "r DOUBLE AS (random()), " + CAST)
    with pytest.raises(OperationalError, match="the table t could not be opened") as caught:
        open_backend(path, rules())
    assert "generated columns" in str(caught.value)
    assert "unknown" not in str(caught.value)


def test_without_the_wall_the_column_would_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "d.duckdb", CAST)
    monkeypatch.setattr(Catalogue, "computes", lambda *_: False)
    with pytest.raises(ScanError):
        counted(path, "sum(v) > 1")
