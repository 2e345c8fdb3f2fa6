"""A PostgreSQL server for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.server import Server, lacking

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: `make test-engines` runs them, `make test` does not."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.engines)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for the run."""
    missing = lacking()
    if missing is not None:
        pytest.skip(missing)
    found = Server()
    yield found
    found.stop()
