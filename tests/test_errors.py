"""Every text of an error begins and ends in one way, whichever room it comes from."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from probe_sql import errors

PACKAGE = Path(__file__).parent.parent / "probe_sql"
RAISED = {
    name for name, value in vars(errors).items() if inspect.isclass(value) and name != "Warning"
}
# Of the command line and the server, and where objects refuse to be copied.
RAISED |= {"UsageError", "Complaint", "ProtocolError", "TypeError", "ValueError"}
ROWS = {"Said", "Refusal"}  # of the tables of failures
AFTER = {"Complaint": 1, "Problem": 1}  # a code or a path comes before the texts
# What a sentence may begin with in capitals: a name, or a word of SQL or of code.
NAMES = "DuckDB|PostgreSQL|Spark|Java|Parquet|SQLite"
BEGINS = re.compile(rf"[^A-Z]|(?:{NAMES})\b|[A-Z_]{{2,}}\b|\w+\(")


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts handed to errors as literals; a value inside of one is shown as {}."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if name in RAISED | ROWS:
            named = [word.value for word in call.keywords if word.arg in ("what", "why", "fix")]
            for given in [*call.args[AFTER.get(name, 0) :], *named]:
                yield from _literal(given)


def _literal(node: ast.expr) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.IfExp):
        yield from _literal(node.body)
        yield from _literal(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    elif isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield node.lineno, "".join(map(str, parts))


def odd(text: str) -> bool:
    """Whether it begins with a capital letter or ends as a sentence does."""
    return not BEGINS.match(text) or re.search(r"(?<!\.\.)\.$", text) is not None


def test_errors_begin_in_small_letters_and_end_without_a_period() -> None:
    all_ = [
        (f"{file.relative_to(PACKAGE)}:{line}: {text}", odd(text))
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, text in texts(ast.parse(file.read_text(encoding="utf-8")))
    ]
    found = [place for place, wrong in all_ if wrong]
    assert not found, "\n".join(found)
    assert len(all_) > 900


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("SqlError('there is no column', fix='SELECT ...')", 0),
        ("errors.Refused(f'HAVING takes {x}', why='DuckDB gives NULL', fix='CAST(x AS INT)')", 0),
        ("LedgerError('The ledger is missing')", 1),
        ("LedgerError('the ledger is missing.')", 1),
        ("Said('a scan failed', 'A row', f'Ask {who}')", 2),
        ("Complaint('53300', 'Too many', why='x' if y else 'Now')", 2),
    ],
)
def test_other_texts_are_seen(source: str, count: int) -> None:
    assert sum(odd(text) for _, text in texts(ast.parse(source))) == count
