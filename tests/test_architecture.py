"""The table of rooms in docs/architecture.md, kept true by reading every import.

The checker reads source text only. It sees imports inside functions, under
TYPE_CHECKING, relative ones, and `import_module` with a literal name; any other dynamic
import is itself a violation.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import NAMES
from tests.tables import unformatted

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "probe_sql"
MAX_LINES = 450

# A room may import itself and what stands above it.
ROOMS = (
    "text",
    "markup",
    "grid",
    "card",
    "errors",
    "arguments",
    "types",
    "periods",
    "faults",
    "recent",
    "loss",
    "logic",
    "accuracy",
    "measuring",
    "algorithms",
    "options",
    "policy",
    "sql",
    "plan",
    "scan",
    "ledger",
    "vault",
    "outside",
    "answer",
    "cursor",
    "database",
    "catalogue",
    "elapsed",
    "remote",
    "completion",
    "again",
    "walk",
    "blocks",
    "session",
    "notebook",
    "reopening",
    "owner",
    "serve",
    "cli",
)
TOP = "probe_sql"  # the package itself: lazy exports and the version

# Where the order alone would allow too much.
ONLY = {
    TOP: {"errors", "policy", "answer", "cursor", "session", "notebook"},
    "__main__": {"cli"},
    "cli": {
        TOP,
        "text",
        "grid",
        "errors",
        "options",
        "policy",
        "answer",
        "catalogue",
        "completion",
        "session",
        "owner",
        "serve",
    },
    "serve": {
        TOP,
        "text",
        "markup",
        "grid",
        "errors",
        "types",
        "loss",
        "accuracy",
        "options",
        "policy",
        "sql",
        "plan",
        "outside",
        "answer",
        "catalogue",
        "completion",
        "database",
        "session",
        "reopening",
        "owner",
    },
}

# Outside libraries, and parts of the standard library, that belong to certain rooms.
RUNTIME_LIBRARIES = {
    "duckdb": {"vault", "outside"},
    "numpy": {"logic", "measuring", "algorithms", "plan", "vault", "answer", "again", "walk"},
    "prompt_toolkit": {"cli"},
    "rich": {"cli"},
    "sqlglot": {"sql", "scan"},
}
# Not dependencies: used where they are installed.
OPTIONAL_LIBRARIES = {
    "IPython": {"elapsed"},
    "matplotlib": {"answer"},  # the extra `plot`
    "pandas": {"vault", "answer"},
    "polars": {"vault", "answer"},
    "psycopg": {"vault", "remote"},  # the extra `postgres`
    "py4j": {"vault"},  # comes with pyspark
    "pyarrow": {"vault", "answer"},
    "pyeda": {"logic"},  # the extra `pyeda`
    "pyspark": {"vault"},  # the extra `spark`
    "scramp": {"serve"},  # the extra `serve`
    "starlette": {"serve"},  # the extra `serve`
    "uvicorn": {"serve"},  # the extra `serve`
    "pygments": {"cli"},  # comes with rich; without it the shell has no colours
}
STANDARD_LIBRARY = {"sqlite3": {"ledger"}, "tomllib": {"policy"}}
PLACED = RUNTIME_LIBRARIES | OPTIONAL_LIBRARIES | STANDARD_LIBRARY


def allowed_rooms(room: str) -> set[str]:
    """The rooms that a file of `room` may import, its own included."""
    if room in ONLY:
        return ONLY[room] | {room}
    return set(ROOMS[: ROOMS.index(room) + 1])


@cache  # one look at a file serves all tests of imports
def imports_of(source: str, module: str, is_package: bool) -> tuple[tuple[int, str], ...]:
    return tuple(imported_names(ast.parse(source), module, is_package))


def imported_names(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) for every import of `module`; '?' for one not literal."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = package.split(".")
                anchor = anchor[: len(anchor) - node.level + 1]
                base = ".".join([*anchor, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in {"import_module", "__import__"}:
                argument = node.args[0] if node.args else None
                literal = argument.value if isinstance(argument, ast.Constant) else None
                yield node.lineno, literal if isinstance(literal, str) else "?"


def complaint(name: str, room: str) -> str | None:
    """Say why a file of `room` may not import `name`, or None."""
    if name == "?":
        # The lazy exports are a literal table; test_repository.py resolves every one.
        return None if room == TOP else "a dynamic import whose name cannot be read"
    parts = name.split(".")
    library = parts[0]
    if library == TOP:
        known = parts[1] if len(parts) > 1 and (parts[1] in ROOMS) else TOP
        return None if known in allowed_rooms(room) else f"{room} may not import {known}"
    if library in PLACED:
        rooms = PLACED[library]
        return None if room in rooms else f"{library} belongs to {', '.join(sorted(rooms))}"
    if library in sys.stdlib_module_names:
        return None
    return f"{library} is not a library of this project"


def violations(source: str, path: str) -> list[str]:
    """All forbidden imports of the file `path` (relative to the package) with this text."""
    parts = path.removesuffix(".py").split("/")
    is_package = parts[-1] == "__init__"
    module = ".".join([TOP, *(parts[:-1] if is_package else parts)])
    room = TOP if parts == ["__init__"] else parts[0]
    if room not in {*ROOMS, *ONLY}:
        return [f"{path}: {room} is not a room"]
    found = []
    for line, name in imports_of(source, module, is_package):
        problem = complaint(name, room)
        if problem is not None:
            found.append(f"{path}:{line}: {name}: {problem}")
    return found


def python_files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.py") if "__pycache__" not in p.parts)


def test_every_import_of_the_package_stays_in_its_room() -> None:
    files = python_files(PACKAGE)
    assert len(files) > 10
    found = [
        problem
        for file in files
        for problem in violations(
            file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix()
        )
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("plan/build.py", "import duckdb"),
        ("vault/scan.py", "import sqlglot.expressions as exp"),
        ("plan/minimise.py", "from pyeda.inter import expr"),
        ("session.py", "import sqlite3"),
        ("answer/table.py", "from rich.table import Table"),
        ("sql/parse.py", "import numpy as np"),
        ("cli/main.py", "import tomllib"),
        ("vault/noise.py", "import scipy.stats"),
        ("logic/formula.py", "from probe_sql.sql.parse import parse"),
        ("sql/bind.py", "from probe_sql.plan import Plan"),
        ("algorithms/probe.py", "from probe_sql.vault.noise import draw"),
        ("algorithms/probe.py", "from probe_sql import vault"),
        ("algorithms/probe.py", "from probe_sql.plan.plan import Plan"),
        ("plan/explain.py", "from probe_sql.scan.engine import DUCKDB"),
        ("plan/normal.py", "from sqlglot import exp"),
        ("accuracy.py", "from probe_sql.algorithms import NAMES"),
        ("cli/main.py", "from probe_sql.vault import open_source"),
        ("errors.py", "from probe_sql.types import Kind"),
        ("session.py", "from benchmarks.seeded import SeededWords"),
        ("session.py", "from benchmarks import seeded"),
        ("plan/build.py", "import probe_sql"),
        ("plan/build.py", "from .. import vault"),
        ("plan/deep/build.py", "from ...session import connect"),
        ("plan/__init__.py", "from ..session import connect"),
        ("plan/build.py", "def late():\n    import duckdb"),
        ("plan/build.py", "if TYPE_CHECKING:\n    import duckdb"),
        ("plan/build.py", "importlib.import_module('duckdb')"),
        ("plan/build.py", "__import__('duckdb')"),
        ("plan/build.py", "import_module(name)"),
        ("helpers/tools.py", "import os"),
    ],
)
def test_the_checker_reports_a_forbidden_import(path: str, source: str) -> None:
    assert len(violations(source, path)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("vault/scan.py", "import duckdb\nimport numpy as np"),
        ("plan/build.py", "from . import atoms\nfrom ..logic.formula import Formula"),
        ("algorithms/probe.py", "from probe_sql.measuring import Task\nimport math"),
        ("plan/explain.py", "from probe_sql import algorithms"),
        ("vault/meter.py", "from probe_sql.measuring import Meter"),
        ("cli/main.py", "from probe_sql import __version__\nfrom probe_sql.session import connect"),
        (
            "session.py",
            "from probe_sql import ledger, vault\nfrom probe_sql.algorithms import probe",
        ),
        ("__init__.py", "from probe_sql.errors import ProbeError\nimport_module(name)"),
        ("__main__.py", "from probe_sql.cli.main import main"),
    ],
)
def test_the_checker_accepts_the_imports_that_the_table_allows(path: str, source: str) -> None:
    assert violations(source, path) == []


def test_every_runtime_dependency_has_its_room() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[^A-Za-z0-9_-]", line)[0] for line in project["dependencies"]}
    assert names == set(RUNTIME_LIBRARIES)


def test_the_document_shows_the_same_rooms_and_libraries() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)(\.py|/)` \|.*\|([^|]*)\|$", text, flags=re.MULTILINE)
    documented = {room: set(re.findall(r"`(\w+)`", cell)) for room, _, cell in rows}
    shown = RUNTIME_LIBRARIES | STANDARD_LIBRARY
    enforced = {room: {lib for lib, rooms in shown.items() if room in rooms} for room in ROOMS}
    assert [room for room, _, _ in rows] == list(ROOMS)
    assert documented == enforced
    for room, kind, _ in rows:
        path = PACKAGE / f"{room}{kind}"
        assert path.is_dir() if kind == "/" else path.is_file(), path


# --- inside a room ---------------------------------------------------------------------------


def room_imports(room: str) -> dict[str, set[str]]:
    """The modules of a room, each with those of the room that it imports, inside of functions and
    for a type checker too."""
    files = {
        ".".join([TOP, *file.relative_to(PACKAGE).with_suffix("").parts]): file
        for file in python_files(PACKAGE / room)
    }
    found: dict[str, set[str]] = {}
    for module, file in files.items():
        source, is_package = file.read_text(encoding="utf-8"), module.endswith(".__init__")
        names = imports_of(source, module.removesuffix(".__init__"), is_package)
        # `from package.module import name` and `from package import module` both mean the module.
        wanted = {part for _, name in names for part in (name, name.rpartition(".")[0])}
        found[module] = {other for other in files if other in wanted and other != module}
    return found


def on_cycles(imports: dict[str, set[str]]) -> set[str]:
    """Modules that are left when those at either end of a chain are taken away, again and again."""
    left = {module: set(others) for module, others in imports.items()}
    while True:
        wanted = set().union(*left.values()) if left else set()
        ends = {module for module, others in left.items() if not others or module not in wanted}
        if not ends:
            return set(left)
        left = {module: others - ends for module, others in left.items() if module not in ends}


@pytest.mark.parametrize("room", [room for room in ROOMS if (PACKAGE / room).is_dir()])
def test_no_cycle_inside_a_room(room: str) -> None:
    assert on_cycles(room_imports(room)) == set()


def test_cycles_are_seen() -> None:
    assert on_cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {"b", "c"}
    assert on_cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == set()


# --- names of algorithms ---------------------------------------------------------------------


def test_no_module_outside_their_room_names_an_algorithm() -> None:
    """But for the one that a query gets when nobody asks for another."""
    named = re.compile(rf"\b({'|'.join(map(re.escape, NAMES))})\b(?!-)")
    found = {}
    for file in python_files(PACKAGE):
        room, source = file.relative_to(PACKAGE).parts[0], file.read_text(encoding="utf-8")
        if not named.search(source):
            continue
        tree = ast.parse(source)
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = {
            match
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in prose
            for match in named.findall(node.value)
            if node.value == match or match != "probe"
        }
        if texts and room != "algorithms":
            found[file.relative_to(PACKAGE).as_posix()] = texts
    assert found == {"accuracy.py": {Accuracy().algorithm}}


def test_only_the_walk_spends() -> None:
    """Benchmarks too: what reserves, draws or makes a meter elsewhere is a walk of its own."""
    steps = re.compile(r"\.reserve\(|\bledger\.draw\(|\bVaultMeter\(")
    found = {
        file.relative_to(ROOT).as_posix()
        for folder in ("probe_sql", "benchmarks", "datasets")
        for file in python_files(ROOT / folder)
        if steps.search(re.sub(r"class \w+\(VaultMeter\)", "", file.read_text(encoding="utf-8")))
    }
    assert found == {"probe_sql/walk.py"}


def test_no_file_is_too_long_to_read() -> None:
    long = {
        file.relative_to(ROOT).as_posix(): lines
        for folder in ("probe_sql", "tests", "benchmarks", "datasets")
        for file in python_files(ROOT / folder)
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert not long


def test_only_tables_of_data_are_kept_from_the_formatter() -> None:
    found = [
        f"{file.relative_to(ROOT).as_posix()}:{line}"
        for folder in ("probe_sql", "tests", "benchmarks", "datasets")
        for file in python_files(ROOT / folder)
        for line in unformatted(file.read_text(encoding="utf-8"))
    ]
    assert not found, "no table of data (tests/tables.py): remove `# fmt: skip` and format"


@pytest.mark.parametrize(("source", "lines"), [
    ("x = [\n 1, 2, 3,\n]  # fmt: skip\n", []),
    ("x = f(\n 1, 2, 3)  # fmt: skip\n", [2]),
    ("def f(a,\n b, c):  # fmt: skip\n  return a\n", [2]),
    ("for a in ((1, 2),\n (3, 4)):  # fmt: skip\n  print(a)\n", []),
    ("return_ = g((1,\n 2))  # fmt: skip\n", [2]),
])  # fmt: skip
def test_code_that_is_no_table_is_seen(source: str, lines: list[int]) -> None:
    assert unformatted(source) == lines
