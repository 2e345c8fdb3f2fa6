"""Generators: the paper's shape, the same rows for the same seed, nothing left half-made."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from datasets.__main__ import main
from datasets.catalogue import DATASETS
from datasets.common import Connection, building
from tests.datasets.conftest import ROWS

NAMES = sorted(DATASETS)


def one(database: Path, sql: str) -> tuple[object, ...]:
    with duckdb.connect(str(database), read_only=True) as connection:
        row: tuple[object, ...] = connection.execute(sql).fetchall()[0]
        return row


def fingerprint(database: Path, table: str) -> tuple[object, ...]:
    return one(database, f"SELECT bit_xor(hash(t)), count(*) FROM {table} AS t")


@pytest.mark.parametrize("name", NAMES)
def test_shape_is_the_papers(name: str, generated: dict[str, Path]) -> None:
    dataset = DATASETS[name]
    with duckdb.connect(str(generated[name]), read_only=True) as connection:
        columns = connection.execute(f"DESCRIBE {dataset.table}").fetchall()
        groups = connection.execute(f"SELECT count(*) FROM ({dataset.domain})").fetchall()[0][0]
        rows = connection.execute(f"SELECT count(*) FROM {dataset.table}").fetchall()[0][0]
    assert len(columns) == dataset.columns
    assert groups == dataset.groups[0] * dataset.groups[1]
    assert rows == ROWS


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_every_row(name: str, generated: dict[str, Path], tmp_path: Path) -> None:
    dataset = DATASETS[name]
    again, other = tmp_path / "again.duckdb", tmp_path / "other.duckdb"
    dataset.generate(again, ROWS, 7)
    dataset.generate(other, ROWS, 8)
    assert fingerprint(again, dataset.table) == fingerprint(generated[name], dataset.table)
    assert fingerprint(other, dataset.table) != fingerprint(generated[name], dataset.table)


@pytest.mark.parametrize("name", NAMES)
def test_groups_are_skewed_and_mostly_filled(name: str, generated: dict[str, Path]) -> None:
    dataset = DATASETS[name]
    keys = ", ".join(f"{key} AS k{n}" for n, key in enumerate(dataset.keys))
    sizes = (
        f"SELECT count(k) AS size FROM ({dataset.domain}) LEFT JOIN"
        f" (SELECT {keys}, 1 AS k FROM {dataset.table}) USING (k0, k1) GROUP BY k0, k1"
    )
    filled, largest, median = one(
        generated[name],
        f"SELECT avg((size > 0)::INTEGER), max(size), median(size) FROM ({sizes})",
    )
    assert isinstance(filled, float)
    assert filled > 0.8
    assert float(str(largest)) > 4 * float(str(median))


UNTIDY = {
    "nytaxi": "count_if(payment_type IS NULL), count_if(fare_amount < 0),"
    " count_if(month(pickup_datetime) <> 3), count_if(pu_location_id NOT IN (FROM zones))",
    "sales": "count_if(customer_id IS NULL), count_if(quantity < 0),"
    " count_if(period > '2018-01-01'), count_if(market NOT IN (FROM markets)),"
    " count_if(line_total > 50)",
    "uci": "count_if(office IS NULL), count_if(day < 0), count_if(day > 13),"
    " count_if(room NOT IN (FROM rooms))",
}


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_untidy(name: str, generated: dict[str, Path]) -> None:
    counts = one(generated[name], f"SELECT {UNTIDY[name]} FROM {DATASETS[name].table}")
    assert all(0 < int(str(count)) < ROWS for count in counts)


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_correlated(name: str, generated: dict[str, Path]) -> None:
    pairs = {
        "nytaxi": "corr(fare_amount, trip_distance)",
        "sales": "corr(line_total, quantity)",
        "uci": "corr((age_band = '0-35')::INTEGER, (user_type LIKE 'A Level%')::INTEGER)",
    }
    correlation = one(generated[name], f"SELECT {pairs[name]} FROM {DATASETS[name].table}")[0]
    assert isinstance(correlation, float)
    assert correlation > 0.1


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "x.duckdb"

    def make() -> None:
        with building(target) as connection:
            assert isinstance(connection, Connection)
            connection.execute("CREATE TABLE t AS SELECT 1")
            raise RuntimeError("out of ideas")

    with pytest.raises(RuntimeError, match="ideas"):
        make()
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_and_does_not_overwrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "taxi.duckdb"
    command = ["generate", "nytaxi", str(target), "--rows", "500"]
    assert main(command) == 0
    assert "500 rows of trips" in capsys.readouterr().out
    assert main(command) == 2
    assert "--force" in capsys.readouterr().err
    assert main([*command, "--force", "--seed", "3"]) == 0


def test_missing_data_are_a_clear_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROBE_SQL_DATA", str(tmp_path))
    assert main(["standin", "uci", str(tmp_path / "uci.duckdb")]) == 1
    message = capsys.readouterr().err
    assert "PROBE_SQL_DATA" in message
    assert "Traceback" not in message
