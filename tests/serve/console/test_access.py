"""The console for everybody: axe, narrow windows, dark and light, and the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probe_sql.errors import Stopped
from probe_sql.loss import Loss
from probe_sql.serve.limits import Limits
from tests.serve.console.conftest import CHEAP, OWNER, Open, OpenWindow, Served, Window
from tests.serve.console.questions import (
    BLOCKS,
    CURVE,
    DAYS,
    DENIED,
    DOUBT,
    LONG,
    MANY,
    NONE,
    PAIRS,
    VALUES,
)

AXE = Path(__file__).with_name("axe.min.js")
# Width, pixels of the screen to one of the page, colours. The third is 1,280 at 200 % of zoom.
WINDOWS = [
    (width, ratio, scheme)
    for width, ratio in ((1280, 1), (320, 1), (640, 2), (390, 1))
    for scheme in ("light", "dark")
]
FEW = [WINDOWS[0], WINDOWS[3]]

Look = Callable[[str], None]


# --- for everybody -------------------------------------------------------------------------------


class Judge:
    """Looks at the page that a window shows: what axe finds, and whether it scrolls sideways."""

    def __init__(self, one: Window) -> None:
        self._page = one.page
        self._zoom = one.page.context.new_cdp_session(one.page)
        self.windows = FEW
        self.found: list[str] = []
        self.seen: list[str] = []

    def __call__(self, where: str) -> None:
        self.seen.append(where)
        for width, ratio, scheme in self.windows:
            self._page.emulate_media(color_scheme=scheme)
            size = {"width": width, "height": 800, "deviceScaleFactor": ratio, "mobile": False}
            self._zoom.send("Emulation.setDeviceMetricsOverride", size)
            self._page.add_script_tag(path=str(AXE))
            self._check(f"{where}, {width} px, {scheme}")
        self._zoom.send("Emulation.clearDeviceMetricsOverride")

    def _check(self, where: str) -> None:
        found = self._page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        self.found += [
            f"{where}: {one['id']}: {node['html'][:200]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]
        side = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        if self._page.evaluate(side) > 1:
            self.found.append(f"{where}: scrolls sideways")


@pytest.mark.parametrize(
    "windows",
    [pytest.param(FEW, id="few"), pytest.param(WINDOWS, id="all", marks=pytest.mark.slow)],
)
def test_axe_finds_nothing_on_any_page_and_none_scrolls_sideways(
    open_console: Open, window: OpenWindow, windows: list[tuple[int, int, str]]
) -> None:
    served = open_console()
    one = window(served, bypass_csp=True)
    look = Judge(one)
    look.windows = windows
    one.go()
    look("door")
    one.page.fill("#name", "noor")
    one.page.fill("#password", "no such password")
    one.page.press("#password", "Enter")
    one.page.wait_for_selector("#wrong")
    look("door, wrong")
    one.sign_in("noor")
    look("ask, nothing yet")
    one.go("/answers")
    look("answers, none yet")
    _ask_pages(one, look)
    _answer_pages(one, look)
    one.go("/owner")
    look("owner's, for another")
    one.go("/nothing")
    look("nothing there")
    _owner_pages(served, one, look)
    assert len(look.seen) >= 26
    assert look.found == []


def _ask_pages(one: Window, look: Look) -> None:
    wrong = "SELECT x FROM patients"
    texts = {"wrong": wrong, "wrong, long": LONG, "refused": CURVE.replace("0.1)", "9)"),
             "blocks": BLOCKS, "mark": DOUBT, "curve": CURVE, "values": VALUES}  # fmt: skip
    for name, sql in texts.items():
        one.go()
        one.write(sql)
        look(f"ask, {name}")
    one.go()
    one.ask(CURVE.replace("0.1)", "2)"))  # half of what there is
    one.page.wait_for_selector("h1:has-text('Spend up to')")
    look("asking back")


def _answer_pages(one: Window, look: Look) -> None:
    page = one.page
    kinds = {"doubt": DOUBT, "days": DAYS, "pairs": PAIRS, "many": MANY, "values": VALUES,
             "none": NONE, "blocks": BLOCKS, "denied": DENIED}  # fmt: skip
    for name, sql in kinds.items():
        one.go()
        one.ask(sql)
        page.wait_for_selector("h2:has-text('promised'), h1:has-text('Denied')")
        look(f"answer, {name}")
        if page.locator("text=Near the line").count():
            page.click("text=Near the line")
            look(f"answer, {name}, near the line")
    one.go("/answers")
    look("answers")
    one.go("/answers/7-nothing")
    look("not kept")


def _owner_pages(served: Served, one: Window, look: Look) -> None:
    ledger = served.server.house._database.ledger.login("maria")
    for _ in range(served.server.house.policy.budget.failures):
        receipt = ledger.reserve("maria", Loss.asked(0.01), sql="SELECT 'secret literal'")
        try:
            ledger.settle(receipt, Loss.NOTHING, outcome="failed", reason="memory")
        except Stopped:
            break
    one.go()
    one.page.click("text=Sign out")
    one.page.wait_for_selector("#password")
    one.sign_in(OWNER)
    one.go("/owner")
    look("owner")
    one.go("/owner?literals=1")
    look("owner, literals")
    one.page.click("text=Remove noor")
    one.page.wait_for_selector("h1")
    look("owner, sure")


def test_axe_finds_nothing_while_a_question_runs_and_after_the_session(
    open_console: Open, window: OpenWindow
) -> None:
    served = open_console(Limits(idle_seconds=4))
    one = window(served, bypass_csp=True)
    look = Judge(one)
    look.windows = WINDOWS
    one.sign_in()
    turns = served.server.house._means.scans.turns
    turns._closed = True  # somebody else has the turn
    one.ask(CHEAP)
    one.page.wait_for_selector("h1:has-text('Reading the data')")
    look("running")
    one.page.click("#cancel")
    one.page.wait_for_selector(".note.bad")
    look("cancelled")
    served.loop.call_soon_threadsafe(turns.give_all)
    one.page.wait_for_timeout(5000)
    one.page.click("#press")
    one.page.wait_for_selector("text=Your question is kept.")
    look("signed out meanwhile")
    assert look.found == []


def test_focus_is_seen_and_follows_the_page(console: Served, window: OpenWindow) -> None:
    maria = window(console)
    page = maria.page
    maria.sign_in()
    order = []
    for _ in range(6):
        page.keyboard.press("Tab")
        order.append(page.evaluate("() => document.activeElement.textContent.trim()"))
    assert order[:4] == ["Skip to content", "clinic", "Ask", "Answers"]


def test_all_is_done_by_the_keyboard(console: Served, window: OpenWindow) -> None:
    """From the door to an answer sorted and filtered, and out again; focus can always be seen."""
    one = window(console)
    page: Any = one.page
    one.go()
    page.keyboard.type("noor")  # the field has the focus
    page.keyboard.press("Tab")
    page.keyboard.type("correct horse")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-ready]")

    def go_to(text: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            page.wait_for_timeout(30)  # the editor says so a little later
            found = page.evaluate(
                "() => { const e = document.activeElement, s = getComputedStyle(e);"
                " const own = e.closest('.cm-editor') ?? e;"
                " return [e.textContent.trim() + (e.ariaLabel ?? ''), s.outlineStyle !== 'none' ||"
                " getComputedStyle(own).outlineStyle !== 'none']; }"
            )
            assert found[1], found
            if text in found[0]:
                return
        raise AssertionError(text)

    go_to("SQL")
    page.keyboard.insert_text(DOUBT.replace("3000", "3001"))
    page.wait_for_selector("#plan:not([aria-busy]) .price")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#answer")
    go_to("disease")  # the head of the column sorts
    page.keyboard.press("Enter")
    assert page.get_attribute("#answer th >> nth=0", "aria-sort") == "descending"
    go_to("Markdown")
    page.keyboard.press("Shift+Tab")
    go_to("Link")
    page.goto(page.url)
    go_to("Sign out")
    page.keyboard.press("Enter")
    page.wait_for_selector("#password")
