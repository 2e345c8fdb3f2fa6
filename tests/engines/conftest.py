"""A PostgreSQL server for the tests that need one, and who those are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.server import Server, lacking


@pytest.hookimpl(tryfirst=True)  # before the scheduler reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run what needs the server, so that one server is started."""
    for item in items:
        if "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.engines)
            item.add_marker(pytest.mark.xdist_group("postgres"))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for the run."""
    missing = lacking()
    if missing is not None:
        pytest.skip(missing)
    found = Server()
    yield found
    found.stop()
