"""What leaves the console: no exact value in any page, file or header, whatever is asked there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from probe_sql.serve.limits import Limits
from probe_sql.serve.users import add_user
from tests.examples import clinic as small
from tests.serve.conftest import PASSWORD
from tests.serve.console.conftest import OWNER, Client, Served
from tests.serve.test_traffic import HOSTILE, sentinels
from tests.session.test_canary import PROBES

FORMS = ("csv", "json", "md", "py")


class Recorder(Client):
    """A browser that keeps all that it was sent."""

    def __init__(self, served: Served) -> None:
        super().__init__(served)
        self.traffic: list[str] = []

    def request(self, *given: Any, **more: Any) -> tuple[int, dict[str, str], str]:
        status, headers, text = super().request(*given, **more)
        self.traffic += [repr(headers), text]
        return status, headers, text


@pytest.fixture
def small_clinic(tmp_path: Path) -> Iterator[Served]:
    """A clinic in which one cost and one name occur once, behind both doors."""
    path = small.build(tmp_path)
    policy = small.POLICY.read_text()
    assert "\nepsilon = 10.0 " in policy
    assert "\nmaria = 4.0\n" in policy
    policy = policy.replace("\nepsilon = 10.0 ", "\nepsilon = 1000.0 ")
    (tmp_path / "clinic.toml").write_text(policy.replace("\nmaria = 4.0\n", "\nmaria = 900.0\n"))
    for file in (path, tmp_path / "clinic.toml"):
        file.chmod(0o600)
    for user in ("maria", OWNER):
        add_user(tmp_path / "clinic.duckdb.ledger.users", user, PASSWORD, owner=user == OWNER)
    running = Served(tmp_path, Limits())
    running.start()
    yield running
    running.stop()


def _asked(client: Recorder, queries: Sequence[str]) -> int:
    """Plan, ask and open each query and its files; how many were asked, and ended."""
    ended = 0
    for query in queries:
        sent = {"sql": query, "agreed": "99", "sure": "yes"}
        client.send("/explain", {"sql": query})
        client.post("/plan", {"sql": query})
        client.post("/ask", {**sent, "key": client.key()})
        place = client.headers.get("location", "")
        if place.startswith("/asking"):
            for _ in range(10):
                if json.loads(client.get(f"{place}/state")[1])["done"]:
                    break
            status, _ = client.get(place)
            place = client.headers.get("location", "") if status == 303 else f"{place}/answer"
        if place:
            client.get(place)
            for form in FORMS:
                client.get(f"{place}.{form}")
            ended += 1
    return ended


def _searched(served: Served, queries: Sequence[str], search: Callable[[str], None]) -> int:
    analyst, owner = Recorder(served).sign_in(), Recorder(served).sign_in(OWNER)
    assert isinstance(analyst, Recorder)
    assert isinstance(owner, Recorder)
    ended = _asked(analyst, queries)
    for path in ("/", "/answers", "/owner", "/owner?literals=1", "/owner/ledger.csv"):
        for client in (analyst, owner):
            client.get(path)
    search("".join(analyst.traffic + owner.traffic) + served.log)
    return ended


def _search(everything: str) -> None:
    assert len(everything) > 100_000
    for needle in sentinels():
        assert needle not in everything.encode()


def test_no_exact_value_is_in_what_the_console_sends(small_clinic: Served) -> None:
    assert _searched(small_clinic, PROBES[:12], _search) > 0


@pytest.mark.slow
def test_no_exact_value_is_in_what_the_console_sends_to_the_hostile_corpus(
    small_clinic: Served,
) -> None:
    queries = [query.replace("\0", "") for query in HOSTILE]
    assert _searched(small_clinic, queries, _search) > 10
