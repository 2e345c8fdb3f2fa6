"""Break the walls on purpose, one edit at a time, and see which test notices.

`tests/data/mutants.toml` lists the edits: a file of the package, a text that occurs once in it,
what stands there instead, and the tests that should fail. `python -m tests.mutants [name ...]`
makes each in a copy of the repository, so that the sources stay as they are, and says what
killed it. A name picks the mutants whose names begin with it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests/data/mutants.toml"
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "__pycache__")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit that takes a wall away, and the tests that should see it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def mutated(self, root: Path) -> str:
        """The file with the edit; `ValueError` where its text is not there exactly once."""
        text = (root / "probe_sql" / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1 or self.old == self.new:
            raise ValueError(f"{self.name}: {self.file} has changed, so the mutant must too")
        return text.replace(self.old, self.new)


def mutants() -> Iterator[Mutant]:
    """The mutants of the table, in its order."""
    for name, entry in tomllib.loads(TABLE.read_text(encoding="utf-8")).items():
        yield Mutant(name, entry["file"], entry["old"], entry["new"], tuple(entry["tests"]))


def killer(copy: Path, tests: tuple[str, ...]) -> str | None:
    """The first test that fails in the copy; None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *tests],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    failed = _FAILED.search(done.stdout)
    if done.returncode == 0:
        return None
    return failed[1] if failed else f"pytest ended with {done.returncode}"


def survives(mutant: Mutant, copy: Path) -> bool:
    """Whether no test sees the mutant; says so either way."""
    path = copy / "probe_sql" / mutant.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(mutant.mutated(copy), encoding="utf-8")
    try:
        found = killer(copy, mutant.tests)
    finally:
        path.write_text(whole, encoding="utf-8")
    print(f"{mutant.name}: {'SURVIVED' if found is None else f'killed by {found}'}", flush=True)
    return found is None


def main(names: list[str]) -> int:
    """Run the mutants so named, or all; 1 if one of them survives."""
    chosen = [m for m in mutants() if not names or m.name.startswith(tuple(names))]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=_LEFT_OUT)
        alive = [mutant.name for mutant in chosen if survives(mutant, copy)]
    print(f"{len(chosen) - len(alive)} of {len(chosen)} killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
