"""A clinic for every test, and `probe-sql` as a function."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from probe_sql.cli.main import main
from probe_sql.owner import build_demo

# Groups lie far from the threshold, and beta is small: the noise would have to be some twenty
# scales off to change the answer.
STEADY = (
    "SELECT disease FROM patients WHERE disease_type = 'viral' GROUP BY disease "
    "HAVING count(*) > 2000 WITH ACCURACY (fnr = 0.001, algorithm = 'naive')"
)
COMMON = (
    "bronchiolitis", "chickenpox", "common cold", "croup", "hand, foot and mouth", "hepatitis A",
    "hepatitis B", "influenza", "mononucleosis", "norovirus", "rotavirus", "shingles",
    "viral pneumonia",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ending:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ending]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo clinic, made once."""
    folder = tmp_path_factory.mktemp("built")
    build_demo(folder)
    return folder


@pytest.fixture
def clinic(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a clinic of its own, which is the current directory."""
    for name in ("clinic.duckdb", "clinic.toml"):
        shutil.copy(built / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `probe-sql` in this process; `stdin` is what is piped into it."""

    def call(*arguments: str, stdin: str = "") -> Ending:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Ending(code, captured.out, captured.err)

    return call
