"""A PostgreSQL server for the tests that need one, and who those are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.server import Server, lacking

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the server: `make test-engines` runs it, `make test` does not."""
    for item in items:
        here = item.path.is_relative_to(HERE)  # other folders have servers of their own
        if here and "server" in getattr(item, "fixturenames", ()):
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
