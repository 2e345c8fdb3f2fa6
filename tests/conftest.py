"""What every test gets: reproducible examples, and a state directory of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# The default draws the same examples on every run, so a failure is always about a change.
# `pytest --hypothesis-profile=explore` looks further, with fresh randomness.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, max_examples=60)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _own_state_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give each test an empty XDG_STATE_HOME: no ledger or history that it did not make."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of files that tests read, `tests/data`."""
    return Path(__file__).parent / "data"
