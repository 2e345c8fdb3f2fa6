"""The first line of a docstring says more than the name above it, in one sentence of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "probe_sql"
SMALL = {
    "a",
    "an",
    "and",
    "as",
    "by",
    "for",
    "in",
    "is",
    "it",
    "its",
    "of",
    "one",
    "or",
    "the",
    "to",
}
# Figures of speech for what groups and rows do: they are counted, listed and decided.
FIGURES = re.compile(
    r"\b(groups?|rows?|others|worlds?|levels?) (say|tell|know|hear|climb|vote)s?\b"
)
# A function does something or gives something: what it is for, or where it stands, comes after.
OPENINGS = re.compile(
    r"(As|At|By|For|From|Here|In|It|Of|Only|That|There|These|They|To|When|With)\b"
)


def summaries(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, name and first sentence of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            text = ast.get_docstring(node)
            if text:
                name = "" if isinstance(node, ast.Module) else node.name
                line = 1 if isinstance(node, ast.Module) else node.lineno
                yield line, name, " ".join(text.split("\n\n")[0].split())


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"[a-z]+", text.lower().replace("_", " "))}


def empty(name: str, text: str) -> bool:
    """Whether the text only repeats the name, or does not end, or speaks in figures."""
    repeats = bool(name) and _words(text) - SMALL <= _words(name)
    return repeats or not text.endswith((".", ":")) or bool(FIGURES.search(text))


def test_what_a_function_does_comes_first() -> None:
    found = [
        f"{file.relative_to(PACKAGE)}:{node.lineno}: {node.name}: {text.splitlines()[0]}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node)) is not None
        and OPENINGS.match(text)
    ]
    assert not found, "\n".join(found)


def test_first_lines_say_something() -> None:
    found = [
        f"{file.relative_to(PACKAGE)}:{line}: {name}: {text}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, name, text in summaries(ast.parse(file.read_text(encoding="utf-8")))
        if empty(name, text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("row_types", "The row types."),
        ("price", "The most that a group can lose"),
        ("stop", "Groups stop when the others say so."),
    ],
)
def test_empty_first_lines_are_seen(name: str, text: str) -> None:
    assert empty(name, text)
    assert not empty("price", "The most that a group can lose.")
