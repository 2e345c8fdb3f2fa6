"""The built wheel in an empty environment, without a compiler: it installs and works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import readme

ROOT = Path(__file__).parent.parent
COMPILERS = ("cc", "gcc", "g++", "c++", "clang")


def run(*words: str | Path, cwd: Path) -> str:
    """The output of a command, free of this checkout's path and settings, and of compilers."""
    settings = {n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "XDG_"))}
    settings |= {"CC": "false", "CXX": "false", "HOME": str(cwd), "PATH": str(cwd / "bin")}
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment_without_a_compiler(tmp_path: Path) -> None:
    assert not [name for name in COMPILERS if shutil.which(name, path=str(tmp_path / "bin"))]
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("probe_sql-*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    bin_ = tmp_path / "venv" / "bin"
    binary = ("--only-binary", ":all:")  # nothing is built: only what has a wheel counts
    run(bin_ / "python", "-m", "pip", "install", "--quiet", *binary, wheel, cwd=tmp_path)
    where = run(bin_ / "python", "-c", "import probe_sql; print(probe_sql.__file__)", cwd=tmp_path)
    assert str(tmp_path / "venv") in where
    packages = {path.name for path in (tmp_path / "venv").glob("lib/python*/site-packages/*")}
    assert "duckdb" in packages
    assert "pyeda" not in packages
    assert run(bin_ / "probe-sql", "--version", cwd=tmp_path).startswith("probe-sql ")
    shown = run(bin_ / "probe-sql", "demo", "--dir", tmp_path, cwd=tmp_path)
    assert "viral pneumonia" in shown
    notices = [line for line in shown.splitlines() if "notice" in line]
    assert [line.partition(":")[2][:17] for line in notices] == [" This is a replay"]
    (code,) = readme.blocks("python")
    assert "remains" in run(bin_ / "python", "-c", code, cwd=tmp_path)
