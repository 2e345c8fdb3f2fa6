"""A clinic for every test of the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from probe_sql.owner import build_demo

# Groups lie far from the threshold, and beta is small: the noise would have to be some twenty
# scales off to change the answer.
STEADY = (
    "SELECT disease FROM patients WHERE disease_type = 'viral' GROUP BY disease "
    "HAVING count(*) > 2000 WITH ACCURACY (fnr = 0.001, algorithm = 'naive')"
)
COMMON = (
    "bronchiolitis", "chickenpox", "common cold", "croup", "hand, foot and mouth", "hepatitis A",
    "hepatitis B", "influenza", "mononucleosis", "norovirus", "rotavirus", "shingles",
    "viral pneumonia",
)  # fmt: skip


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: `make test-service` runs them, `make test` does not."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.service)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo clinic, made once."""
    folder = tmp_path_factory.mktemp("built")
    build_demo(folder)
    return folder


@pytest.fixture
def clinic(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a clinic of its own, which is the current directory."""
    for name in ("clinic.duckdb", "clinic.toml"):
        shutil.copy(built / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
