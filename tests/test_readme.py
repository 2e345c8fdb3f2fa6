"""What the README shows is true: its session, its Python, its commands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from datasets.common import data_dir
from probe_sql.owner import DEMO_QUERY, DEMO_VALUES, build_demo
from tests import readme

pytestmark = pytest.mark.service  # sessions of the shell

ROOT = Path(__file__).parent.parent


def test_the_session_is_what_the_shell_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(readme.WIDTH))
    session = readme.blocks("console")
    assert session[0].startswith("$ probe-sql clinic.duckdb --analyst maria\n")
    shown = readme.replay(session, tmp_path)
    assert shown == session, "run `python -m tests.readme` and read what it changes"


def test_the_story_is_what_the_shell_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in readme.NEEDED:
        if not (data_dir() / name).is_file():
            pytest.skip(f"the story's data are not here: {name}")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(readme.WIDTH))
    session = readme.blocks("console", readme.STORY)
    shown = readme.tell(session, tmp_path / "story")
    assert shown == session, "run `python -m tests.readme` and read what it changes"


def test_the_session_asks_the_queries_that_the_readme_and_the_demo_show() -> None:
    (session,) = readme.blocks("console")
    typed = [text.strip() for text in readme.inputs(session)]
    for query, shown in zip((DEMO_VALUES, DEMO_QUERY), readme.blocks("sql"), strict=True):
        assert query.strip() == shown.strip()
        assert query.strip() in typed


def test_the_value_outside_its_margin_is_the_one_that_is_named(tmp_path: Path) -> None:
    (session,) = readme.blocks("console")
    number = r"([\d,.]+) ± ([\d.]+)"
    shown = re.findall(rf"^([A-D]) +{number} +{number} ", session, flags=re.MULTILINE)
    with duckdb.connect(build_demo(tmp_path).database, read_only=True) as connection:
        exact = {
            ward: values
            for ward, *values in connection.execute(
                "SELECT ward, count(*), avg(age) FROM patients GROUP BY ward"
            ).fetchall()
        }
    outside = [
        f"in ward {ward} can be told: {round(value, 4)}, a little further from {near} than {margin}"
        for ward, *pairs in shown
        for value, near, margin in zip(exact[ward], pairs[::2], pairs[1::2], strict=True)
        if abs(value - float(near.replace(",", ""))) > float(margin)
    ]
    text = " ".join(readme.README.read_text(encoding="utf-8").split())
    assert len(shown) == 4
    assert len(outside) == 1
    assert outside[0] in text


def test_the_python_lines_run_as_they_stand(tmp_path: Path) -> None:
    build_demo(tmp_path)
    (code,) = readme.blocks("python")
    assert len(code.strip().splitlines()) <= 12
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
    )
    assert "remains" in run.stdout


def test_the_commands_that_are_named_exist() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    for block in readme.blocks("sh"):
        for target in re.findall(r"^make (\w+)", block, flags=re.MULTILINE):
            assert re.search(rf"^{target}:", text, flags=re.MULTILINE)
