"""The console in a real browser: from the first visit to the owner's view, with everything that
can go wrong on the way.

`PROBE_SQL_SHOTS=folder` keeps a picture of each window as the test left it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from probe_sql.errors import Stopped
from probe_sql.loss import Loss
from probe_sql.serve.limits import Limits
from tests.serve.console.conftest import CHEAP, OWNER, Open, OpenWindow, Served, Window
from tests.serve.console.questions import DENIED, DOUBT
from tests.serve.test_process import make_slow, slow


def test_from_the_first_visit_to_the_first_answer(console: Served, window: OpenWindow) -> None:
    maria = window(console)
    page = maria.page
    maria.go("/answers")
    assert maria.heading == "Sign in"
    page.fill("#name", "maria")
    page.fill("#password", "no such password")
    page.press("#password", "Enter")
    assert page.inner_text("#wrong") == "Name and password do not match."
    maria.sign_in()
    page.click("text=large groups by disease")  # an example; nothing is asked by it
    page.wait_for_selector(".curve")
    assert console.spent == 0
    maria.write(DOUBT)
    assert page.inner_text("#press").startswith("Ask, up to ε 0.100")
    assert page.inner_text(".tree code >> nth=2") == "avg(age) < 10"
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/answers/*")
    assert re.match(r"\d+ groups by disease, (\d+ of them|all|none of them) certain", maria.heading)
    rows = page.locator("#answer tbody tr")
    assert rows.count() >= 10
    assert page.locator("#answer .plot .e").count() == rows.count()
    assert page.locator(".strip dd").first.inner_text().startswith("ε 0.")
    spent = console.spent
    assert 0 < spent <= 0.1
    page.reload()
    page.click("nav >> text=Answers")
    page.click(".ledger a >> nth=0")
    page.wait_for_url("**/answers/*-*")
    assert console.spent == spent


def test_over_tls_one_signs_in_asks_and_signs_out(open_console: Open, window: OpenWindow) -> None:
    served = open_console(self_signed=True)
    careful = window(served)
    with pytest.raises(Exception, match="ERR_CERT"):  # nobody vouches for this certificate
        careful.go()
    maria = window(served, ignore_https_errors=True)
    maria.sign_in()
    (cookie,) = maria.page.context.cookies()
    assert cookie["name"].startswith("__Host-")
    assert cookie["secure"]
    maria.ask(CHEAP)
    maria.page.wait_for_url("https://**/answers/*")
    assert served.spent > 0
    # Chromium saves no file from a host whose certificate it was told to overlook.
    saved = maria.page.request.get(f"{maria.page.url}.csv")
    assert saved.text().startswith("disease")
    maria.page.click("text=Sign out")
    maria.page.wait_for_selector("#password")
    maria.go("/answers")
    assert maria.heading == "Sign in"


@pytest.mark.parametrize("marking", ["on_exhausted = 'mark', ", ""], ids=["mark", "deny"])
def test_the_slider_the_bounds_and_the_keyboard_write_into_the_query(
    console: Served, window: OpenWindow, marking: str
) -> None:
    maria = window(console)
    page = maria.page
    maria.sign_in()
    maria.write(DOUBT.replace("3000", "3100").replace("on_exhausted = 'mark', ", marking))
    assert page.locator("svg.curve circle").count() == 6
    assert page.locator("svg.ruler .zone").count() == 3
    assert ("is listed as possible" in page.inner_text("#plan")) == bool(marking)
    page.focus("#epsilon")
    before, zone = page.inner_text("output.rows"), page.inner_text(".range >> nth=0")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("#plan:not([aria-busy]) .price >> text=0.098")
    assert "epsilon = 0.098" in page.inner_text(".cm-content")
    assert page.inner_text("output.rows") != before
    assert page.inner_text(".range >> nth=0") != zone
    assert page.evaluate("() => document.activeElement.id") == "epsilon"
    told = page.get_attribute("#epsilon", "aria-valuetext")
    assert re.fullmatch(r"epsilon 0\.098, [\d,]+ rows in doubt", told)
    page.fill("#fnr", "1")
    page.press("#fnr", "Tab")
    page.wait_for_selector("#plan:not([aria-busy]) #fnr[value='1']")
    assert "fnr = 0.01" in page.inner_text(".cm-content")


def test_words_are_completed_from_public_facts(console: Served, window: OpenWindow) -> None:
    maria = window(console)
    page = maria.page
    maria.sign_in()
    page.click(".cm-content")
    page.keyboard.type("SELECT ward FROM pat")
    page.wait_for_selector(".cm-tooltip-autocomplete >> text=patients")
    page.wait_for_timeout(150)  # what is pressed at once was meant for the text
    page.keyboard.press("Enter")
    page.keyboard.type(" WHERE ward = '")
    page.wait_for_selector(".cm-tooltip-autocomplete li:has-text('C')")
    page.keyboard.press("Escape")
    assert page.inner_text(".cm-content").endswith("FROM patients WHERE ward = '")


def test_what_is_wrong_is_underlined_and_mended_by_a_button(
    console: Served, window: OpenWindow
) -> None:
    maria = window(console)
    page = maria.page
    maria.sign_in()
    spent = console.spent
    maria.write(CHEAP.replace("disease,", "disese,"))
    page.wait_for_selector(".cm-lintRange-error")
    assert page.inner_text(".cm-lintRange-error") == "disese"
    assert not page.is_visible("#plan .where")  # the editor says where
    assert "Cost nothing" in page.inner_text(".note.bad")
    page.click("text=Write disease")
    page.wait_for_selector("#plan .price")
    page.wait_for_selector("body[data-ready]")
    assert "SELECT" in page.inner_text(".cm-content")
    assert "disese" not in page.inner_text(".cm-content")
    assert console.spent == spent


def test_a_denial_says_what_it_cost_and_what_to_press(console: Served, window: OpenWindow) -> None:
    maria = window(console)
    page = maria.page
    maria.sign_in()
    maria.ask(DENIED)
    page.wait_for_selector("h1:has-text('Denied')")
    said = page.inner_text(".note.doubt")
    assert said.startswith("ε 0.02 was not enough. The next step needs ")
    assert "Try" not in said  # the buttons do
    assert "Cost ε 0.01" in said
    spent = console.spent
    page.click("text=Allow ε 0.04")
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector("#plan .price")
    assert "epsilon = 0.04" in page.inner_text(".cm-content")
    assert console.spent == spent


def test_an_answer_is_sorted_filtered_and_copied(console: Served, window: OpenWindow) -> None:
    noor = window(console, permissions=["clipboard-read", "clipboard-write"])
    page = noor.page
    noor.sign_in("noor")
    noor.ask(DOUBT.replace("0.1)", "0.11)"))
    page.wait_for_selector("#answer")
    values = [
        int(text.replace(",", "")) for text in page.locator("#answer td.val").all_inner_texts()
    ]
    assert values == sorted(values, reverse=True)
    page.click("#answer th >> text=disease")
    names = page.locator("#answer td.name").all_inner_texts()
    assert names == sorted(names, reverse=True)
    assert page.get_attribute("#answer th >> nth=0", "aria-sort") == "descending"
    page.click("text=Near the line")
    assert page.locator("#answer.near").count() == 1
    if page.locator("text=/^Possible \\d/").count():
        page.click("text=/^Possible \\d/")
        assert page.locator("#answer tbody tr:visible .tag.sure").count() == 0
    page.click("text=CSV")
    page.wait_for_selector("text=Copied")
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert text.startswith("disease,cases,cases margin,group is\n")


def test_a_waiting_question_is_cancelled_for_nothing(
    open_console: Open, window: OpenWindow
) -> None:
    served = open_console()
    maria = window(served)
    page = maria.page
    maria.sign_in()
    turns = served.server.house._means.scans.turns
    turns._closed = True  # somebody else has the turn
    maria.ask(CHEAP)
    page.wait_for_selector("h1:has-text('Reading the data')")
    time.sleep(1.2)
    assert int(page.inner_text("#seconds")) >= 1
    page.keyboard.press("Escape")
    page.wait_for_selector(".note.bad")
    assert "cancelled" in page.inner_text(".note.bad")
    assert "count(*) > 12000" in page.inner_text(".cm-content")
    assert served.spent == 0
    served.loop.call_soon_threadsafe(turns.give_all)


def test_a_scan_that_has_begun_is_cancelled_at_its_price(
    open_console: Open, window: OpenWindow, clinic: Path
) -> None:
    make_slow(clinic)
    served = open_console(Limits(drain_seconds=1))
    maria = window(served)
    page = maria.page
    maria.sign_in()
    maria.ask(slow(400))
    page.wait_for_selector("h1:has-text('Reading the data')")
    for _ in range(100):
        if served.spent:
            break
        time.sleep(0.05)
    time.sleep(0.5)
    page.click("#cancel")
    page.wait_for_selector(".note.bad", timeout=30_000)
    assert "it is charged: epsilon 0.25" in page.inner_text(".note.bad")
    assert served.spent == pytest.approx(0.25)


def test_it_asks_back_and_a_spent_budget_says_so(
    open_console: Open, window: OpenWindow, clinic: Path
) -> None:
    policy = clinic / "clinic.toml"
    policy.write_text(policy.read_text().replace("maria = 4.0", "maria = 0.1"))
    served = open_console()
    maria = window(served)
    page = maria.page
    maria.sign_in()
    maria.ask(CHEAP.replace("0.1)", "0.2)"))  # more than there is
    page.wait_for_selector("#plan")
    page.wait_for_selector(".note.bad")
    assert served.spent == 0
    assert "This would be refused" in page.inner_text("#plan .price")
    page.click("text=Set ε to 0.1")
    page.wait_for_selector("#plan .price >> text=Costs at most ε 0.100")
    assert "epsilon = 0.1)" in page.inner_text(".cm-content")
    assert served.spent == 0
    maria.go()
    maria.ask(CHEAP)
    page.wait_for_selector("h1:has-text('Spend up to ε 0.100?')")
    assert "100 %" in page.inner_text("main")
    page.click("text=Change it")
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector("#plan .price")
    page.click("#press")
    page.click("button:has-text('Spend up to 0.100')")
    page.wait_for_url("**/answers/*")
    maria.go()
    text = page.inner_text("main")
    assert "New questions will not fit." in text
    page.click("text=Everything asked before stays free >> a")
    page.click(".ledger a >> nth=0")
    page.wait_for_selector("#answer")


def test_the_owner_sees_who_spent_and_unlocks(open_console: Open, window: OpenWindow) -> None:
    served = open_console()
    maria = window(served)
    maria.sign_in()
    maria.ask(CHEAP)
    maria.page.wait_for_url("**/answers/*")
    ledger = served.server.house._database.ledger.login("noor")
    for _ in range(served.server.house.policy.budget.failures):
        receipt = ledger.reserve("noor", Loss.asked(0.01), sql="SELECT 'secret literal'")
        try:
            ledger.settle(receipt, Loss.NOTHING, outcome="failed", reason="memory")
        except Stopped:
            break
    ada = window(served)
    ada.sign_in(OWNER)
    page = ada.page
    page.click("nav >> text=Owner")
    page.wait_for_selector("svg.spend")
    assert re.match(r"ε 0\.\d{3} of 10 spent since", ada.heading)
    assert "noor cannot ask" in page.inner_text("main")
    assert "secret literal" not in page.content()
    page.click("text=Show literals")
    assert "secret literal" in page.content()
    page.click("text=Unlock noor")
    page.wait_for_selector("text=noor may ask again.")
    assert "cannot ask" not in page.inner_text("main")
    assert not ledger.stopped()


HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


def test_texts_of_others_run_nowhere(open_console: Open, window: OpenWindow, clinic: Path) -> None:
    """Keys of the owner's tables, aliases, query texts, names and errors: shown, and no more."""
    with duckdb.connect(str(clinic / "clinic.duckdb")) as db:
        db.execute("UPDATE diseases SET name = ? WHERE name = 'common cold'", [HOSTILE])
        db.execute("UPDATE patients SET disease = ? WHERE disease = 'common cold'", [HOSTILE])
    served = open_console()
    maria = window(served)
    page = maria.page
    maria.sign_in()
    alias = HOSTILE.replace('"', "'")
    maria.ask(CHEAP.replace("cases", f'"{alias}"') + " -- </textarea></script>" + HOSTILE)
    page.wait_for_selector("#answer")
    assert HOSTILE in page.inner_text("#answer")
    page.wait_for_timeout(100)
    for path in ("/", "/answers"):
        maria.go(path)
        page.wait_for_timeout(150)
    for sql in (f"SELECT {HOSTILE}", f"SELECT \"{alias}\" FROM patients GROUP BY 1 HAVING true",
                "SELECT 1 \u202e\x07 </textarea><script>alert(3)</script>"):  # fmt: skip
        maria.go()
        maria.write(sql)
        page.click("#explain")
        page.wait_for_selector("body[data-ready]")
    ada = window(served)
    ada.sign_in(OWNER)
    for path in ("/owner", "/owner?literals=1"):
        ada.go(path)
        assert "alert(2)" in ada.page.content() or path == "/owner"
        ada.page.wait_for_timeout(150)
    assert page.locator("img").count() == ada.page.locator("img").count() == 0


def test_a_double_click_and_two_windows_pay_once(open_console: Open, window: OpenWindow) -> None:
    served = open_console()
    maria = window(served)
    page = maria.page
    maria.sign_in()
    maria.write(CHEAP.replace("(epsilon", "(fresh = true, epsilon"))
    page.dblclick("#press")
    page.wait_for_url("**/answers/*")
    entries = [*served.server.house._database.ledger.entries()]
    assert len(entries) == 1
    second = Window(page.context.new_page(), served.url)
    second.go("/answers")
    second.page.click(".ledger a >> nth=0")
    second.page.wait_for_selector("#answer")
    page.go_back()
    page.wait_for_selector("body[data-ready]")
    assert len([*served.server.house._database.ledger.entries()]) == 1


def test_a_session_that_ended_keeps_the_question(open_console: Open, window: OpenWindow) -> None:
    served = open_console(Limits(idle_seconds=1.5))
    maria = window(served)
    page = maria.page
    maria.sign_in()
    maria.write(CHEAP)
    time.sleep(2.8)
    page.click("#press")
    page.wait_for_selector("text=Your question is kept.")
    assert served.spent == 0
    page.fill("#name", "maria")
    page.fill("#password", "correct horse")
    page.press("#password", "Enter")
    page.wait_for_selector("body[data-ready]")
    assert "count(*) > 12000" in page.inner_text(".cm-content")
    assert served.spent == 0


def test_everything_but_the_niceties_works_without_scripts(
    open_console: Open, window: OpenWindow
) -> None:
    served = open_console()
    maria = window(served, java_script_enabled=False)
    page = maria.page
    maria.go()
    page.fill("#name", "maria")
    page.fill("#password", "correct horse")
    page.press("#password", "Enter")
    page.fill("#sql", CHEAP)
    page.click("#press")  # the price was not seen
    page.wait_for_selector("h1:has-text('Spend up to')")
    page.click("button:has-text('Spend up to 0.100')")
    page.wait_for_selector("#answer")
    assert page.locator("#answer .plot .e").count() == 1
    with page.expect_download():
        page.click("text=CSV")


def test_one_person_comes_in_by_the_link_once(clinic: Path, window: OpenWindow) -> None:
    """`probe-sql console DB` as a process of its own."""
    running = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "probe_sql",
            "console",
            str(clinic / "clinic.duckdb"),
            "--analyst",
            "maria",
            "--port",
            "0",
            "--no-browser",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    timer = threading.Timer(60, running.kill)
    timer.start()
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        found = re.fullmatch(r"open (http://127\.0\.0\.1:\d+)(/enter/[\w-]{32})\n", line)
        assert found is not None, line

        base, link = found[1], found[2]
        one, other = window(SimpleNamespace(url=base)), window(SimpleNamespace(url=base))
        for looks in ({"method": "HEAD"}, {"headers": {"Sec-Purpose": "prefetch"}}):
            assert one.page.request.fetch(base + link, **looks).status == 401
        one.go(link)
        one.page.wait_for_selector("body[data-ready]")
        one.ask(CHEAP)
        one.page.wait_for_url("**/answers/*")
        one.page.click("nav >> text=Owner")
        one.page.wait_for_selector("svg.spend")
        other.go(link)
        assert other.heading == "Come in by the link"
        other.go("/owner")
        assert other.heading == "Come in by the link"
    finally:
        timer.cancel()
        running.terminate()
        assert running.wait(30) == 0
