"""Which `# fmt: skip` stands on a table of data: everything else is laid out by the formatter.

A table is a tuple, list, set or dict of three or more entries, or of two rows, alone in a value,
among the decorators, as what a loop goes through or what is asserted; or a row that is inserted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

MARK = re.compile(r"#[^'\"]*fmt: skip$")
BUILDERS = ("frozenset", "Section", "Pair")  # called with a table, they make one
COLUMNS = 6  # a call of `_insert` with so many keywords is a row


def is_table(node: ast.expr | None) -> bool:
    """Whether a value is written as a table, or made of one."""
    match node:
        case ast.Tuple(entries) | ast.List(entries) | ast.Set(entries):
            rows = len(entries) == 2 and all(isinstance(e, ast.Tuple | ast.List) for e in entries)
            return len(entries) >= 3 or rows or any(map(is_table, entries))
        case ast.Dict(_, values):
            return len(values) >= 3 or any(map(is_table, values))
        case ast.BinOp(left, _, right):
            return is_table(left) or is_table(right)
        case ast.Compare(left, _, others):
            return any(map(is_table, [left, *others]))
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return any(is_table(part.iter) for part in node.generators)
        case ast.Call(ast.Name(name), arguments):
            return name in BUILDERS and any(map(is_table, arguments))
        case ast.Starred(value):
            return is_table(value)
    return False


def holds_table(node: ast.stmt | ast.expr) -> bool:
    """Whether a statement, or a decorator, is there for a table."""
    match node:
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Return():
            return is_table(node.value)
        case ast.For() | ast.AsyncFor():
            return is_table(node.iter)
        case ast.Assert(test):
            return is_table(test)
        case ast.Expr(ast.Call(ast.Attribute(attr="_insert"), _, columns)):
            return len(columns) >= COLUMNS
        case ast.Call(_, arguments):
            return any(map(is_table, arguments))
    return False


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, ()))
        for part in ("handlers", "cases"):
            for one in getattr(node, part, ()):
                yield from _statements(one.body)


def unformatted(source: str) -> list[int]:
    """Lines that keep the formatter from what is no table."""
    marked = [n for n, line in enumerate(source.splitlines(), 1) if MARK.search(line)]
    if not marked:
        return []
    spans: list[tuple[int, int, ast.stmt | ast.expr]] = []
    for node in _statements(ast.parse(source).body):
        body = getattr(node, "body", None)
        end = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno
        spans.append((node.lineno, max(node.lineno, end or 0), node))
        decorators = getattr(node, "decorator_list", [])
        spans += [(one.lineno, one.end_lineno or 0, one) for one in decorators]
    found = []
    for line in marked:
        around = [span for span in spans if span[0] <= line <= span[1]]
        if not holds_table(min(around, key=lambda span: span[1] - span[0])[2]):
            found.append(line)
    return found
