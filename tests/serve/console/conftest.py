"""A server with its console for tests, a client that keeps cookies, and a real browser."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("starlette", reason="the console needs Starlette (probe-sql[serve])")
pytest.importorskip("uvicorn", reason="the console needs uvicorn (probe-sql[serve])")

from probe_sql.serve.limits import Limits
from probe_sql.serve.server import Console, Server
from probe_sql.serve.users import add_user
from tests.serve.conftest import COMMON, PASSWORD, Running, make_clinic

CHEAP = COMMON + " WITH ACCURACY (epsilon = 0.1)"
OWNER = "ada"


class Served(Running):
    """A server with both doors, in a thread of its own."""

    async def _run(self) -> None:
        import asyncio

        self.server = Server(self.opening, self._limits, Console(port=0))
        self.loop = asyncio.get_running_loop()
        self.host, self.port = await self.server.start()
        assert self.server.console is not None
        self.console_port = self.server.console.address.port
        self._ready.set()
        await self.server.run()

    def stop(self) -> None:
        if self._thread.is_alive():
            super().stop()

    @property
    def url(self) -> str:
        scheme = "https" if self.opening.self_signed else "http"
        return f"{scheme}://127.0.0.1:{self.console_port}"

    @property
    def spent(self) -> float:
        """What the ledger says that everybody has spent."""
        return self.server.house._database.ledger.state(None).spent


class Client:
    """A browser without a screen: it keeps cookies, follows nothing, and says where it is from."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.cookie = ""
        self.csrf = ""
        self.headers: dict[str, str] = {}

    def request(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], str]:
        link = http.client.HTTPConnection("127.0.0.1", self.served.console_port, timeout=30)
        given = {"Host": f"127.0.0.1:{self.served.console_port}", "Cookie": self.cookie}
        if method != "GET":
            given |= {"Origin": self.served.url, "Sec-Fetch-Site": "same-origin"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(link):
            link.request(method, path, body, {n: v for n, v in given.items() if v})
            answer = link.getresponse()
            text = answer.read().decode()
            self.headers = {name.lower(): value for name, value in answer.getheaders()}
            cookie = self.headers.get("set-cookie")
            if cookie:
                self.cookie = cookie.partition(";")[0]
            return answer.status, self.headers, text

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        status, _, text = self.request("GET", path, b"", **headers)
        return status, text

    def post(self, path: str, fields: dict[str, str], **headers: str) -> tuple[int, str]:
        body = urlencode({"csrf": self.csrf, **fields}).encode()
        headers.setdefault("Content_Type", "application/x-www-form-urlencoded")
        status, _, text = self.request("POST", path, body, **headers)
        return status, text

    def send(self, path: str, fields: dict[str, str]) -> Any:
        """As a script of the page does."""
        body = json.dumps(fields).encode()
        status, _, text = self.request(
            "POST", path, body, Content_Type="application/json", X_CSRF=self.csrf
        )
        assert status == 200, text
        return json.loads(text)

    def sign_in(self, name: str = "maria", password: str = PASSWORD) -> Client:
        status, _ = self.post("/enter", {"name": name, "password": password})
        assert status == 303
        self.look()
        return self

    def look(self, path: str = "/") -> str:
        """A page, whose token is remembered."""
        status, text = self.get(path)
        assert status == 200, (status, text)
        found = re.search(r'id="page">(.*?)</script>', text)
        assert found is not None
        self.csrf = json.loads(found[1])["csrf"]
        return text

    def key(self) -> str:
        """The key of a form that has just been made."""
        found = re.search(r'name="key" hidden>\n(.*?)</textarea>', self.look())
        assert found is not None
        return unescape(found[1])

    def ask(self, sql: str, key: str | None = None, agreed: str = "9", **more: str) -> str:
        """Press the button; returns where the answer is."""
        sent = {"sql": sql, "key": key or self.key(), "agreed": agreed, "sure": "yes", **more}
        status, text = self.post("/ask", sent)
        assert status == 303, text
        place = self.headers["location"]
        if place.startswith("/asking/"):  # a busy machine takes longer than a press waits
            place = self._answered(place)
        return place

    def _answered(self, place: str, seconds: float = 4.0) -> str:
        """Where the answer is once the question has ended, or still `place` after a while."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            status, text = self.get(f"{place}/state")
            if status != 200 or json.loads(text).get("done"):
                return self.headers["location"] if self.get(place)[0] == 303 else place
            time.sleep(0.05)
        return place


Open = Callable[..., Served]


@pytest.fixture
def open_console(clinic: Path) -> Iterator[Open]:
    """Start servers with a console on a clinic of this test's own."""
    add_user(clinic / "clinic.duckdb.ledger.users", OWNER, PASSWORD, owner=True)
    running: list[Served] = []

    def start(limits: Limits | None = None, **opening: object) -> Served:
        running.append(Served(clinic, limits or Limits(), **opening))
        running[-1].start()
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture(scope="module")
def console(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests of a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        folder = make_clinic(built, tmp_path_factory.mktemp("clinic"))
        add_user(folder / "clinic.duckdb.ledger.users", OWNER, PASSWORD, owner=True)
        one = Served(folder, Limits())
        one.start()
        yield one
        one.stop()


# --- a real browser ------------------------------------------------------------------------------

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


@pytest.fixture(scope="module")  # its event loop would be in the way of other files' tests
def chromium() -> Iterator[Any]:
    """The system's browser; without one, tests that need it are skipped."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright drives the browser (pip install playwright)"
    )
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this system (apt install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=[*_FLAGS])
        yield browser
        browser.close()


class Window:
    """A page of the browser, which remembers what its console and its scripts complain about."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._said)
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.set_default_timeout(40_000)  # the machine may be busy

    def _said(self, message: Any) -> None:
        # That a page is not there, or not to be had, is said by its status as well.
        if message.type == "error" and "status of 4" not in message.text:
            where = message.location
            self.complaints.append(f"{message.text} at {where['url']}:{where['lineNumber']}")

    def go(self, path: str = "/") -> None:
        self.page.goto(self.url + path)

    def sign_in(self, name: str = "maria", password: str = PASSWORD) -> None:
        self.go()
        self.page.fill("#name", name)
        self.page.fill("#password", password)
        self.page.press("#password", "Enter")
        self.page.wait_for_selector("body[data-ready]")

    def write(self, sql: str) -> None:
        """Write a query into the editor, in place of what is there, and wait for its plan."""
        self.page.wait_for_selector("body[data-ready]")
        self.page.click(".cm-content")
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(sql)
        self.page.wait_for_timeout(300)  # then the plan is asked for
        self.page.wait_for_selector("#plan:not([aria-busy]) :is(.price, .note)")

    def ask(self, sql: str) -> None:
        self.write(sql)
        self.page.keyboard.press("Control+Enter")

    @property
    def heading(self) -> str:
        return str(self.page.inner_text("h1"))


OpenWindow = Callable[..., Window]


@pytest.fixture
def window(chromium: Any, request: pytest.FixtureRequest) -> Iterator[OpenWindow]:
    """Open windows, each as a browser of its own; afterwards none may have complained."""
    contexts: list[Any] = []
    windows: list[Window] = []

    def start(served: Any, **options: Any) -> Window:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        windows.append(Window(context.new_page(), served.url))
        return windows[-1]

    yield start
    complaints = [complaint for one in windows for complaint in one.complaints]
    folder = os.environ.get("PROBE_SQL_SHOTS")
    for index, one in enumerate(windows):
        if folder and not one.page.is_closed():
            one.page.screenshot(path=Path(folder, f"{request.node.name}-{index}.png"))
    for context in contexts:
        context.close()
    assert complaints == []
