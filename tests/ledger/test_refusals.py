"""The ledger's refusals are rows of one table, and every row can be told."""

import ast
import sqlite3
from pathlib import Path

import pytest

from probe_sql.ledger import errors
from probe_sql.ledger.errors import FILE_FAILURES, Refusal

ROOM = Path(errors.__file__).parent
ROWS = {name: row for name, row in vars(errors).items() if isinstance(row, Refusal)}
ROWS |= {f"SQLite {code}": row for code, row in FILE_FAILURES.items()}
WORDS = (
    "thing", "where", "who", "successor", "act", "user", "others", "holds", "reason", "code",
    "seconds", "ledgers", "before", "smaller",
)  # fmt: skip


def built(source: str) -> list[int]:
    """Lines that build a LedgerError of their own."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [
        call.lineno
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "LedgerError"
    ]


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_no_other_module_has_texts_of_its_own(path: Path) -> None:
    assert len(built(path.read_text(encoding="utf-8"))) == (path.name == "errors.py")


def test_a_text_elsewhere_is_seen() -> None:
    assert built("def f():\n    raise LedgerError('the ledger is away', why='', fix='')") == [2]


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_told_with_its_words(name: str) -> None:
    words = {word: f"<{word}>" for word in WORDS}
    error = ROWS[name].error(Path("/data/{x}.ledger"), **words)
    told = [error.what, error.why or "", error.fix or ""]
    assert all(text.strip() and not text.endswith(".") for text in told)
    assert "/data/{x}.ledger" in error.what or "{path}" not in ROWS[name].what


def test_what_sqlite_reports_without_a_row_is_told_by_its_code() -> None:
    assert sqlite3.SQLITE_IOERR not in FILE_FAILURES
    told = errors.OTHER_FAILURE.error(Path("a"), code=sqlite3.SQLITE_IOERR)
    assert f"code {sqlite3.SQLITE_IOERR}" in (told.why or "")
