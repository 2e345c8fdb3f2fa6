"""What every test gets: reproducible examples, a state directory of its own, a place in line, and
`probe-sql` as a function."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Workers share the cores already. Threads of BLAS wait for each other by spinning: on a busy
# machine that made a solve of milliseconds last a minute. Read when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The default draws the same examples on every run, so a failure is always about a change.
# `pytest --hypothesis-profile=explore` looks further, with fresh randomness. For `tests.mutation`
# it is enough that an example fails: the smallest one is not looked for.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, max_examples=60)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.register_profile(
    "mutants", settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("ci")


# Files of tests that start a server: one worker runs all of a kind, so that one is started and
# not one for each worker. (Marks of xdist_group do nothing under pytest 9: xdist 3.8 writes the
# group where pytest no longer reads it.)
SERVERS = ("test_spark", "test_postgres", "test_browser")


class ByFile(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """All tests of a file, or of a server, to one worker, which makes once what they share."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        file = path.rpartition("/")[2]
        return next((name for name in SERVERS if file.startswith(name)), path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    return ByFile(config, log) if config.getoption("dist") == "load" else None


FIGURES = ("benchmarks", "datasets")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of what makes figures: `make test-figures` runs them, `make test` does not."""
    here = Path(__file__).parent
    folders = tuple(f"{here / folder}{os.sep}" for folder in FIGURES)
    for item in items:
        if str(item.path).startswith(folders):
            item.add_marker(pytest.mark.figures)


@pytest.fixture(scope="session")
def _state_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New directories, numbered: `mktemp` would look at those of all tests before, each time."""
    homes = tmp_path_factory.mktemp("state")
    return (homes / str(number) for number in count())


@pytest.fixture(autouse=True)
def _own_state_home(_state_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test an empty XDG_STATE_HOME: no ledger or history that it did not make."""
    home = next(_state_homes)
    home.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(home))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of files that tests read, `tests/data`."""
    return Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Ending:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ending]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `probe-sql` in this process; `stdin` is what is piped into it."""
    from probe_sql.cli.main import main  # not for those who never run it

    def call(*arguments: str, stdin: str = "") -> Ending:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Ending(code, captured.out, captured.err)

    return call
