"""What an opened database may reach and take, and who may look into its working place."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from probe_sql.errors import InterfaceError
from probe_sql.policy import parse_policy
from probe_sql.vault.addresses import server
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.workplace import Workplace, private
from tests.examples import awkward
from tests.examples.policies import listed, one_table, within

SETTINGS = {
    "enable_external_access": "false", "lock_configuration": "true",
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
    "disabled_optimizers": "common_subexpressions", "perfect_ht_threshold": "18", "TimeZone": "UTC",
}  # fmt: skip


def test_every_wall_of_the_connection_stands(backend: Backend) -> None:
    assert isinstance(backend, DuckDBBackend)
    connection = awkward.instance(backend).connection
    rows = connection.execute("SELECT name, value FROM duckdb_settings()").fetchall()
    found = {name: value for name, value in rows if name in SETTINGS}
    assert found == SETTINGS
    [(path,)] = connection.execute("SELECT current_setting('temp_directory')").fetchall()
    assert Path(path).is_relative_to(backend._source._workplace.path)
    assert Path(path).stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no permissions of this kind here")
def test_a_working_place_that_was_open_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    folder.chmod(0o755)
    assert private(folder).stat().st_mode & 0o777 == 0o700
    path = Workplace(folder)
    assert path.path.stat().st_mode & 0o777 == 0o700
    path.close()


@pytest.mark.parametrize("source", [
    "mysql://reader:LEAK", "jdbc:postgresql://host/db?LEAK", "pg+psycopg:reader:LEAK",
    "s3://LEAK/rows.parquet", "https://host/LEAK",
])  # fmt: skip
def test_no_address_is_taken_for_a_path_although_no_secret_is_seen_in_it(source: str) -> None:
    with pytest.raises(InterfaceError, match="looks like the address") as caught:
        server(source)
    assert "LEAK" not in str(caught.value)


VIEWS = {
    "drawn anew": "SELECT i % 2 AS g, CAST(floor(random() * 1000) AS INTEGER) AS n FROM rows",
    "a macro": "SELECT i % 2 AS g, CAST(moved(i) AS INTEGER) AS n FROM rows",
    "a name of ours": "SELECT i % 2 AS g, CAST(abs(i) AS INTEGER) AS n FROM rows",
}


@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_of_functions_that_may_change_is_computed_once(tmp_path: Path, kind: str) -> None:
    """What `random` gives is then the same for every query, and the owner's macros are found."""
    path = tmp_path / "v.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE rows AS SELECT CAST(range AS INTEGER) AS i FROM range(100)")
        db.execute("CREATE MACRO moved(x) AS x + 7")
        db.execute(f"CREATE VIEW v AS {VIEWS[kind]}")
    policy = parse_policy(one_table("v", {"g": listed(0, 1), "n": within(0, 1000)}))
    sql = "SELECT g FROM v GROUP BY g HAVING sum(n) > 1"
    backend = open_backend(path, policy)
    plan = awkward.planned(backend, sql, policy)
    seen = [awkward.values(backend.measure(plan.scan)) for _ in range(2)]
    backend.close()
    assert seen[0] == seen[1]
    if kind == "a macro":
        assert seen[0] == [[2450 + 350, 2500 + 350]]
