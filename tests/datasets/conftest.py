"""Small generated databases, made once, and the stand-in data where they are present."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasets.catalogue import DATASETS
from datasets.common import data_dir

ROWS = 30_000


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A database of each dataset, with few rows."""
    folder = tmp_path_factory.mktemp("generated")
    made = {}
    for name, dataset in DATASETS.items():
        made[name] = folder / f"{name}.duckdb"
        dataset.generate(made[name], ROWS, 7)
    return made


@pytest.fixture(scope="session")
def standin() -> Path:
    """The folder of the stand-in data, or a skip that says how to provide it."""
    folder = data_dir()
    if not all(dataset.standin_available(folder) for dataset in DATASETS.values()):
        pytest.skip(f"no stand-in data in {folder}; PROBE_SQL_DATA names another folder")
    return folder
