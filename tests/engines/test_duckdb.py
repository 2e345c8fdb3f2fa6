"""The contract on DuckDB: from a database file, against frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import duckdb
import pyarrow as pa
import pytest

from probe_sql.policy import Policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.views import Catalogue
from tests.engines import events
from tests.engines.contract import Contract
from tests.engines.failing import SECRET, Failing, Limited


class DuckDBFiles:
    """A database file."""

    refused: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def open(self, source: dict[str, pa.Table], policy: Policy) -> Backend:
        return self._made(source, policy)

    def endless(self, policy: Policy) -> Backend:
        return self._view("SELECT r.* FROM rows r CROSS JOIN range(100000000000)", policy)

    def failing(self, policy: Policy) -> Backend:
        small = f"CAST(coalesce(note, '') || '{SECRET}' AS INTEGER) AS small"
        with pytest.MonkeyPatch.context() as patch:  # as the owner wrote it, without the wall
            patch.setattr(Catalogue, "total", lambda *_: 'SELECT * FROM "source".main.events')
            return self._view(f"SELECT * REPLACE ({small}) FROM rows", policy)

    def _view(self, select: str, policy: Policy) -> Backend:
        source = {"rows": events.events(50), "sites": events.sites()}
        return self._made(source, policy, f"CREATE VIEW events AS {select}")

    def _made(self, source: dict[str, pa.Table], policy: Policy, more: str = "") -> Backend:
        self._count += 1
        path = self._folder / f"{self._count}.duckdb"
        with duckdb.connect(path) as connection:
            for name, table in source.items():
                connection.register("incoming", table)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")
                connection.unregister("incoming")
            connection.execute(more or "SELECT 1")
        kept = path.with_name(path.name + ".bounded")
        kept.mkdir(mode=0o700)
        (kept / "key").write_text("4711\n")  # the same choice of rows in every database
        return open_backend(str(path), policy)


class TestDuckDB(Contract, Failing, Limited):
    every: ClassVar[int] = 3  # against itself a sample will do

    @pytest.fixture(scope="class")
    @classmethod
    def engines(cls, tmp_path_factory: pytest.TempPathFactory) -> DuckDBFiles:
        return DuckDBFiles(tmp_path_factory.mktemp("duckdb"))

    @pytest.fixture(scope="class")
    @classmethod
    def breakable(cls, tmp_path_factory: pytest.TempPathFactory) -> DuckDBFiles:
        return DuckDBFiles(tmp_path_factory.mktemp("broken"))
