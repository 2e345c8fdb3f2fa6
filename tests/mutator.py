"""Mutants of one file: an operator, a number or a name changed, where the text says so."""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

_COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "+",
    ast.Pow: "*", ast.LShift: ">>", ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
_WRITTEN = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
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


@cache
def candidates(file: str) -> tuple[Mutant, ...]:
    """Every mutant of a file that compiles, in the order of the text."""
    source = (ROOT / "probe_sql" / file).read_bytes()
    mutator = _Mutator(file, source)
    mutator.visit(ast.parse(source))
    found = []
    for mutant in sorted(mutator.found, key=lambda one: (one.start, one.new)):
        with suppress(SyntaxError):
            compile(mutant.applied(source), file, "exec")
            found.append(mutant)
    return tuple(found)
