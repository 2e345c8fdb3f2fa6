"""The built wheel in an empty environment: it installs, starts, and runs the README's lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import readme

ROOT = Path(__file__).parent.parent


def run(*words: str | Path, cwd: Path) -> str:
    """The output of a command, free of this checkout's path and settings."""
    settings = {n: v for n, v in os.environ.items() if not n.startswith(("PYTHON", "XDG_"))}
    # gcc 14 and later reject pyeda's C code unless this turns one error into a warning.
    settings |= {"CFLAGS": "-Wno-error=incompatible-pointer-types", "HOME": str(cwd)}
    done = subprocess.run(
        [*map(str, words)], cwd=cwd, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("probe_sql-*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    bin_ = tmp_path / "venv" / "bin"
    run(bin_ / "python", "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    where = run(bin_ / "python", "-c", "import probe_sql; print(probe_sql.__file__)", cwd=tmp_path)
    assert str(tmp_path / "venv") in where
    assert run(bin_ / "probe-sql", "--version", cwd=tmp_path).startswith("probe-sql ")
    shown = run(bin_ / "probe-sql", "demo", "--dir", tmp_path, cwd=tmp_path)
    assert "viral pneumonia" in shown
    (code,) = readme.blocks("python")
    assert "remains" in run(bin_ / "python", "-c", code, cwd=tmp_path)
