"""The vault's refusals are rows of one table, and every row can be told and is used."""

from __future__ import annotations

import ast
import string
from pathlib import Path

import pytest

from probe_sql.errors import OperationalError, ProbeError
from probe_sql.vault import failures, refusals
from probe_sql.vault.refusals import Said

ROOM = Path(refusals.__file__).parent
ROWS = {name: row for name, row in vars(refusals).items() if isinstance(row, Said)}
KINDS = {"OperationalError", "InterfaceError", "DataError", "LedgerError", "Refused", "ScanError"}
# What a failure of an engine becomes, whose rows are in two tables by its class.
CLASSED = {"failures.py": ["ScanError", "OperationalError"]}
NUMBERS = {"size", "most", "scale"}


def built(source: str) -> list[str]:
    """The errors for people that a module builds by itself, in the order of its lines."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = [
        (call.lineno, getattr(call.func, "id", getattr(call.func, "attr", ""))) for call in calls
    ]
    return [name for _, name in sorted(named) if name in KINDS]


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_no_other_module_has_texts_of_its_own(path: Path) -> None:
    assert built(path.read_text(encoding="utf-8")) == CLASSED.get(path.name, [])


def test_a_text_elsewhere_is_seen() -> None:
    assert built("def f():\n    raise errors.OperationalError('the file is away')") == [
        "OperationalError"
    ]


@pytest.mark.parametrize("name", ROWS)
def test_every_row_is_told_with_its_words(name: str) -> None:
    row = ROWS[name]
    texts = [text for text in (row.what, row.why, row.fix) if text is not None]
    fields = {field for text in texts for _, field, _, _ in string.Formatter().parse(text) if field}
    words = {field: 12 if field in NUMBERS else f"<{field}{{x}}>" for field in fields}
    error = row.error(**words)
    told = [text for text in (error.what, error.why, error.fix) if text is not None]
    assert len(told) == len(texts) > 1, "what alone does not help anybody"
    assert all(text.strip() and not text.endswith(".") for text in told)
    for field, word in words.items():
        assert any(str(word) in text for text in told), field
    assert type(error) is row.kind


def test_every_row_is_used() -> None:
    others = [path for path in ROOM.glob("*.py") if path.name != "refusals.py"]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in others)
    assert not [name for name in ROWS if f"refusals.{name}" not in sources]


def test_words_are_taken_as_they_are() -> None:
    """A name with braces is no place for another word, and a missing word is not passed over."""
    error = refusals.NO_ROLE.error(server="{role}", role="{x}")
    assert error.what == "the server at {role} has no role {x}"
    with pytest.raises(KeyError):
        refusals.NO_ROLE.error(server="here")


def test_failures_are_rows_of_the_same_kind() -> None:
    for table in (failures.SCAN, failures.OPENING):
        assert all(row.kind is OperationalError for row in table.values())
    assert issubclass(OperationalError, ProbeError)
