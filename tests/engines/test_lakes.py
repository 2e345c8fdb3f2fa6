"""Folders that are more than their files: a log decides which of them are rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe_sql.vault.sources import table_format

MARKS = {
    "Delta": "_delta_log/00000000000000000000.json",
    "Iceberg": "metadata/v1.metadata.json",
    "Hudi": ".hoodie/hoodie.properties",
}


def lake(folder: Path, mark: str) -> Path:
    """A folder with a log, and a file deep inside; returns the file."""
    log = folder / mark
    log.parent.mkdir(parents=True)
    log.write_text("{}")
    data = folder / "data" / "day=1" / "part-0.parquet"
    data.parent.mkdir(parents=True)
    data.touch()
    return data


@pytest.mark.parametrize("format_", MARKS)
def test_a_log_inside_or_above_is_found(format_: str, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    data = lake(folder, MARKS[format_])
    link = tmp_path / "link.parquet"
    link.symlink_to(data)
    for path in (folder, f"{folder}/", data, data.parent, link):
        assert table_format(str(path)) == format_, path


def test_an_iceberg_catalog_writes_longer_names(tmp_path: Path) -> None:
    data = lake(tmp_path / "table", "metadata/00001-4f2c.gz.metadata.json")
    assert table_format(str(data)) == "Iceberg"
    hinted = lake(tmp_path / "other", "metadata/version-hint.text")
    assert table_format(str(hinted)) == "Iceberg"


def test_plain_files_are_plain(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "readme.txt").touch()
    plain = tmp_path / "part.parquet"
    plain.touch()
    assert table_format(str(plain)) is None
    assert table_format(str(tmp_path)) is None
    assert table_format("no/such/path.parquet") is None


def test_a_storage_elsewhere_is_asked_through_its_own_list() -> None:
    folders = {"s3a://bucket/lake/_delta_log": ["0.json"]}
    inside = "s3a://bucket/lake/day=1/a.parquet"
    assert table_format(inside, folders.get) == "Delta"
    assert table_format("s3a://bucket/other/a.parquet", folders.get) is None
