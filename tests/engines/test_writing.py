"""A writer at work during queries: an UPDATE in PostgreSQL, files replaced for DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from probe_sql.policy import Policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from tests.engines import events
from tests.engines.server import Server
from tests.engines.writing import Writing, on_side


class Updated:
    """A table of a server that another connection updates."""

    patient = True
    pause = 0.002

    def __init__(self, server: Server) -> None:
        self._server = server
        tables = {"events": on_side(True), "sites": events.sites()}
        self._schema = server.load(tables)
        self._writer = server.owner()

    def open(self, policy: Policy) -> Backend:
        return open_backend(self._server.url(schema=self._schema), policy)

    def move(self, side: bool) -> None:
        self._writer.execute(f"UPDATE {self._schema}.events SET flag = {side}")

    def close(self) -> None:
        self._writer.close()


class TestPostgres(Writing):
    @pytest.fixture
    def written(self, server: Server) -> Iterator[Updated]:
        made = Updated(server)
        yield made
        made.close()


class Replaced:
    """A Parquet file that is replaced, whole, by another."""

    patient = False
    pause = 0.04

    def __init__(self, folder: Path) -> None:
        self._path = folder / "events.parquet"
        self._next = folder / "next"
        self.move(True)

    def open(self, policy: Policy) -> Backend:
        return open_backend({"events": self._path, "sites": events.sites()}, policy)

    def move(self, side: bool) -> None:
        pq.write_table(on_side(side), self._next)
        self._next.replace(self._path)


class TestDuckDB(Writing):
    @pytest.fixture
    def written(self, tmp_path: Path) -> Replaced:
        return Replaced(tmp_path)
