"""Spending never surprises: what is asked once, what asks back, and what opens for nothing."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest

from probe_sql.serve.limits import Limits
from tests.serve.conftest import COMMON
from tests.serve.console.conftest import CHEAP, Client, Open, Served

PAGES = ("/", "/answers", "/owner", "/owner/ledger.csv", "/owner/policy.toml", "/answers/1-abc",
         "/asking/none", "/asking/none/state", "/static/style.css", "/enter/none")  # fmt: skip
FORMS = ("/ask", "/plan", "/explain", "/complete", "/asking/none/cancel", "/leave",
         "/owner/unlock", "/owner/users/set", "/owner/users/remove")  # fmt: skip


@pytest.fixture(scope="module")
def client(console: Served) -> Client:
    return Client(console).sign_in()


# --- spending ------------------------------------------------------------------------------------


def test_no_get_spends_or_asks(client: Client, console: Served) -> None:
    place = client.ask(CHEAP)
    before, entries = console.spent, _entries(console)
    for path in (*PAGES, place, f"{place}.csv", f"{place}.json", "/ask", f"/ask?sql={CHEAP[:6]}",
                 "/plan", "/explain"):  # fmt: skip
        client.get(path)
    client.sign_in()
    client.get(place)
    assert console.spent == before
    assert _entries(console) == entries


def _entries(console: Served) -> int:
    return sum(1 for _ in console.server.house._database.ledger.entries())


def test_sql_is_in_no_address_and_in_no_log(client: Client, console: Served) -> None:
    sql = CHEAP.replace("12000", "11983")
    place = client.ask(sql)
    assert re.fullmatch(r"/answers/\d+-[0-9a-f]{20}", place)
    text = client.look(place)
    assert all("SELECT" not in link for link in re.findall(r'(?:href|action)="([^"]*)"', text))
    client.send("/explain", {"sql": sql})
    assert "11983" not in console.log
    assert "explain" not in console.log.lower()


def test_one_form_asks_once_however_often_and_from_however_many_windows_it_is_sent(
    open_console: Open,
) -> None:
    served = open_console()
    client = Client(served).sign_in()
    sql = _fresh(CHEAP)
    key, places = client.key(), []
    windows = [Client(served) for _ in range(4)]
    for one in windows:
        one.cookie, one.csrf = client.cookie, client.csrf
    presses = [
        threading.Thread(target=lambda w=one: places.append(w.ask(sql, key))) for one in windows
    ]
    for press in presses:
        press.start()
    for press in presses:
        press.join()
    assert len(set(places)) == 1
    assert _entries(served) == 1
    client.ask(sql, key)  # a reload
    assert _entries(served) == 1
    client.ask(sql)  # another form asks anew, as it says
    assert _entries(served) == 2


def _fresh(sql: str) -> str:
    return sql.replace("(epsilon", "(fresh = true, epsilon")


def test_two_windows_that_ask_the_same_at_once_ask_once(open_console: Open) -> None:
    served = open_console()
    client = Client(served).sign_in()
    keys = [client.key(), client.key()]
    windows = [Client(served) for _ in keys]
    for one in windows:
        one.cookie, one.csrf = client.cookie, client.csrf
    gate = served.server.house._means.scans.turns
    gate._closed = True  # nothing begins until both have pressed
    presses = [
        threading.Thread(target=w.ask, args=(_fresh(CHEAP), key))
        for w, key in zip(windows, keys, strict=True)
    ]
    for press in presses:
        press.start()
    for press in presses:
        press.join()
    served.loop.call_soon_threadsafe(gate.give_all)
    for _ in range(100):
        if served.spent:
            break
        time.sleep(0.05)
    time.sleep(0.3)
    assert _entries(served) == 1


def test_it_asks_back_where_much_is_spent_or_the_price_was_not_seen(
    client: Client, console: Served
) -> None:
    before = console.spent
    dear = COMMON.replace("12000", "11000") + " WITH ACCURACY (epsilon = 2)"
    for sent in (
        {"agreed": ""},
        {"agreed": "0.5", "sure": "yes"},
        {"agreed": "nan", "sure": "yes"},
        {"agreed": "2"},
    ):
        status, text = client.post("/ask", {"sql": dear, "key": client.key(), **sent})
        assert (status, "Spend up to ε 2.000?" in text) == (200, True)
    assert console.spent == before
    client.ask(dear, agreed="2.0")
    assert console.spent > before


def test_what_is_wrong_is_said_and_costs_nothing(client: Client, console: Served) -> None:
    before = console.spent
    for sql in (
        "SELEC 1",
        "",
        "EXPLAIN " + CHEAP,
        "DROP TABLE patients",
        "SELECT age FROM patients",
    ):
        status, _ = client.post("/ask", {"sql": sql, "key": client.key(), "agreed": "9"})
        assert status == 200
    assert console.spent == before


def test_an_answer_opens_by_its_whole_name_alone(client: Client, console: Served) -> None:
    place = client.ask(CHEAP)
    number, _, mark = place.removeprefix("/answers/").partition("-")
    for name in (number, f"{number}-", f"{number}-{mark[:-1]}", f"{number}-{'0' * 20}",
                 f"{int(number) + 1}-{mark}", "x", "9" * 30 + "-a"):  # fmt: skip
        assert client.get(f"/answers/{name}")[0] == 404
    noor = Client(console).sign_in("noor")
    status, text = noor.get(place)  # answers are shared unless the policy says otherwise
    assert (status, "common cold" in text) == (200, True)
    assert "<dt>Cost</dt>" not in text  # what somebody else paid is theirs


def test_a_shared_answer_shows_no_words_of_who_asked_first(open_console: Open) -> None:
    served = open_console()
    maria, noor = (Client(served).sign_in(name) for name in ("maria", "noor"))
    place = maria.ask("-- for my sister\n" + CHEAP.replace("cases", "hers /* and mine */"))
    assert "for my sister" in maria.look(place)
    for asks in (False, True):
        if asks:
            assert noor.ask(CHEAP) == place
        text = noor.look(place)
        assert ("cases" in text) == asks
        assert "sister" not in text
        assert "and mine" not in text
    assert "hers" not in noor.look(place)


def test_an_answer_that_is_not_shared_opens_for_who_asked(open_console: Open, clinic: Path) -> None:
    policy = clinic / "clinic.toml"
    policy.write_text(policy.read_text() + '\n[reuse]\nanswers = "own"\n')
    served = open_console()
    maria, noor = Client(served).sign_in("maria"), Client(served).sign_in("noor")
    place = maria.ask(CHEAP)
    assert maria.get(place)[0] == 200
    status, text = noor.get(place)
    assert status == 404
    assert "HAVING" not in text


def test_an_answer_that_is_kept_no_more_shows_its_question_and_asks_nothing(
    open_console: Open, clinic: Path
) -> None:
    first = open_console()
    place = Client(first).sign_in().ask(CHEAP)
    first.stop()
    policy = clinic / "clinic.toml"
    policy.write_text(policy.read_text() + '\n[reuse]\nanswers = "none"\n')
    again = Served(clinic, Limits())
    again.start()
    try:
        before = again.spent
        status, text = Client(again).sign_in().get(place)
        assert status == 404
        assert "count(*) &gt; 12000" in text
        assert again.spent == before
    finally:
        again.stop()


def test_answers_leave_in_every_form_with_their_margins(client: Client) -> None:
    place = client.ask(CHEAP)
    _, text = client.get(f"{place}.csv")
    assert text.splitlines()[0] == "disease,cases,cases margin,group is"
    _, text = client.get(f"{place}.md")
    assert text.startswith("| disease | cases | cases margin | group is |")
    _, text = client.get(f"{place}.py")
    found: dict[str, object] = {}
    exec(text, found)
    assert isinstance(found["answer"], list)
    assert found["answer"][0]["disease"] == "common cold"
    _, text = client.get(f"{place}.json")
    assert '"guarantee"' in text
    assert client.get(f"{place}.exe")[0] == 404


def test_files_are_those_that_pages_name(client: Client) -> None:
    for name in ("console.js", "editor.js", "style.css", "editor.LICENSES.txt"):
        assert client.get(f"/static/{name}")[0] == 200
    for name in ("../site.py", "..%2fsite.py", "site.py", "%2e%2e/guard.py", ""):
        assert client.get(f"/static/{name}")[0] in (404, 405)


def test_completion_is_of_public_facts(client: Client) -> None:
    found = client.send("/complete", {"before": "SELECT disease FROM patients WHERE ward = '"})
    assert [one["text"] for one in found] == ["'A'", "'B'", "'C'", "'D'"]
    found = client.send("/complete", {"before": "SELECT * FROM pat"})
    assert found == [{"text": "patients", "length": 3, "kind": "table"}]


def test_the_slider_writes_into_the_query(client: Client) -> None:
    other = CHEAP.replace("12000", "8500")
    found = client.send("/explain", {"sql": other, "epsilon": "0.25"})
    assert found["sql"].endswith("WITH ACCURACY (epsilon = 0.25)")
    assert found["button"] == "Ask, up to ε 0.250"
    found = client.send("/explain", {"sql": COMMON, "fnr": "0.01"})
    assert found["sql"].endswith("\nWITH ACCURACY (fnr = 0.01)")


def test_explaining_has_a_time_limit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from probe_sql.serve.console import site

    monkeypatch.setattr(site, "_PLANNING", 0.0)
    assert client.send("/explain", {"sql": CHEAP})["slow"] is True
    monkeypatch.undo()
    assert client.send("/explain", {"sql": "x" * 30_000})["slow"] is True
    time.sleep(0.2)
    assert "plan" in client.send("/explain", {"sql": CHEAP})
