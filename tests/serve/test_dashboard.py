"""A dashboard that is refreshed through the server costs what it costs once."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.serve.conftest import PASSWORD, Running, Serve
from tests.serve.raw import Raw, query

PANELS = [
    f"SELECT disease, count(*) AS n FROM patients WHERE age >= {age} GROUP BY disease"
    f" ORDER BY n DESC LIMIT 10 WITH ACCURACY (epsilon = 0.05)"
    for age in range(0, 72, 6)
]


def answers(client: Raw, sql: str) -> list[bytes]:
    """The rows of a panel, as they come over the wire."""
    client.send(query(sql))
    found = client.until()
    assert not [body for letter, body in found if letter == "E"]
    return [body for letter, body in found if letter == "D"]


def remaining(client: Raw) -> Decimal:
    [row] = answers(client, "SHOW probe.remaining")
    return Decimal(row[6:].decode())


def refreshed(served: Running, times: int) -> None:
    with Raw(served.host, served.port) as maria, Raw(served.host, served.port) as noor:
        for client, user in ((maria, "maria"), (noor, "noor")):
            client.log_in(user, PASSWORD)
        before = remaining(maria)
        first = [answers(maria, sql) for sql in PANELS]
        once = before - remaining(maria)
        assert once > 0
        left = remaining(noor)
        for number in range(times):
            client = (maria, noor)[number % 2]
            assert [answers(client, sql) for sql in PANELS] == first
        assert before - remaining(maria) == once
        assert remaining(noor) == left


def test_a_dashboard_of_twelve_panels(serve: Serve) -> None:
    refreshed(serve(), 4)


@pytest.mark.slow
def test_a_dashboard_that_is_refreshed_a_hundred_times(serve: Serve) -> None:
    refreshed(serve(), 100)
