"""What a question depends on beside its text: told for files, and not for frames."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from probe_sql.plan.identity import Surroundings
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from tests.examples.policies import listed, one_table, within

ROWS = pa.table({"ward": ["A", "B", "B"], "age": [1, 2, 3]})
QUERY = "SELECT ward FROM visits JOIN wards ON name = ward GROUP BY ward HAVING count(*) > 1"


def policy(folder: Path) -> Policy:
    return parse_policy(
        one_table(
            "visits",
            {"ward": listed("A", "B"), "age": within(0, 9)},
            more=f"""
[public.wards]
key = ["name"]
path = "{folder / "wards.csv"}"
""",
        )
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wards.csv").write_text("name,beds\nA,1\nB,2\n")
    pa.parquet.write_table(ROWS, tmp_path / "visits.parquet")
    pa.csv.write_csv(ROWS, tmp_path / "visits.csv")
    with duckdb.connect(tmp_path / "visits.duckdb") as db:
        db.register("rows_", ROWS)
        db.execute("CREATE TABLE visits AS SELECT * FROM rows_")
    return tmp_path


def opened(source: Any, folder: Path) -> Backend:
    return open_backend(source, policy(folder))


def around(source: Any, folder: Path) -> Surroundings | None:
    backend = opened(source, folder)
    try:
        typed = policy(folder).with_types(backend.schemas())
        return backend.surroundings(make_plan(QUERY, typed).scan)
    finally:
        backend.close()


@pytest.mark.parametrize("ending", ["duckdb", "parquet", "csv"])
def test_files_have_surroundings_and_frames_have_none(folder: Path, ending: str) -> None:
    found = around(folder / f"visits.{ending}", folder)
    assert found is not None
    assert found.engine == f"DuckDB {duckdb.__version__}"
    assert list(found.public) == ["wards"]
    assert around(folder / f"visits.{ending}", folder) == found
    assert around(ROWS, folder) is None
    assert around({"visits": ROWS}, folder) is None


@pytest.mark.parametrize(
    "content",
    [
        "name,beds\nA,1\nB,3\n",
        "name,beds\nA,1\n",
        "name,beds\nA,\nB,2\n",
        "name,size\nA,1\nB,2\n",
        "name,beds,more\nA,1,\nB,2,\n",
        'name,beds\nA,1\n"B,2",2\n',
        "name,beds\nA,1x\nB,2\n",
        "name,beds\nA,11\nB,\n",
    ],
)
def test_what_a_public_table_holds_counts(folder: Path, content: str) -> None:
    before = around(folder / "visits.parquet", folder)
    (folder / "wards.csv").write_text(content)
    after = around(folder / "visits.parquet", folder)
    assert before is not None
    assert after is not None
    assert before.public != after.public


def test_the_order_of_its_rows_does_not(folder: Path) -> None:
    before = around(folder / "visits.parquet", folder)
    (folder / "wards.csv").write_text("name,beds\nB,2\nA,1\n")
    assert around(folder / "visits.parquet", folder) == before


def test_the_state_of_files_is_that_of_what_is_read(folder: Path) -> None:
    """Parquet files are read anew by each scan, all others as they were on opening."""
    for ending in ("duckdb", "csv", "parquet"):
        path = folder / f"visits.{ending}"
        backend = opened(path, folder)
        before = backend.state()
        assert before is not None
        assert before == backend.state()
        os.utime(path, (1, 1))
        assert (backend.state() == before) == (ending != "parquet")
        backend.close()
        other = opened(path, folder)
        assert other.state() != before
        other.close()
    frames = opened(ROWS, folder)
    assert frames.state() is None
    frames.close()
