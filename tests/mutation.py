"""Change one operator, number or name where privacy is computed, and see which test fails.

`tests/data/mutation.toml` names the files with the tests that hold them, and the mutants that
survive because they change nothing, each with the reason. `python -m tests.mutation` runs all of
them, `--file plan/account.py` those of one file, and `--write` notes in `tests/data/killed.json`
which test saw each. `--sample 40` takes that many of those noted, so that an edit elsewhere does
not change which, and one that survives now was killed before. Every mutant is compiled in memory,
in a process of its own that was forked with the libraries loaded, so the sources stay as they are.
Mutants by hand that take walls away are in `tests.mutants`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import resource
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

import pytest

from tests.mutator import ROOT, Mutant, candidates

TABLE = ROOT / "tests/data/mutation.toml"
KILLED = ROOT / "tests/data/killed.json"
LIMIT = 100  # seconds of a processor for one mutant: one that never ends is noticed by that
WAIT = 900.0  # and one that waits for ever by this, on a busy machine too
_GONE = "pytest ended with"  # no test ran: the one that was noted has another name
_LOADED = ("numpy", "duckdb", "sqlglot", "pyarrow", "pandas", "polars", "hypothesis", "xdist")


@dataclass(frozen=True, slots=True)
class Held:
    """A file, how many mutants are taken from it, and the tests that should fail."""

    file: str
    take: int
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """What is mutated, and which mutants are known to change nothing."""

    seed: int
    held: tuple[Held, ...]
    same: Mapping[str, str]


def table() -> Table:
    """The table of `mutation.toml`."""
    read: dict[str, Any] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    held = [Held(file, one["take"], tuple(one["tests"])) for file, one in read["files"].items()]
    return Table(read["seed"], tuple(held), read.get("same", {}))


def _drawn(seed: int, name: str) -> bytes:
    """The order in which mutants are taken, by name: new lines do not change that of others."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()


def chosen(held: Held, seed: int) -> list[Mutant]:
    """`take` mutants of a file, in the order of the text."""
    found = sorted(candidates(held.file), key=lambda one: _drawn(seed, one.name))
    return sorted(found[: held.take], key=lambda one: one.start)


def killed() -> dict[str, str]:
    """The mutants that were killed when all were run last, each with the test that did."""
    noted: dict[str, str] = json.loads(KILLED.read_text(encoding="utf-8"))
    return noted


def sample(held: Sequence[Held], seed: int, size: int) -> list[tuple[Mutant, Held]]:
    """So many mutants among those noted as killed whose lines are still there."""
    noted = killed()
    found = [
        (mutant, one) for one in held for mutant in candidates(one.file) if mutant.name in noted
    ]
    return sorted(found, key=lambda pair: _drawn(seed, pair[0].name))[:size]


# --- running one -----------------------------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a changed source instead of the file's."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, _fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module of the package changed."""

    def __init__(self, mutant: Mutant) -> None:
        path = ROOT / "probe_sql" / mutant.file
        self._name = "probe_sql." + mutant.file.removesuffix(".py").replace("/", ".")
        self._loader = _Loader(self._name, str(path), mutant.applied(path.read_bytes()))

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(
            fullname, self._loader.path, loader=self._loader
        )


class _FirstFailure:
    """Notes the first test that failed."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = f"{report.nodeid} (import)"


def killer(mutant: Mutant | None, tests: Sequence[str]) -> str | None:
    """The first test that fails with the mutant, or without any if it is None; None if all pass.

    Runs in a fork; needs a process that has not imported the package yet.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(reading)
        # The lower limit alone: the process around private blocks sets one of its own.
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        _run(mutant, tests, writing)
    os.close(writing)
    begun = time.monotonic()
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() - begun > WAIT:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.02)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        told = pipe.read()
    if not told:
        return "it waits for ever" if time.monotonic() - begun > WAIT else "the process died"
    return None if told == "passed" else told


def _run(mutant: Mutant | None, tests: Sequence[str], writing: int) -> None:
    """Run the tests in this process and say how it went; does not return."""
    first = _FirstFailure()
    try:
        os.chdir(ROOT)
        if mutant is not None:
            sys.meta_path.insert(0, _Finder(mutant))
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            code = pytest.main(
                [
                    "-x",
                    "-q",
                    "-n",
                    "0",
                    "-p",
                    "no:cacheprovider",
                    "--tb=no",
                    "--hypothesis-profile=mutants",
                    *tests,
                ],
                plugins=[first],
            )
        told = "passed" if code == 0 else first.name or f"{_GONE} {int(code)}"
    except BaseException as error:
        told = f"{type(error).__name__} on import"
    os.write(writing, told.encode()[:4000])
    os._exit(0)


# --- the report ------------------------------------------------------------------------------


def found_by(mutant: Mutant, held: Held, noted: Mapping[str, str]) -> str | None:
    """The test that kills the mutant: the one noted if it still does, else any of the file's."""
    test = _test(noted, mutant)
    if test is not None:
        first = killer(mutant, [test])
        if first is not None and not first.startswith(_GONE):
            return first
    return killer(mutant, held.tests)


def _test(noted: Mapping[str, str], mutant: Mutant) -> str | None:
    """The test or file of tests that is noted; None where the process had ended before one."""
    said = noted.get(mutant.name, "").removesuffix(" (import)")
    return said if said.startswith("tests/") else None


def run(
    mutants: Sequence[tuple[Mutant, Held]], noted: Mapping[str, str], workers: int
) -> dict[Mutant, str | None]:
    """Run mutants, some at a time; says what killed each as it comes."""

    def one(pair: tuple[Mutant, Held]) -> tuple[Mutant, str | None]:
        mutant, held = pair
        found = found_by(mutant, held, noted)
        said = "SURVIVED" if found is None else f"killed by {found}"
        print(f"{mutant.file}:{mutant.line}: {mutant.context}: {said}", flush=True)
        return mutant, found

    with ThreadPoolExecutor(workers) as pool:
        return dict(pool.map(one, mutants))


def main(arguments: Sequence[str]) -> int:
    """Run the mutants that are asked for; 1 if one survives that is not known to change nothing."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, help="only so many of those that were killed before")
    parser.add_argument("--file", action="append", help="only those of this file")
    parser.add_argument("--write", action="store_true", help="note which test killed each")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(arguments)
    read, noted = table(), killed()
    held = [one for one in read.held if not asked.file or one.file in asked.file]
    if asked.sample is not None:
        pairs = sample(held, read.seed, asked.sample)
    else:
        pairs = [(mutant, one) for one in held for mutant in chosen(one, read.seed)]
    for name in _LOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    begun = time.monotonic()
    if (broken := _broken(pairs, noted, asked.workers)) is not None:
        print(f"the tests fail without a mutant: {broken}")
        return 1
    found = run(pairs, noted, asked.workers)
    if asked.write:
        _note(found, {one.file for one in held})
    same = read.same
    if asked.sample is None and not asked.file and (stale := set(same) - {m.name for m in found}):
        print("\n".join(["", "explained, but not among the mutants:", *sorted(stale)]))
    return _report(found, same, time.monotonic() - begun)


def _broken(
    pairs: Sequence[tuple[Mutant, Held]], noted: Mapping[str, str], workers: int
) -> str | None:
    """A test that fails without any mutant, of those that will be run."""
    noted_ones = {test for mutant, _ in pairs if (test := _test(noted, mutant)) is not None}
    if noted_ones:
        said = killer(None, sorted(noted_ones))
        if said is None:
            pairs = [pair for pair in pairs if _test(noted, pair[0]) is None]
        elif not said.startswith(_GONE):
            return said
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(lambda tests: killer(None, tests), {held.tests for _, held in pairs})
        return next((one for one in found if one is not None), None)


def _note(found: Mapping[Mutant, str | None], files: set[str]) -> None:
    """Write down which test killed each mutant; those of other files stay as they were."""
    kept = {name: by for name, by in killed().items() if name.split(" ", 1)[0] not in files}
    alive = {mutant.name for mutant, by in found.items() if by is None}
    fresh = {m.name: by for m, by in found.items() if by is not None and m.name not in alive}
    noted = json.dumps(dict(sorted({**kept, **fresh}.items())), indent=0, ensure_ascii=False)
    KILLED.write_text(noted + "\n", encoding="utf-8")


def _report(found: Mapping[Mutant, str | None], same: Mapping[str, str], took: float) -> int:
    """Print the table by file and the survivors that nobody has explained; 1 if there are any."""
    files = Counter(mutant.file for mutant in found)
    left = [mutant for mutant, by in found.items() if by is None]
    print(f"\n{'file':32} mutants killed same")
    for file, count in files.items():
        alive = [mutant for mutant in left if mutant.file == file]
        known = sum(mutant.name in same for mutant in alive)
        print(f"{file:32} {count:7} {count - len(alive):6} {known:4}")
    open_ = [mutant for mutant in left if mutant.name not in same]
    share = 1 - len(left) / max(1, len(found))
    print(
        f"{len(found)} mutants, {share:.1%} killed, {len(left) - len(open_)} change nothing, "
        f"{len(open_)} survive; {took:.0f} s"
    )
    for mutant in open_:
        print(f"SURVIVED {mutant.name}")
    return 1 if open_ else 0


def names() -> Iterator[str]:
    """The names of all mutants that are taken."""
    read = table()
    for held in read.held:
        yield from (mutant.name for mutant in chosen(held, read.seed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
