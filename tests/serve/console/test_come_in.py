"""What `probe-sql console DB` gives to the browser that it opens, and what others see of it."""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

from tests.cli.terminal import Terminal
from tests.serve.conftest import until

# A browser that writes down what it was told, what it finds there, and who else could look.
BROWSER = """
import json, os, pathlib, sys, urllib.parse
page = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path))
modes = [os.stat(one).st_mode & 0o777 for one in (page, page.parent)]
found = {"told": sys.argv, "page": page.read_text(), "modes": modes}
pathlib.Path(__file__).with_suffix(".part").write_text(json.dumps(found))
pathlib.Path(__file__).with_suffix(".part").rename(pathlib.Path(__file__).with_suffix(".json"))
"""


def test_no_command_line_has_the_token_and_its_file_is_for_this_account_alone(
    clinic: Path, tmp_path: Path
) -> None:
    browser = tmp_path / "browser.py"
    browser.write_text(BROWSER)
    words = ("console", str(clinic / "clinic.duckdb"), "--analyst", "maria", "--port", "0")
    with Terminal(*words, env={"BROWSER": f"{sys.executable} {browser} %s"}) as terminal:
        shown = re.search(
            r"open (http://127\.0\.0\.1:\d+/enter/([\w-]{32}))", terminal.until("C ends")
        )
        assert shown is not None
        link, token = shown.groups()
        until(browser.with_suffix(".json").exists)
        found = json.loads(browser.with_suffix(".json").read_text())
        assert not any(token in word for word in found["told"])
        assert found["modes"] == [0o600, 0o700]
        target = re.search(r'http-equiv="refresh" content="0; url=(.*?)"', found["page"])
        assert target is not None
        assert unescape(target[1]) == link
        came_in = build_opener(HTTPCookieProcessor()).open(unescape(target[1]), timeout=30)
        assert "Ask" in came_in.read().decode()
        page = Path(unquote(urlsplit(found["told"][1]).path))
        assert page.exists()
        terminal.child.sendintr()
        terminal.child.wait()
    assert not page.parent.exists()
