"""Text that somebody else wrote, in every writer: it cannot steer, hide, reorder or run."""

from __future__ import annotations

import csv
import io
import json
import tomllib
import unicodedata
from pathlib import Path

import duckdb
import pytest
from prompt_toolkit.document import Document
from prompt_toolkit.layout.processors import TransformationInput

from probe_sql.answer import Answer, Denied, Privacy
from probe_sql.catalogue import Catalogue
from probe_sql.cli.prompt import SqlCompleter, Visible
from probe_sql.cli.show import show_answer
from probe_sql.errors import PolicyError, ProbeError, Problem, Span, underline
from probe_sql.loss import Loss
from probe_sql.text import csv_field, in_html, in_json, markdown, visible, visible_lines
from tests.conftest import Run

HOSTILE = {
    "escape": "\x1b]0;owned\x07\x1b[2J", "C1": "\x9b31mred", "delete": "a\x7f\x08\x08b",
    "return": "safe\rforged", "tab": "\t=1+1", "override": "\u202egnp.exe\u202c",
    "isolate": "\u2066a\u2069", "joiner": "a\u200db\u200b", "tag": "a\U000e0041",
    "bom": "\ufefftext", "filler": "a\u3164\u2800b", "selector": "a\ufe0f\U000e0101",
    "separator": "a\u2028b\u2029c",
    "next line": "a\x85b\x0bc", "surrogate": "a\udc80", "formula": "=HYPERLINK(1)", "plus": "+1",
    "minus": "-2+3", "at": "@SUM(1)", "wide": "\uff1d1+1", "late": "  =1+1",
    "image": "![x](http://a.b/c)", "script": "<script>alert(1)</script>", "pipe": "a|b`c`",
}  # fmt: skip
EACH = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


def harmless(shown: str) -> bool:
    """Whether nothing but line breaks is outside what shows itself."""
    unseen = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufe0f\U000e0101"
    return all(
        c == "\n" or (c not in unseen and unicodedata.category(c)[0] != "C" and c.isprintable())
        for c in shown
    )


def answers(text: str) -> list[Answer]:
    privacy = Privacy(Loss.asked(0.1), 1.0, 0.05, 0.1, "ladder", 3.0, f"Promise to {text}.")
    rows, margins = ((text, 5),), ((None, 2.0),)
    return [
        Answer((text, "n"), rows, margins, privacy, (text,)),
        Denied((text, "n"), (), (), privacy, (text,), reason=text),
    ]


@EACH
def test_the_functions_themselves(text: str) -> None:
    for shown in (
        visible(text),
        markdown(text),
        in_html(text),
        csv_field(text),
        visible_lines(text),
    ):
        assert harmless(shown)
    assert visible(visible(text)) == visible(text)
    assert "\n" not in visible(text + "\n")
    assert csv_field(text)[0] not in "=+-@\t\r\uff1d"
    assert csv_field(text).lstrip()[0] not in "=+-@\uff1d"
    assert json.loads(in_json({text: [text]}, str)) == {text: [text]}
    assert harmless(in_json({text: [text]}, str))
    assert "<" not in in_html(text)


def test_ordinary_text_and_numbers_stay_as_they_are() -> None:
    for text in ("hepatitis B", "Müller", "東京", "naïve café ±", "a b", ""):
        assert visible(text) == text == csv_field(text)
    assert [csv_field(value) for value in (-5, -2.5, None, True)] == [-5, -2.5, "", True]


@EACH
def test_errors_and_their_underlined_source(text: str) -> None:
    line = text.split("\n")[-1]
    sql = f"SELECT 1\nFROM {text} WHERE bad"
    error = ProbeError(text, why=text, fix=text, sql=sql, span=Span(sql.index("bad"), len(sql)))
    assert harmless(str(error))
    assert str(error).count("\n") == 5  # what, three lines of source, why, fix
    shown, marks = underline(sql, Span(sql.index("bad"), len(sql))).split("\n")[1:]
    assert shown[marks.index("^") : marks.rindex("^") + 1] == "bad"
    start = sql.index(line)
    shown, marks = underline(sql, Span(start, start + len(line))).split("\n")[1:]
    marked = shown[marks.index("^") : marks.rindex("^") + 1]
    assert marked == visible(line.replace("\t", " "))
    problems = PolicyError([Problem(text, text, text, 3)], text)
    assert harmless(str(problems))
    assert str(problems).count("\n") == 2


@EACH
def test_answers_in_every_format(text: str) -> None:
    for answer in answers(text):
        assert harmless(str(answer))
        assert harmless(answer._repr_html_())
        assert "<script" not in answer._repr_html_()
        for form in ("table", "markdown", "json", "csv"):
            out = io.StringIO()
            show_answer(answer, form, out)
            assert harmless(out.getvalue()), form
            if form == "csv" and answer.rows:
                for field in (row[0] for row in csv.reader(io.StringIO(out.getvalue()))):
                    assert field.lstrip()[0] not in "=+-@\uff1d"
            if form == "markdown":
                assert "![" not in out.getvalue().replace("\\[", "")
                assert "<s" not in out.getvalue().replace("\\<", "")


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


SHOWN = [text for name, text in HOSTILE.items() if name != "surrogate"]


@pytest.mark.usefixtures("clinic")
def test_explain_notices_and_ledger_of_hostile_queries(run: Run) -> None:
    clause = "WITH ACCURACY (fnr = 0.4, algorithm = 'naive', epsilon = 0.01)"
    # Every character is looked at, so several texts may share a query.
    for text in ("".join(SHOWN[first : first + 6]) for first in range(0, len(SHOWN), 6)):
        sql = (
            f'SELECT disease AS "{text}" FROM patients WHERE disease_type = {quoted(text)} '
            f"GROUP BY disease HAVING count(*) FILTER (WHERE ward = {quoted(text)}) > 1900 {clause}"
        )
        for form in ("table", "json"):
            ended = run("explain", "clinic.duckdb", "--format", form, sql)
            assert harmless(ended.out + ended.err), (text, form)
            assert ended.code == 0, ended.err
        ended = run("explain", "clinic.duckdb", sql.replace("ward =", f'"{text}" ='))
        assert harmless(ended.err)
        assert ended.code == 1
    # One hostile query is enough in the ledger: the text is as good as any.
    sql = sql.replace(visible(text), "".join(SHOWN))
    for form in ("csv", "table", "markdown", "json"):
        ended = run("query", "clinic.duckdb", "--analyst", "maria", "--format", form, sql)
        assert harmless(ended.out + ended.err)
        assert ended.code in (0, 3), ended.err
        ended = run("ledger", "clinic.duckdb", "--analyst", "maria", "--format", form)
        assert harmless(ended.out + ended.err)
        assert "u001b" in ended.out


@pytest.mark.usefixtures("clinic")
def test_a_ledger_for_a_spreadsheet_holds_no_formula(run: Run) -> None:
    sql = "-- =cmd|'/C calc'!A0\nSELECT disease FROM patients GROUP BY disease HAVING count(*) > 9"
    run("query", "clinic.duckdb", "--analyst", "maria", sql)
    ended = run("ledger", "clinic.duckdb", "--analyst", "maria", "--format", "csv")
    assert list(csv.reader(io.StringIO(ended.out)))[1][-1] == "'" + visible(sql)


@EACH
@pytest.mark.usefixtures("clinic")
def test_usage_errors_and_paths(run: Run, text: str) -> None:
    for arguments in (
        ("query", "clinic.duckdb", "SELECT", text),
        ("query", "clinic.duckdb", "--epsilon", text),
        ("query", "clinic.duckdb", "--format", text),
        ("query", f"x{text}"),
        (f"x{text}", "-c", ""),
        ("check", f"x{text}", "--policy", f"x{text}"),
        ("explain", "--policy", f"x{text}", "S"),
        ("init", f"x{text}"),
        ("query", "clinic.duckdb", f"--{text}"),
    ):
        ended = run(*arguments)
        assert harmless(ended.out + ended.err), arguments
        assert ended.code in (1, 2), (arguments, ended.err)


@pytest.mark.usefixtures("clinic")
def test_the_shell_prints_scripts_and_names_harmlessly(run: Run) -> None:
    script = "".join(
        f".print a{text}\n.mode {text}\n.{text}\n" for text in SHOWN if "\n" not in text
    )
    for line in script.splitlines():
        ended = run("clinic.duckdb", "--analyst", "maria", stdin=f".echo on\n{line}")
        assert harmless(ended.out + ended.err), line


def test_a_policy_of_hostile_names_is_shown_and_reads_back(run: Run, tmp_path: Path) -> None:
    name = "w\x1b[2J\u202e\x9b"
    with duckdb.connect(str(tmp_path / "x.duckdb")) as db:
        db.execute(f'CREATE TABLE t ("{name}" VARCHAR)')
    policy = tmp_path / "x.toml"
    policy.write_text(
        '[budget]\nepsilon = 1.0\nper_query = 1.0\n[tables.t]\nunit = "row"\n[tables.t.columns]\n'
        '"w\\u001b[2J\\u202e\\u009b" = { keys = ["a\\u001b", "b"], about = "\\u202edays" }\n'
    )
    shown = run(str(tmp_path / "x.duckdb"), "-c", ".policy", "-c", ".schema", "-c", ".tables")
    assert shown.code == 0, shown.err
    assert harmless(shown.out)
    dumped = shown.out.partition("table  column")[0]
    (tmp_path / "y.toml").write_text(dumped)
    checked = run("check", str(tmp_path / "x.duckdb"), "--policy", str(tmp_path / "y.toml"))
    assert checked.code == 0, checked.err
    assert harmless(checked.out)
    drafted = run("init", str(tmp_path / "x.duckdb"), "--output", "-")
    assert harmless(drafted.out)


INJECTED = 'a\n[reuse]\nanswers = "none"\n#'


@pytest.mark.parametrize("text", [*HOSTILE.values(), INJECTED], ids=[*HOSTILE, "section"])
@pytest.mark.parametrize("file", [False, True], ids=["database", "file"])
def test_a_draft_has_no_setting_that_a_name_wrote(
    run: Run, tmp_path: Path, text: str, file: bool
) -> None:
    """The file that is written, for the screen is escaped once more: in comments and in keys."""
    if "\udc80" in text or (file and "/" in text):
        pytest.skip("no database holds half a character, and no file's name a slash")
    source = tmp_path / (f"{text}.csv" if file else "x.duckdb")
    quoted = text.replace('"', '""')
    if file:
        source.write_text("day,age\n")
    else:
        with duckdb.connect(str(source)) as db:
            db.execute(f'CREATE TYPE sort AS STRUCT("{quoted}" INTEGER)')
            db.execute(f'CREATE TABLE "{quoted}" ("{quoted}" INTEGER, "x {quoted}" sort)')
    written = tmp_path / "policy.toml"
    drafted = run("init", "--draft", str(source), "--output", str(written))
    assert drafted.code == 0, drafted.err
    draft = written.read_text(encoding="utf-8")
    assert harmless(draft)
    read = tomllib.loads(draft)
    assert set(read) == {"budget", "defaults", "tables"}
    (table,) = read["tables"].values()
    assert set(table) == {"unit", "columns"}
    if not file:
        assert set(read["tables"]) == {text}


@EACH
def test_the_line_that_is_edited_and_its_completions(text: str) -> None:
    for shown in SqlCompleter(Catalogue({text: ()})).get_completions(Document("FROM "), None):  # type: ignore[arg-type]
        assert shown.text == text
        assert harmless(shown.display_text)
    line = f"a{text}b"
    given = TransformationInput(None, None, 0, lambda column: column, [("", line)], 80, 24)  # type: ignore[arg-type]
    found = Visible().apply_transformation(given)
    assert "".join(part[1] for part in found.fragments) == visible(line)
    columns = [found.source_to_display(column) for column in range(len(line) + 1)]
    assert columns == [len(visible(line[:column])) for column in range(len(line) + 1)]
    assert [found.display_to_source(column) for column in columns] == list(range(len(line) + 1))
