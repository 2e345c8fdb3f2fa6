"""What is vendored is what was made of the packages that are named, and says whose it is."""

from __future__ import annotations

import hashlib
import json
import re
from importlib import resources
from pathlib import Path

VENDOR = Path(__file__).parents[3] / "vendor"
STATIC = resources.files("probe_sql.serve.console").joinpath("static")


def test_the_editor_is_the_one_that_was_made() -> None:
    digest, name = (VENDOR / "editor.sha256").read_text().split()
    assert hashlib.sha256(STATIC.joinpath(name).read_bytes()).hexdigest() == digest


def test_every_package_in_it_has_its_licence() -> None:
    named = json.loads((VENDOR / "package.json").read_text())["dependencies"]
    locked = json.loads((VENDOR / "package-lock.json").read_text())["packages"]
    text = STATIC.joinpath("editor.LICENSES.txt").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^(\S+) ([\d.]+) \(MIT\)$", text, flags=re.MULTILINE))
    assert listed.items() >= named.items()
    assert listed == {name: locked[f"node_modules/{name}"]["version"] for name in listed}
    assert text.count("Permission is hereby granted, free of charge") == len(listed)


def test_nothing_is_fetched_from_elsewhere() -> None:
    for name in ("console.js", "style.css", "icon.svg"):
        text = STATIC.joinpath(name).read_text(encoding="utf-8")
        found = re.findall(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]+", text.replace("www.w3.org", ""))
        assert found == [], name
        assert "@import" not in text


def test_no_page_writes_styles_or_handlers_into_its_elements() -> None:
    folder = Path(str(resources.files("probe_sql.serve.console")))
    for file in folder.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"\bstyle\s*=|\bon(?:click|load|error|input)\s*=", text), file.name
