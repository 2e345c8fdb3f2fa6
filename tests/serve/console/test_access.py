"""The console for everybody: axe, narrow windows, dark and light, and the keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.serve.console.conftest import OWNER, OpenWindow, Served

AXE = Path(__file__).with_name("axe.min.js")
DOUBT = """\
SELECT disease, count(*) AS cases
FROM patients
GROUP BY disease
HAVING count(*) > 3000 OR (count(*) > 1000 AND avg(age) < 10)
WITH ACCURACY (on_exhausted = 'mark', epsilon = 0.1)"""
DAYS = """\
SELECT admitted, count(*) AS n FROM patients GROUP BY admitted
HAVING count(*) > 3000 WITH ACCURACY (on_exhausted = 'mark', epsilon = 0.1)"""
PAIRS = """\
SELECT ward, gender, count(*) AS n FROM patients GROUP BY ward, gender
WITH ACCURACY (epsilon = 0.1)"""
BLOCKS = """\
WITH a AS (SELECT ward, count(*) AS n FROM patients GROUP BY ward WITH ACCURACY (epsilon = 0.05)),
b AS (SELECT ward, avg(age) AS age FROM patients GROUP BY ward WITH ACCURACY (epsilon = 0.05))
SELECT a.ward, n, age FROM a JOIN b ON a.ward = b.ward ORDER BY n DESC"""
DENIED = """\
SELECT disease, count(*) AS n FROM patients GROUP BY disease
HAVING median(age) > 60 WITH ACCURACY (epsilon = 0.02)"""


# --- for everybody -------------------------------------------------------------------------------


def _check(page: Any, where: str) -> list[str]:
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{where}: {one['id']}: {node['html'][:200]}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def _sideways(page: Any) -> bool:
    wide = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
    return bool(page.evaluate(wide))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    console: Served, window: OpenWindow, width: int, scheme: str
) -> None:
    """The narrowest is also what 200 % of zoom leaves of a window of 640."""
    one = window(console, viewport={"width": width, "height": 800}, color_scheme=scheme,
                 bypass_csp=True)  # fmt: skip
    page, found, wide = one.page, [], []
    one.go()

    def look(where: str) -> None:
        page.add_script_tag(path=str(AXE))
        found.extend(_check(page, where))
        if _sideways(page):
            wide.append(where)

    look("door")
    one.sign_in("noor")
    for name, sql in (("wrong", "SELECT x FROM patients"), ("blocks", BLOCKS), ("doubt", DOUBT)):
        one.write(sql)
        look(f"ask {name}")
    for name, sql in (("doubt", DOUBT), ("days", DAYS), ("pairs", PAIRS), ("denied", DENIED)):
        one.go()
        one.ask(sql)
        page.wait_for_url("**/answers/*")
        look(f"answer {name}")
    one.go("/answers")
    look("answers")
    one.go("/answers/7-nothing")
    look("missing")
    page.click("text=Sign out")
    one.sign_in(OWNER)
    one.go("/owner")
    look("owner")
    assert found == []
    assert wide == []


def test_focus_is_seen_and_follows_the_page(console: Served, window: OpenWindow) -> None:
    maria = window(console)
    page = maria.page
    maria.sign_in()
    order = []
    for _ in range(6):
        page.keyboard.press("Tab")
        order.append(page.evaluate("() => document.activeElement.textContent.trim()"))
    assert order[:4] == ["Skip to content", "clinic", "Ask", "Answers"]
