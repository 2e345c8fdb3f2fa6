"""The contract on PostgreSQL: a server of its own, read by a role that may only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pyarrow as pa
import pytest

from probe_sql.policy import Policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from tests.engines import events
from tests.engines.contract import Contract
from tests.engines.failing import SECRET, Failing, Limited
from tests.engines.server import READER, Server

_LETTERS = "the case of letters depends on the server's locale"
_LOGARITHM = "the last digit of a logarithm differs"
_TEXT = "the engines do not read the same texts"


class Postgres:
    """Tables in schemas of one database."""

    refused: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("where ilike", "where lower", "where upper"), _LETTERS),
        **dict.fromkeys(("where logarithm", "where logarithm of base 10"), _LOGARITHM),
        **dict.fromkeys(("where cast text to integer", "where cast text to date"), _TEXT),
    }

    def __init__(self, server: Server) -> None:
        self._server = server

    def open(self, source: dict[str, pa.Table], policy: Policy) -> Backend:
        return open_backend(self._server.url(schema=self._server.load(source)), policy)

    def endless(self, policy: Policy) -> Backend:
        return self._view("SELECT r.* FROM events_ r, many a, many b, many c", policy)[1]

    def failing(self, policy: Policy) -> Backend:
        """The view was of columns when it was opened: one that computes is refused."""
        names = [name for name in events.SCHEMA.names if name != "small"]
        columns = ", ".join(f'"{name}"' for name in names)
        cast = f"CAST(coalesce(note, '') || '{SECRET}' AS integer) AS small"
        schema, backend = self._view(f"SELECT {columns}, small FROM events_", policy)
        with self._server.owner() as connection:
            connection.execute(f"SET search_path = {schema}")
            connection.execute(
                f"CREATE OR REPLACE VIEW events AS SELECT {columns}, {cast} FROM events_"
            )
        return backend

    def _view(self, select: str, policy: Policy) -> tuple[str, Backend]:
        schema = self._server.load({"events_": events.events(50), "sites": events.sites()})
        with self._server.owner() as connection:
            connection.execute(f"SET search_path = {schema}")
            connection.execute("CREATE TABLE many AS SELECT generate_series(1, 10000) AS n")
            connection.execute(f"CREATE VIEW events AS {select}")
            connection.execute(f"GRANT SELECT ON events TO {READER}")
        return schema, open_backend(self._server.url(schema=schema), policy)


class TestPostgres(Contract, Failing, Limited):
    @pytest.fixture(scope="class")
    @classmethod
    def engines(cls, server: Server) -> Postgres:
        return Postgres(server)

    @pytest.fixture(scope="class")
    @classmethod
    def breakable(cls, server: Server) -> Postgres:
        return Postgres(server)
