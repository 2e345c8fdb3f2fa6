"""PostgreSQL as a server: ways in, what it may be told, and what happens when it goes away."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import InterfaceError, Interrupted, OperationalError, ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, parse_policy
from probe_sql.session import connect
from probe_sql.types import Kind
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.postgres_address import read_address
from probe_sql.vault.postgres_checks import column_type
from tests.engines import events
from tests.engines.contract import PEOPLE, measured, tables
from tests.engines.failing import COUNT, SECRET, once_scanning, shown
from tests.engines.server import OWNER, READER, Server, lacking
from tests.examples.policies import one_table

SITE = "SELECT site FROM events{where} GROUP BY site HAVING count(*) > 5"


@pytest.fixture(scope="module")
def schema(server: Server) -> str:
    return server.load(tables())


def planned(backend: Backend, policy: Policy, query: str) -> list[list[int]]:
    """The exact measures of a query."""
    typed = policy.with_types(backend.schemas())
    return measured(backend, make_plan(query, typed, engine=backend.engine))


# --- opening --------------------------------------------------------------------------------


def refused(url: str) -> str:
    """What is said where a URL leads nowhere, with nothing dragged along."""
    with pytest.raises(OperationalError) as caught:
        open_backend(url, events.policy())
    assert caught.value.__cause__ is caught.value.__context__ is None
    return shown(caught.value)


def test_a_wrong_password_is_not_repeated(server: Server) -> None:
    url = f"postgresql://{READER}:{SECRET}@127.0.0.1:{server.port}/postgres"
    text = refused(url)
    assert "did not let reader in" in text
    assert SECRET not in text


def test_a_missing_database_role_or_server_is_named(server: Server) -> None:
    assert "has no database nowhere" in refused(server.url("nowhere"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nothing listens
        port = taken.getsockname()[1]
        text = refused(f"postgresql://{READER}:{SECRET}@127.0.0.1:{port}/postgres")
    assert f"at 127.0.0.1:{port} could not be reached" in text
    assert SECRET not in text


def test_a_missing_schema_is_named(server: Server) -> None:
    assert "has no schema elsewhere" in refused(server.url(schema="elsewhere"))


def test_a_database_in_another_encoding_is_refused(server: Server) -> None:
    with server.owner() as connection:
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    assert "not in the encoding UTF8" in refused(server.url("latin"))


@pytest.mark.engines
@pytest.mark.parametrize(
    "url", [f"postgresql://u:{SECRET}@[h/db", f"postgresql://u:{SECRET}@h/d?no_such=1"]
)
def test_a_url_that_cannot_be_read_is_not_repeated(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(InterfaceError, match="cannot be read") as caught:
        open_backend(url, events.policy())
    assert SECRET not in str(caught.value)


@pytest.mark.engines
def test_options_of_the_url() -> None:
    pytest.importorskip("psycopg")
    address = read_address("postgresql://u@h:1/d?schema=a&statement_timeout=90s&sslmode=require")
    assert (address.schema, address.timeout) == ("a", "90s")
    assert address.parameters["sslmode"] == "require"
    assert "schema" not in address.parameters
    with pytest.raises(InterfaceError, match="a number with a unit"):
        read_address("postgresql://u@h/d?statement_timeout=soon")


def test_without_psycopg_the_fix_is_named() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from probe_sql.vault.postgres import open_postgres\n"
        "from probe_sql.errors import InterfaceError\n"
        "try: open_postgres('postgresql://h/d')\n"
        "except InterfaceError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert 'pip install "probe-sql[postgres]"' in done.stdout


# --- types ----------------------------------------------------------------------------------

EXOTIC = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN cents AS numeric(10,2) CHECK (VALUE < 1000);
CREATE TYPE text AS (a int);
CREATE TABLE odd (
  k int, mood mood, cents cents, free numeric, fixed char(5), short varchar(3), "Mixed" int,
  "Twice" int, "twice" int, doc json, own text, tags int[], hidden int, wide numeric(50,2),
  negative numeric(5,2)
);
INSERT INTO odd VALUES
  (0, 'good', 1.50, 'NaN', 'ab', 'x', 1, 1, 1, '{}', NULL, '{1}', 1, 1, 'NaN'),
  (0, 'bad', NULL, 1, 'ab   ', 'y', 2, 1, 1, NULL, NULL, NULL, 2, 2, -1),
  (1, NULL, 2.5, 2, 'a', 'X', NULL, 1, 1, '[]', NULL, '{}', 3, 3, 'NaN');
"""
ODD = one_table(
    "odd",
    """
k = { keys = { integers = [0, 1] } }
mood = {}
cents = { bounds = [0, 10] }
free = {}
fixed = {}
short = {}
mixed = { bounds = [0, 5] }
doc = {}
negative = { bounds = [-5, 5] }
""",
    epsilon=10.0,
)


def test_types_of_every_kind(server: Server) -> None:
    schema = server.load({})
    with server.owner() as connection:
        connection.execute(f"SET search_path = {schema}, pg_catalog")
        connection.execute(EXOTIC.encode())
        columns = 'k, mood, cents, free, fixed, short, "Mixed", "Twice", "twice", doc, own'
        connection.execute(f"GRANT SELECT ({columns}, tags, wide, negative) ON odd TO {READER}")
    policy = parse_policy(ODD)
    backend = open_backend(server.url(schema=schema), policy)
    found = {name: str(type_) for name, type_ in backend.schemas()["odd"].items()}
    assert found == {
        "k": "INTEGER",
        "mood": "VARCHAR",
        "cents": "DECIMAL(10,2)",
        "free": "NUMERIC WITHOUT PRECISION",
        "fixed": "VARCHAR",
        "short": "VARCHAR",
        "Mixed": "INTEGER",
        "doc": "JSON",
        "own": "TEXT",
        "tags": "_INT4",
        "wide": "NUMERIC WITHOUT PRECISION",
        "negative": "DECIMAL(5,2)",
    }
    counts = [
        ("mood = 'good'", [1, 0]),
        ("cents >= 1.5", [1, 1]),
        ("fixed = 'ab'", [2, 0]),
        ("length(fixed) < 3", [2, 1]),
        ("short > 'a'", [2, 0]),
        ("MIXED = 2", [1, 0]),
        ("doc IS NULL", [1, 0]),
        ("free IS NOT NULL", [2, 1]),
        ("negative IS NULL", [1, 1]),
    ]
    for where, expected in counts:
        query = f"SELECT k FROM odd WHERE {where} GROUP BY k HAVING count(*) > 1"
        assert planned(backend, policy, query) == [expected], where
    total = "SELECT k FROM odd GROUP BY k HAVING sum(mixed) > 1 AND sum(negative) > 1"
    assert planned(backend, policy, total) == [[3, 0], [-100, 0]]
    backend.close()


def test_a_type_of_the_same_name_is_another_type() -> None:
    assert column_type("int4", "b", True, -1).kind is Kind.INTEGER
    assert column_type("int4", "b", False, -1).kind is Kind.OTHER


def test_texts_are_compared_by_their_bytes(server: Server) -> None:
    """Whatever collation a column has: one under which letters of any case are equal, too."""
    schema = server.load({"sites": events.sites(), "events_": events.events()})
    with server.owner() as connection:
        connection.execute(f"SET search_path = {schema}")
        connection.execute(
            "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2',"
            " deterministic = false)"
        )
        connection.execute("CREATE TABLE events AS TABLE events_")
        for column in ("site", "note"):
            connection.execute(f"ALTER TABLE events ALTER {column} TYPE text COLLATE folded")
        connection.execute(f"GRANT SELECT ON events TO {READER}")
    policy = events.policy()
    backend = open_backend(server.url(schema=schema), policy)
    reference = open_backend(tables(), policy)
    for where in ("", " WHERE note = 'abc'", " WHERE note > 'Z'", " WHERE note LIKE 'a%'"):
        query = SITE.format(where=where) + " AND count(DISTINCT note) > 2"
        assert planned(backend, policy, query) == planned(reference, policy, query)
    backend.close()
    reference.close()


# --- the session ----------------------------------------------------------------------------


def test_names_are_not_looked_up_along_a_path(server: Server, schema: str) -> None:
    """Neither the role's settings nor functions and tables elsewhere change a value."""
    with server.owner() as connection:
        connection.execute(
            f"""
            CREATE FUNCTION {schema}.abs(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
            CREATE TABLE public.events AS SELECT * FROM {schema}.events LIMIT 1;
            ALTER ROLE {READER} SET search_path = {schema}, public, pg_catalog;
            ALTER ROLE {READER} SET timezone = 'Asia/Tokyo';
            ALTER ROLE {READER} SET datestyle = 'German';
            ALTER ROLE {READER} SET extra_float_digits = -10;
        """.encode()
        )
    try:
        policy = events.policy()
        backend = open_backend(server.url(schema=schema), policy)
        reference = open_backend(tables(), policy)
        for where in ("abs(small) > 3", "day < '2020-01-05'", "hour(at) < 12"):
            query = SITE.format(where=f" WHERE {where}")
            assert planned(backend, policy, query) == planned(reference, policy, query)
        backend.close()
        reference.close()
    finally:
        with server.owner() as connection:
            connection.execute(f"DROP TABLE public.events; ALTER ROLE {READER} RESET ALL".encode())


def test_a_scan_changes_nothing_even_for_a_role_that_could(server: Server) -> None:
    schema = server.load({"events_": events.events(50), "sites": events.sites()})
    with server.owner() as connection:
        connection.execute(f"SET search_path = {schema}")
        connection.execute("CREATE TABLE seen (n int)")
        connection.execute(
            "CREATE FUNCTION peek(n int) RETURNS int LANGUAGE sql VOLATILE AS"
            f" 'INSERT INTO {schema}.seen VALUES (n) RETURNING n'"
        )
        connection.execute(  # a view of a function is refused on opening, so it comes later
            "CREATE FUNCTION look(n int) RETURNS int LANGUAGE sql STABLE AS"
            f" 'SELECT {schema}.peek(n)'"
        )
        columns = ", ".join(f'"{n}"' for n in events.SCHEMA.names if n != "small")
        connection.execute(f"CREATE VIEW events AS SELECT {columns}, small FROM events_")
    policy = events.policy()
    backend = open_backend(server.url(role=OWNER, schema=schema), policy)
    with server.owner() as connection:
        connection.execute(f"SET search_path = {schema}")
        connection.execute(
            f"CREATE OR REPLACE VIEW events AS SELECT {columns}, look(small) AS small FROM events_"
        )
    with pytest.raises(ScanError):
        planned(backend, policy, COUNT)
    backend.close()
    with server.owner() as connection:
        assert connection.execute(f"SELECT count(*) FROM {schema}.seen").fetchone() == (0,)


def test_a_column_that_may_not_be_read_is_not_there(server: Server) -> None:
    schema = server.load(tables(50))
    with server.owner() as connection:
        connection.execute(f"REVOKE SELECT ON {schema}.events FROM {READER}")
        connection.execute(f"GRANT SELECT (site, small) ON {schema}.events TO {READER}")
    backend = open_backend(server.url(schema=schema), None)
    assert set(backend.schemas()["events"]) == {"site", "small"}
    backend.close()


def test_rights_that_are_taken_away_later_are_named(server: Server) -> None:
    schema = server.load(tables(50))
    policy = events.policy()
    backend = open_backend(server.url(schema=schema), policy)
    with server.owner() as connection:
        connection.execute(f"REVOKE SELECT ON {schema}.events FROM {READER}")
    with pytest.raises(ScanError, match="did not let this role read"):
        planned(backend, policy, COUNT)
    backend.close()


# --- what goes wrong ------------------------------------------------------------------------


def endless(server: Server, **options: str) -> str:
    """The URL of a table that takes hours to read."""
    schema = server.load({"events_": events.events(50), "sites": events.sites()})
    with server.owner() as connection:
        connection.execute(f"CREATE TABLE {schema}.many AS SELECT generate_series(1, 10000) AS n")
        connection.execute(
            f"CREATE VIEW {schema}.events AS SELECT r.* FROM {schema}.events_ r,"
            f" {schema}.many a, {schema}.many b, {schema}.many c"
        )
        connection.execute(f"GRANT SELECT ON {schema}.events TO {READER}")
    return server.url(schema=schema, **options)


def test_a_statement_timeout_is_named(server: Server, tmp_path: Path) -> None:
    url = endless(server, statement_timeout="300ms")
    with connect(url, events.policy(), ledger=tmp_path / "a.ledger") as db:
        with pytest.raises(ScanError, match="longer than 300ms") as caught:
            db.sql(COUNT, epsilon=400.0)
        assert "charged: epsilon 0.1" in str(caught.value)
        assert [entry.outcome for entry in db.ledger()] == ["failed: timeout"]


def test_people_are_bounded_under_interrupts_too(server: Server, tmp_path: Path) -> None:
    policy = events.people(5)
    backend = open_backend(endless(server), policy, beside=tmp_path / "a.ledger")
    watcher = once_scanning(backend.interrupt)
    began = time.monotonic()
    with pytest.raises(Interrupted):
        planned(backend, policy, PEOPLE.format(where=""))
    watcher.join()
    assert time.monotonic() - began < 60
    watcher = once_scanning(backend.interrupt)
    with pytest.raises(Interrupted):  # it is not taken for bounded now
        planned(backend, policy, PEOPLE.format(where=""))
    watcher.join()
    backend.close()


def test_a_server_that_stops_costs_a_failure_and_stops_no_one(tmp_path: Path) -> None:
    missing = lacking()
    if missing is not None:
        pytest.skip(missing)
    server = Server()
    try:
        with connect(endless(server), events.policy(), ledger=tmp_path / "a.ledger") as db:
            watcher = once_scanning(server.kill)
            with pytest.raises(ScanError, match="connection to the server was lost") as caught:
                db.sql(COUNT, epsilon=400.0)
            watcher.join()
            assert caught.value.__context__ is None
            with pytest.raises(ScanError, match="lost"):  # nobody answers yet
                db.sql(COUNT, epsilon=400.0)
            assert {entry.outcome for entry in db.ledger()} == {"interrupted: lost"}
    finally:
        server.stop()


def test_a_closed_connection_says_so(server: Server, schema: str) -> None:
    policy = events.policy()
    backend: Any = open_backend(server.url(schema=schema), policy)
    typed = policy.with_types(backend.schemas())
    plan = make_plan(COUNT, typed, engine=backend.engine)
    backend.interrupt()
    backend.close()
    backend.close()
    with pytest.raises(InterfaceError, match="closed"):
        backend.measure(plan.scan)
