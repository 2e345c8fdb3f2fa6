"""Rehearse a release: `make release` builds it twice, checks and installs it, and lists it.

It publishes nothing. What it leaves in `dist` is what would be uploaded: wheel, source archive, the
list of what an installation holds (SBOM, CycloneDX), and SHA-256 of each.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
COMPILERS = ("cc", "gcc", "g++", "c++", "clang")


def run(*words: str | Path, cwd: Path = ROOT, **settings: str) -> str:
    """The output of a command; what went wrong ends the rehearsal."""
    done = subprocess.run(
        [*map(str, words)],
        cwd=cwd,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def built(folder: Path, moment: str) -> dict[str, str]:
    """Build wheel and source archive; names with their SHA-256."""
    run(sys.executable, "-m", "build", "--outdir", folder, SOURCE_DATE_EPOCH=moment)
    return {path.name: digest(path) for path in sorted(folder.iterdir())}


def interpreters() -> dict[str, str]:
    """The versions of Python that work here, each with its command."""
    found = {}
    for version in VERSIONS:
        command = shutil.which(f"python{version}")
        if command is not None:
            asked = subprocess.run([command, "--version"], capture_output=True, check=False)
            if asked.returncode == 0:
                found[version] = command
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found.setdefault(here, sys.executable)
    return found


def installed(python: str, artefact: Path, folder: Path) -> Path:
    """Install an artefact where there is no compiler, and use it; the new environment.

    Nothing is compiled: what is needed must have a wheel. The source archive builds ours alone.
    """
    empty = folder / "bin"
    empty.mkdir(parents=True)
    run(python, "-m", "venv", folder / "venv")
    own = folder / "venv" / "bin"
    assert not [name for name in COMPILERS if shutil.which(name, path=str(empty))]
    binary = ("--only-binary", ":all:", "--no-binary", "probe-sql")

    def use(*words: str | Path) -> str:
        return run(
            *words,
            cwd=folder,
            PATH=str(empty),
            CC="false",
            CXX="false",
            HOME=str(folder),
            PYTHONPATH="",
        )

    use(own / "python", "-m", "pip", "install", "--quiet", *binary, artefact)
    use(own / "probe-sql", "--version")
    shown = use(own / "probe-sql", "demo", "--dir", folder)
    if "viral pneumonia" not in shown:
        sys.exit("failed: the demo of the installed package lists no viral pneumonia")
    return folder / "venv"


def main(argv: Sequence[str] | None = None) -> int:
    """Build, compare, check, install, list."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.parse_args(argv)
    version = re.search(
        r'__version__ = "([^"]+)"', (ROOT / "probe_sql" / "__init__.py").read_text("utf-8")
    )
    assert version is not None
    moment = run("git", "log", "-1", "--format=%ct").strip()
    shutil.rmtree(DIST, ignore_errors=True)
    print(f"==> building {version[1]} twice")
    first = built(DIST, moment)
    with tempfile.TemporaryDirectory() as again:
        if built(Path(again), moment) != first:
            sys.exit("failed: two builds of one commit differ")
    print("the same bytes both times")

    print("==> metadata")
    print(run(sys.executable, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir())).strip())

    python = interpreters()
    for wanted in VERSIONS:
        if wanted not in python:
            print(f"not found here, not tried: Python {wanted}")
    wheel, archive = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    with tempfile.TemporaryDirectory() as scratch:
        for name, command in python.items():
            for artefact in (wheel, archive):
                print(f"==> {artefact.name} on Python {name}, empty, without a compiler")
                place = installed(command, artefact, Path(scratch, name, artefact.suffix))
        print("==> pipx run")
        said = run(
            sys.executable,
            "-m",
            "pipx",
            "run",
            "--spec",
            wheel,
            "probe-sql",
            "--version",
            PIPX_HOME=str(Path(scratch, "pipx")),
            PYTHONPATH="",
        )
        print(said.strip())
        print("==> what an installation holds")
        parts = DIST / f"probe_sql-{version[1]}.cdx.json"
        run(
            sys.executable,
            "-m",
            "cyclonedx_py",
            "environment",
            "--output-reproducible",
            "--output-file",
            parts,
            place / "bin" / "python",
        )
    print("==> what would be uploaded")
    for path in sorted(DIST.iterdir()):
        print(f"{digest(path)}  {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
