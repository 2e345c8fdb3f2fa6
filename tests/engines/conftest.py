"""A PostgreSQL server for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.server import Server, lacking


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for the run, or for each of its workers."""
    missing = lacking()
    if missing is not None:
        pytest.skip(missing)
    found = Server()
    yield found
    found.stop()
