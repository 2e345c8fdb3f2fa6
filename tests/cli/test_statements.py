"""Where statements end, and whether Enter should run what was typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.cli.statements import complete, split


def texts(text: str) -> list[str]:
    return [statement.text for statement in split(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("  ;; ; \n", []),
        ("SELECT 1;SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' ; x", ["SELECT ';'", "x"]),
        ("SELECT 'it''s; fine'; x", ["SELECT 'it''s; fine'", "x"]),
        ('SELECT "a;b""c;"; x', ['SELECT "a;b""c;"', "x"]),
        ("-- a; comment\nSELECT 1;", ["SELECT 1"]),
        ("SELECT 1 -- a; comment\n; x", ["SELECT 1 -- a; comment", "x"]),
        ("/* a; /* nested; */ b */ SELECT 1; x", ["SELECT 1", "x"]),
        (".tables\nSELECT 1;\n.quit", [".tables", "SELECT 1", ".quit"]),
        (".mode json;\nquit;\n", [".mode json", "quit"]),
        ("SELECT a\n.b FROM t;", ["SELECT a\n.b FROM t"]),
        ("SELECT 'open; .quit\n", ["SELECT 'open; .quit"]),
    ],
)
def test_statements_are_found(text: str, found: list[str]) -> None:
    assert texts(text) == found


def test_statements_know_their_lines() -> None:
    lines = [s.line for s in split("\n-- note\nSELECT 1;\n\nSELECT\n2; .tables\n.quit\n")]
    assert lines == [3, 5, 6, 7]


@pytest.mark.parametrize(
    "text", ["", "   ", "SELECT 1;", "SELECT 1;  -- done", ".tables", "quit", "SELECT ';';"]
)
def test_complete_inputs_run(text: str) -> None:
    assert complete(text)


@pytest.mark.parametrize(
    "text", ["SELECT 1", "SELECT ';", "SELECT 1 /* ; ", "SELECT 1; SELECT 2", "SELECT 1 -- ;"]
)
def test_incomplete_inputs_wait(text: str) -> None:
    assert not complete(text)


_PIECE = st.one_of(
    st.sampled_from(["SELECT", " ", "\n", "a", "1", ",", "(", ")"]),
    st.text(alphabet="ab;'\n-", max_size=6).map(lambda t: "'" + t.replace("'", "''") + "'"),
    st.text(alphabet='ab;"-', max_size=6).map(lambda t: '"' + t.replace('"', '""') + '"'),
    st.text(alphabet="ab; '", max_size=6).map(lambda t: f"-- {t}\n"),
    st.text(alphabet="ab; '", max_size=6).map(lambda t: f"/*{t}*/"),
)


@given(st.lists(st.lists(_PIECE, min_size=1, max_size=8), max_size=5))
def test_what_is_joined_by_semicolons_comes_apart_there(parts: list[list[str]]) -> None:
    statements = ["x " + " ".join(part) for part in parts]
    assert texts(";".join([*statements, ""])) == [s.strip() for s in statements]


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    assert isinstance(complete(text), bool)
    for statement in split(text):
        assert statement.text
        assert statement.line >= 1
