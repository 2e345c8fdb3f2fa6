"""Change one operator, number or name where privacy is computed, and see which test fails.

`tests/data/mutation.toml` names the files with the tests that hold them, and the mutants that
survive because they change nothing, each with the reason. `python -m tests.mutation` runs all of
them, `--sample 40` that many, chosen by the seed, `--file plan/account.py` those of one file. Every
mutant is compiled in memory, in a process of its own that was forked with the libraries loaded, so
the sources stay as they are. Mutants by hand that take walls away are in `tests.mutants`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import random
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "tests/data/mutation.toml"
LIMIT = 120.0  # seconds for one mutant: one that never ends is noticed by that
_LOADED = ("numpy", "duckdb", "sqlglot", "pyarrow", "pandas", "polars", "hypothesis", "xdist")

_COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "+",
    ast.Pow: "*", ast.LShift: ">>", ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
_NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil",
    "minimum": "maximum", "maximum": "minimum", "logical_and": "logical_or",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a file: where, from what to what. `name` does not move with the lines."""

    file: str
    function: str
    line: int
    start: int  # bytes into the file
    end: int
    old: str
    new: str
    context: str

    @property
    def name(self) -> str:
        """What stays the same while other lines come and go."""
        return f"{self.file} {self.function}: {self.context}"

    def applied(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.start] + self.new.encode() + source[self.end :]


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


class _Mutator(ast.NodeVisitor):
    """Collects the mutants of one file; texts, annotations and errors are left alone."""

    def __init__(self, file: str, source: bytes) -> None:
        self._file, self._source = file, source
        starts = [0]
        for line in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts
        self._functions: list[str] = []
        self.found: list[Mutant] = []

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def _add(self, node: ast.expr, start: int, end: int, new: str) -> None:
        line = self._source[self._starts[node.lineno - 1] : self._starts[node.lineno]]
        at = start - self._starts[node.lineno - 1]
        if at < 0 or end > self._starts[node.lineno]:
            return  # on another line than its expression begins: there is no one line to show
        old = self._source[start:end]
        changed = line[:at] + new.encode() + line[at + len(old) :]
        context = f"{line.decode().strip()} => {changed.decode().strip()}"
        where = ".".join(self._functions) or "module"
        self.found.append(
            Mutant(self._file, where, node.lineno, start, end, old.decode(), new, context)
        )

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str, node: ast.expr) -> None:
        """Replace the operator that stands between two operands."""
        low = self._offset(left.end_lineno or 0, left.end_col_offset or 0)
        high = self._offset(right.lineno, right.col_offset)
        at = self._source[low:high].find(old.encode())
        if at >= 0:
            self._add(node, low + at, low + at + len(old), new)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._functions.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._functions.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._functions.append(node.name)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                self.visit(statement)
        self._functions.pop()

    def visit_Raise(self, node: ast.Raise) -> None:
        """What an error says decides nothing."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """An assertion is a check, not a computation."""

    def visit_keyword(self, node: ast.keyword) -> None:
        """`strict` of zip is an assertion too."""
        if node.arg != "strict":
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are for people."""

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            new = _COMPARISONS[type(operator)]
            old = _WRITTEN[type(operator)]
            self._between(operands[index], operands[index + 1], old, new, node)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = isinstance(node.left, ast.Constant | ast.JoinedStr) and not isinstance(
            getattr(node.left, "value", None), int | float
        )
        if type(node.op) in _ARITHMETIC and not text:
            old = _WRITTEN[type(node.op)]
            self._between(node.left, node.right, old, _ARITHMETIC[type(node.op)], node)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, old, new, node)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start = self._offset(node.lineno, node.col_offset)
        if isinstance(node.op, ast.Not):
            self._add(node, start, start + len("not "), "")
        elif isinstance(node.op, ast.USub | ast.Invert):
            self._add(node, start, start + 1, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            new = str(not value)
        elif isinstance(value, int):
            new = str(value + 1)
        elif isinstance(value, float):
            new = repr(value * 1.5 + 0.01)
        else:
            return
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or 0, node.end_col_offset or 0)
        self._add(node, start, end, new)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in _NAMES and called.end_col_offset is not None:
            end = self._offset(called.end_lineno or 0, called.end_col_offset)
            self._add(node, end - len(name), end, _NAMES[name])
        self.generic_visit(node)


_WRITTEN = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
}  # fmt: skip


def candidates(file: str) -> list[Mutant]:
    """Every mutant of a file that compiles, in the order of the text."""
    source = (ROOT / "probe_sql" / file).read_bytes()
    mutator = _Mutator(file, source)
    mutator.visit(ast.parse(source))
    found = []
    for mutant in sorted(mutator.found, key=lambda one: (one.start, one.new)):
        with suppress(SyntaxError):
            compile(mutant.applied(source), file, "exec")
            found.append(mutant)
    return found


def chosen(held: Held, seed: int) -> list[Mutant]:
    """`take` mutants of a file, drawn by name: new lines do not change which others are taken."""

    def drawn(mutant: Mutant) -> bytes:
        return hashlib.sha256(f"{seed} {mutant.name}".encode()).digest()

    return sorted(sorted(candidates(held.file), key=drawn)[: held.take], key=lambda one: one.start)


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
        _run(mutant, tests, writing)
    os.close(writing)
    begun = time.monotonic()
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() - begun > LIMIT:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.02)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        told = pipe.read()
    if not told:
        return "it does not end" if time.monotonic() - begun > LIMIT else "the process died"
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
                ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no",
                 "--hypothesis-profile=mutants", *tests],
                plugins=[first],
            )  # fmt: skip
        told = "passed" if code == 0 else first.name or f"pytest ended with {int(code)}"
    except BaseException as error:
        told = f"{type(error).__name__} on import"
    os.write(writing, told.encode()[:4000])
    os._exit(0)


# --- the report ------------------------------------------------------------------------------


def run(mutants: Sequence[tuple[Mutant, Held]], workers: int) -> dict[Mutant, str | None]:
    """Run mutants, some at a time; says what killed each as it comes."""

    def one(pair: tuple[Mutant, Held]) -> tuple[Mutant, str | None]:
        mutant, held = pair
        found = killer(mutant, held.tests)
        said = "SURVIVED" if found is None else f"killed by {found}"
        print(f"{mutant.file}:{mutant.line}: {mutant.context}: {said}", flush=True)
        return mutant, found

    with ThreadPoolExecutor(workers) as pool:
        return dict(pool.map(one, mutants))


def main(arguments: Sequence[str]) -> int:
    """Run the mutants that are asked for; 1 if one survives that is not known to change nothing."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, help="only so many, chosen by the seed")
    parser.add_argument("--file", action="append", help="only those of this file")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(arguments)
    read = table()
    held = [one for one in read.held if not asked.file or one.file in asked.file]
    pairs = [(mutant, one) for one in held for mutant in chosen(one, read.seed)]
    if asked.sample is not None:
        pairs = random.Random(read.seed).sample(pairs, min(asked.sample, len(pairs)))
    for name in _LOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    begun = time.monotonic()
    for one in {one.tests: one for _, one in pairs}.values():
        if (broken := killer(None, one.tests)) is not None:
            print(f"{one.file}: the tests fail without a mutant: {broken}")
            return 1
    found = run(pairs, asked.workers)
    return _report(found, read.same, time.monotonic() - begun)


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
    print(f"{len(found)} mutants, {share:.1%} killed, {len(left) - len(open_)} change nothing, "
          f"{len(open_)} survive; {took:.0f} s")  # fmt: skip
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
