"""What the server hides from the role, and settings that would change what a scan sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import InterfaceError, OperationalError, ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.session import connect
from probe_sql.vault.backends import open_backend
from tests.engines import events
from tests.engines.contract import measured, tables
from tests.engines.failing import COUNT
from tests.engines.server import OWNER, READER, Server
from tests.examples.policies import integers, one_table, people


@pytest.fixture
def secured(server: Server) -> str:
    """A schema whose table `events` has row-level security and no policy for the reader."""
    schema = server.load(tables(50))
    run(server, f"ALTER TABLE {schema}.events ENABLE ROW LEVEL SECURITY")
    return schema


def run(server: Server, *statements: str) -> None:
    with server.owner() as connection:
        for statement in statements:
            connection.execute(statement.encode())


def counted(server: Server, schema: str, role: str = READER, **options: str) -> list[list[int]]:
    policy = events.policy()
    backend = open_backend(server.url(role=role, schema=schema, **options), policy)
    try:
        typed = policy.with_types(backend.schemas())
        return measured(backend, make_plan(COUNT, typed, engine=backend.engine))
    finally:
        backend.close()


# --- temporary tables -----------------------------------------------------------------------


def test_a_role_without_temporary_tables_is_told_what_to_ask_for(
    server: Server, tmp_path: Path
) -> None:
    """Without them the key that chooses people's rows would stand in the statements."""
    run(server, 'CREATE DATABASE "noTemp"', 'REVOKE TEMPORARY ON DATABASE "noTemp" FROM PUBLIC')
    schema = server.load(tables(50), "noTemp")
    url = server.url("noTemp", schema=schema)
    ledger = tmp_path / "a.ledger"
    with pytest.raises(OperationalError, match="cannot make temporary tables") as caught:
        connect(url, events.people(5), ledger=ledger)
    grant = f'GRANT TEMPORARY ON DATABASE "noTemp" TO {READER}'
    assert grant in str(caught.value)
    assert not ledger.exists()
    connect(url, events.policy(), ledger=ledger).close()  # of rows nothing is kept there
    run(server, grant)
    connect(url, events.people(5), ledger=tmp_path / "b.ledger").close()


# --- row-level security ---------------------------------------------------------------------


def test_rows_that_the_role_cannot_see_are_named_before_anything_is_asked(
    server: Server, secured: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "a.ledger"
    with pytest.raises(OperationalError, match="row-level security") as caught:
        connect(server.url(schema=secured), events.policy(), ledger=ledger)
    assert "BYPASSRLS" in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert not ledger.exists()


def test_a_policy_that_shows_some_rows_is_refused_too(server: Server, secured: str) -> None:
    run(server, f"CREATE POLICY few ON {secured}.events FOR SELECT USING (small > 0)")
    with pytest.raises(OperationalError, match="row-level security"):
        counted(server, secured)


def test_an_owner_on_whom_it_is_forced_is_refused(server: Server) -> None:
    schema = server.load(tables(50))
    run(
        server,
        "CREATE ROLE forced LOGIN",
        f"GRANT USAGE ON SCHEMA {schema} TO forced",
        f"ALTER TABLE {schema}.events OWNER TO forced",
        f"ALTER TABLE {schema}.events ENABLE ROW LEVEL SECURITY",
        f"CREATE VIEW {schema}.seen AS TABLE {schema}.events",
        f"ALTER VIEW {schema}.seen OWNER TO forced",
        f"GRANT SELECT ON {schema}.seen TO {READER}",
    )
    policy = events.POLICY.format(unit='"row"').replace("tables.events", "tables.seen")
    open_backend(server.url(schema=schema), parse_policy(policy)).close()  # its owner sees all
    run(server, f"ALTER TABLE {schema}.events FORCE ROW LEVEL SECURITY")
    with pytest.raises(OperationalError, match="the table seen is under row-level security"):
        open_backend(server.url(schema=schema), parse_policy(policy))


def test_a_role_that_sees_all_rows_is_let_in(server: Server, secured: str) -> None:
    assert sum(counted(server, secured, OWNER)[0]) > 0
    run(server, f"ALTER ROLE {READER} BYPASSRLS")
    try:
        assert counted(server, secured) == counted(server, secured, OWNER)
    finally:
        run(server, f"ALTER ROLE {READER} NOBYPASSRLS")


def test_a_view_of_the_owner_s_shows_what_its_owner_sees(server: Server, secured: str) -> None:
    run(
        server,
        f"ALTER TABLE {secured}.events RENAME TO events_",
        f"CREATE VIEW {secured}.events AS TABLE {secured}.events_",
        f"GRANT SELECT ON {secured}.events TO {READER}",
    )
    assert sum(counted(server, secured)[0]) > 0


def test_security_that_is_switched_on_later_fails_the_scan(server: Server) -> None:
    schema = server.load(tables(50))
    policy = events.policy()
    backend = open_backend(server.url(schema=schema), policy)
    plan = make_plan(COUNT, policy.with_types(backend.schemas()), engine=backend.engine)
    assert sum(measured(backend, plan)[0]) > 0
    run(server, f"ALTER TABLE {schema}.events ENABLE ROW LEVEL SECURITY")
    with pytest.raises(ScanError, match="did not let this role read"):
        measured(backend, plan)
    backend.close()


def test_other_tables_of_the_schema_do_not_matter(server: Server) -> None:
    schema = server.load({**tables(50), "other": events.sites()})
    run(server, f"ALTER TABLE {schema}.other ENABLE ROW LEVEL SECURITY")
    assert sum(counted(server, schema)[0]) > 0


# --- what has no snapshot -------------------------------------------------------------------


@pytest.mark.parametrize("expression", ["random() < 0.5", "nextval('s') > 0", "pick()"])
def test_a_view_that_shows_other_values_each_time_is_refused(
    expression: str, server: Server
) -> None:
    """A row could meet both of two filters that exclude each other."""
    schema = server.load({"events_": events.events(50), "sites": events.sites()})
    columns = ", ".join(f'"{name}"' for name in events.SCHEMA.names if name != "flag")
    run(
        server,
        f"SET search_path = {schema}; CREATE SEQUENCE s;"
        " CREATE FUNCTION pick() RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT true';"
        f" CREATE VIEW inner_ AS SELECT {columns}, {expression} AS flag FROM events_;"
        f" CREATE VIEW events AS TABLE inner_; GRANT SELECT ON events TO {READER}",
    )
    with pytest.raises(OperationalError, match="other values each time") as caught:
        counted(server, schema)
    assert "materialized view" in str(caught.value)


def test_a_foreign_table_is_refused(server: Server) -> None:
    schema = server.load({"events_": events.events(50), "sites": events.sites()})
    run(
        server,
        "CREATE FOREIGN DATA WRAPPER any_",
        "CREATE SERVER far_away FOREIGN DATA WRAPPER any_",
        f"CREATE FOREIGN TABLE {schema}.far (site text) SERVER far_away",
        f"CREATE VIEW {schema}.events AS SELECT e.* FROM {schema}.events_ e"
        f" WHERE site IN (SELECT site FROM {schema}.far)",
        f"GRANT SELECT ON {schema}.events, {schema}.far TO {READER}",
    )
    with pytest.raises(OperationalError, match="foreign table"):
        counted(server, schema)


@pytest.mark.parametrize("type_", ["json", "xml", "point"])
def test_people_of_a_type_without_equality_are_refused_on_opening(
    type_: str, server: Server
) -> None:
    schema = server.load({})
    run(
        server,
        f"CREATE TABLE {schema}.t (k int, who {type_})",
        f"GRANT SELECT ON {schema}.t TO {READER}",
    )
    policy = parse_policy(
        one_table("t", {"k": integers(0, 1), "who": ""}, unit=people("who", 2, null="drop"), rows=9)
    )
    with pytest.raises(OperationalError, match="cannot be told apart by who"):
        open_backend(server.url(schema=schema), policy)


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        "-c%20row_security=on",
        "--gin_fuzzy_search_limit=1",
        "-c%20role=owner",
        "-c%20app.tenant=1",
        "%5C-%5C-app.tenant=99",
        "%5C-c%20app.tenant=99",
        "x",
        "%20",
    ],
)
def test_settings_in_the_url_are_refused(options: str, server: Server) -> None:
    with pytest.raises(InterfaceError, match="settings of the session") as caught:
        open_backend(server.url(options=options), None)
    assert "role=owner" not in str(caught.value)


def test_settings_of_the_environment_do_not_reach_the_session(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = server.load(tables(50))
    expected = counted(server, schema)
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_isolation=serializable -c app.x=7")
    backend: Any = open_backend(server.url(schema=schema), events.policy())
    found = backend._remote._run("SELECT current_setting('app.x', true)")
    backend.close()
    assert found == [(None,)]
    assert counted(server, schema) == expected


def test_the_role_s_own_time_limit_holds_where_it_is_shorter(server: Server) -> None:
    schema = server.load({"events_": events.events(50), "sites": events.sites()})
    run(
        server,
        f"CREATE TABLE {schema}.many AS SELECT generate_series(1, 10000) AS n",
        f"CREATE VIEW {schema}.events AS SELECT r.* FROM {schema}.events_ r,"
        f" {schema}.many a, {schema}.many b, {schema}.many c",
        f"GRANT SELECT ON {schema}.events TO {READER}",
        f"ALTER ROLE {READER} SET statement_timeout = '300ms'",
    )
    try:
        with pytest.raises(ScanError, match="longer than 300ms"):
            counted(server, schema, statement_timeout="2h")
        with pytest.raises(ScanError, match="longer than 200ms"):
            counted(server, schema, statement_timeout="200ms")
    finally:
        run(server, f"ALTER ROLE {READER} RESET ALL")


def test_every_setting_that_changes_values_is_pinned(server: Server) -> None:
    """Whatever the role's own defaults are."""
    odd = {
        "search_path": "pg_temp",
        "timezone": "Asia/Tokyo",
        "datestyle": "German",
        "intervalstyle": "iso_8601",
        "extra_float_digits": "-10",
        "bytea_output": "escape",
        "gin_fuzzy_search_limit": "1",
        "row_security": "on",
        "lock_timeout": "1",
        "transform_null_equals": "on",
        "array_nulls": "off",
    }
    schema = server.load(tables(50))
    expected = counted(server, schema)
    run(server, *(f"ALTER ROLE {READER} SET {name} = '{value}'" for name, value in odd.items()))
    try:
        backend: Any = open_backend(server.url(schema=schema), events.policy())
        for name, value in odd.items():
            ((found,),) = backend._remote._run("SELECT current_setting($1)", [name])
            assert found.removesuffix("ms") != value, name
        backend.close()
        assert counted(server, schema) == expected
    finally:
        run(server, f"ALTER ROLE {READER} RESET ALL")
