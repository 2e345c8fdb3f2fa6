"""`check` on a role that may more than scans need, and the role that it writes instead."""

from __future__ import annotations

from pathlib import Path

from probe_sql.owner import check
from probe_sql.session import connect
from tests.engines.contract import tables
from tests.engines.server import OWNER, READER, Server

POLICY = """
ledger = "x.ledger"
budget.epsilon = 10.0
reuse.answers = "none"
[tables.events]
unit = { column = "person", max_rows = 5, null = "drop" }
[tables.events.columns]
person = {}
site = { keys = { table = "sites", column = "name" } }
[public.sites]
key = ["name"]
"""


def test_a_role_that_may_more_is_told_with_the_rights_that_suffice(
    server: Server, tmp_path: Path
) -> None:
    schema = server.load({**tables(60), "other": tables(10)["sites"]})
    policy = tmp_path / "p.toml"
    policy.write_text(POLICY, encoding="utf-8")
    with server.owner() as owner:
        owner.execute(f"GRANT INSERT ON {schema}.events TO {READER}".encode())
    (found,) = check(policy, server.url(schema=schema)).advice
    assert found.what.startswith(f"the role {READER} may read ")
    assert f"{schema}.other" in found.what or "more too" in found.what
    assert "write events" in found.what
    (above,) = check(policy, server.url(role=OWNER, schema=schema)).advice
    assert "read everything, whatever its rights" in above.what
    with server.owner() as owner:
        owner.execute("DROP ROLE IF EXISTS probe_reader")
        for statement in found.run:
            owner.execute(statement.encode())
        owner.execute("ALTER ROLE probe_reader PASSWORD 'abc'")
    url = server.url(schema=schema).split("@", 1)[1]
    least = f"postgresql://probe_reader:abc@{url}"
    try:
        report = check(policy, least)
        assert (report.problems, report.advice) == ((), ())
        with connect(least, policy) as db:
            db.sql("SELECT site, count(*) FROM events GROUP BY site")
    finally:
        with server.owner() as owner:
            owner.execute("DROP OWNED BY probe_reader")
            owner.execute("DROP ROLE probe_reader")
