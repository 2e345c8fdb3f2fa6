"""What a question depends on beside its text, where the rows are in a server."""

from __future__ import annotations

from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.vault.backends import open_backend
from tests.engines import events
from tests.engines.server import READER, Server
from tests.examples.policies import one_table, public

POLICY = parse_policy(
    one_table(
        "events",
        {"site": 'keys = { table = "sites", column = "name" }'},
        more=public("sites", "name"),
    )
)


def test_postgres_tells_its_version_the_schema_and_the_role(server: Server) -> None:
    found = []
    for _ in range(2):
        schema = server.load({"events": events.events(5), "sites": events.sites()})
        backend = open_backend(server.url(schema=schema), POLICY)
        typed = POLICY.with_types(backend.schemas())
        plan = make_plan("SELECT site FROM events GROUP BY site HAVING count(*) > 1", typed)
        around = backend.surroundings(plan.scan)
        assert around is not None
        assert around.engine.startswith("PostgreSQL ")
        assert (around.schema, around.role) == (schema, READER)
        assert backend.state() is None
        found.append(around)
        backend.close()
    assert found[0].public == found[1].public
    assert found[0] != found[1]
