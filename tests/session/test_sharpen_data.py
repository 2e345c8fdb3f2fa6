"""On which data a value sharpens: those that the owner's words and every byte say are the same."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from probe_sql import faults
from probe_sql.session import connect
from probe_sql.vault import content
from probe_sql.vault.bounded_store import mark

from .again import rules
from .test_sharpen import COUNTS, price, told

MAY = 'version = "May"'
PLAIN = """
[budget]
epsilon = 100.0
per_query = 20.0
[tables.visits]
unit = {unit}
[tables.visits.columns]
ward = {{ type = "VARCHAR", keys = ["A", "B"] }}
{more}
[reuse]
{reuse}
"""
VISITS = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"
ROWS = "SELECT i // 3 AS person, ['A', 'B'][1 + i % 2] AS ward FROM range(300) t(i)"
PERSON = "{ column = 'person', max_rows = 2, max_groups = 2 }"


@pytest.fixture
def hooked() -> Iterator[None]:
    yield
    faults.install(None)


def visits(folder: Path, reuse: str = MAY, people: bool = False) -> Path:
    unit, more = (PERSON, "person = { type = 'INTEGER' }") if people else ('"row"', "")
    path = folder / "visits.toml"
    path.write_text(PLAIN.format(unit=unit, more=more, reuse=reuse))
    return path


def write(path: Path, sql: str) -> Path:
    """Make a database, Parquet or CSV file of rows; one that is there keeps its inode."""
    draft = path.with_name(f"draft{path.suffix}")
    with duckdb.connect() as db:
        if path.suffix == ".duckdb":
            db.execute(f"ATTACH '{draft}' AS d")
            db.execute(f"CREATE TABLE d.visits AS {sql}")
        else:
            db.execute(f"COPY ({sql}) TO '{draft}'")
    path.write_bytes(draft.read_bytes())
    draft.unlink()
    return path


def asked(source: Path, policy: Path, margin: float, sql: str = VISITS) -> tuple[float, float]:
    """What EXPLAIN says, and what it costs, in an opening of its own."""
    with connect(source, policy, analyst="maria", ledger=source.with_name("x.ledger")) as db:
        return told(db, sql, margin=margin), price(db, sql, margin=margin)


# --- what is public decides first --------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "now", "sharpens"),
    [
        (MAY, MAY, True),
        (MAY, 'version = "June"', False),
        (MAY, "", False),
        ("", MAY, False),
        ("", "", False),  # nobody says that another opening shows the same
        ('on_change = "ask"', 'on_change = "ask"', True),
        (MAY + '\nkeep = "1min"', MAY + '\nkeep = "1min"', True),
    ],
)
def test_another_opening(source: Path, then: str, now: str, sharpens: bool) -> None:
    with connect(source, rules(source.parent, then), analyst="maria") as db:
        price(db, COUNTS, margin=50)
        whole = db.explain(COUNTS, margin=20).epsilon_worst
        assert told(db, COUNTS, margin=20) < whole  # the same opening shows the same
    with connect(source, rules(source.parent, now), analyst="maria") as db:
        said = told(db, COUNTS, margin=20)
        assert (said < whole) == sharpens
        assert price(db, COUNTS, margin=20) == pytest.approx(said)


# --- every byte decides next -------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".duckdb", ".parquet", ".csv"])
def test_a_row_that_moved_under_the_same_words(tmp_path: Path, suffix: str) -> None:
    """Same name, size and times, and the owner's label did not change: the bytes did."""
    source, policy = write(tmp_path / f"visits{suffix}", ROWS), visits(tmp_path)
    _, coarse = asked(source, policy, 30)
    _, again = asked(source, policy, 20)
    marks = source.stat()
    write(source, ROWS.replace("i % 2", "(CASE WHEN i = 7 THEN 0 ELSE i % 2 END)"))
    os.utime(source, ns=(marks.st_atime_ns, marks.st_mtime_ns))
    assert suffix == ".parquet" or source.stat().st_size == marks.st_size
    said, spent = asked(source, policy, 10)
    whole = coarse + again + said
    assert again < whole
    assert spent == pytest.approx(whole)  # paid in full, as if there were nothing
    said, spent = asked(source, policy, 5)
    assert said == pytest.approx(spent)  # and that one is gone on from


def test_bytes_are_read_anew_whatever_the_marks_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that tells of no change: within one opening, too."""
    source, policy = write(tmp_path / "visits.parquet", ROWS), visits(tmp_path)
    with connect(source, policy, analyst="maria", ledger=tmp_path / "x.ledger") as db:
        whole = told(db, VISITS, margin=20)
        same = mark(source)
        monkeypatch.setattr(content, "mark", lambda _: same)
        price(db, VISITS, margin=30)
        write(source, ROWS.replace("300", "297"))
        assert told(db, VISITS, margin=20) < whole
        assert price(db, VISITS, margin=20) == pytest.approx(whole)


@pytest.mark.usefixtures("hooked")
def test_a_file_that_changes_between_its_digest_and_its_scan(tmp_path: Path) -> None:
    source, policy = write(tmp_path / "visits.parquet", ROWS), visits(tmp_path)
    with connect(source, policy, analyst="maria", ledger=tmp_path / "x.ledger") as db:
        whole = told(db, VISITS, margin=20)
        price(db, VISITS, margin=30)

        def late(point: str) -> None:
            if point == "vault.scan.before":
                write(source, ROWS.replace("300", "297"))

        faults.install(late)
        assert price(db, VISITS, margin=20) == pytest.approx(whole)


def test_what_is_read_is_not_what_the_file_has_now(tmp_path: Path) -> None:
    """DuckDB goes on reading what it has opened: its value is not of the file that lies there."""
    source, policy = write(tmp_path / "visits.duckdb", ROWS), visits(tmp_path)
    other = write(tmp_path / "other.duckdb", ROWS.replace("300", "297"))
    with connect(source, policy, analyst="maria", ledger=tmp_path / "x.ledger") as db:
        whole = told(db, VISITS, margin=20)
        os.replace(other, source)
        price(db, VISITS, margin=30)
    assert list(asked(source, policy, 20)) == pytest.approx([whole, whole])


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW visits AS SELECT * FROM stored",
        "CREATE TABLE visits (person INTEGER, code INTEGER, ward VARCHAR AS (chr(65 + code)))",
    ],
)
def test_what_is_computed_proves_nothing(tmp_path: Path, statement: str) -> None:
    source, policy = tmp_path / "visits.duckdb", visits(tmp_path)
    with duckdb.connect(str(source)) as db:
        db.execute(f"CREATE TABLE stored AS {ROWS}")
        db.execute(statement)
    with connect(source, policy, analyst="maria") as db:
        whole = told(db, VISITS, margin=20)
        price(db, VISITS, margin=30)
        assert told(db, VISITS, margin=20) == pytest.approx(whole)


def test_frames_and_what_has_no_key_do_not_sharpen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = visits(tmp_path)
    frame = pa.table({"ward": ["A", "B"] * 100, "person": list(range(200))})
    with connect(frame, policy, analyst="maria", ledger=tmp_path / "f.ledger") as db:
        whole = told(db, VISITS, margin=20)
        price(db, VISITS, margin=30)
        assert told(db, VISITS, margin=20) == pytest.approx(whole)
    monkeypatch.setattr("probe_sql.vault.duckdb_source.content_key", lambda _: None)
    source = write(tmp_path / "visits.parquet", ROWS)
    asked(source, policy, 30)
    assert list(asked(source, policy, 20)) == pytest.approx([whole, whole])


def test_people_sharpen_as_long_as_the_same_rows_of_theirs_are_kept(tmp_path: Path) -> None:
    source, policy = write(tmp_path / "visits.duckdb", ROWS), visits(tmp_path, people=True)
    _, coarse = asked(source, policy, 30)
    said, finer = asked(source, policy, 20)
    assert said == pytest.approx(finer)
    shutil.rmtree(tmp_path / "visits.duckdb.bounded")  # another key chooses other rows
    said, spent = asked(source, policy, 10)
    assert spent == pytest.approx(coarse + finer + said)


# --- what the store says of the data -----------------------------------------------------------


def test_the_digest_of_the_data_is_under_a_key(tmp_path: Path) -> None:
    """Whoever has the ledger and guesses every row cannot see that the guess is right."""
    source, policy = write(tmp_path / "visits.parquet", ROWS), visits(tmp_path)
    digests = []
    for name in ("one", "two"):
        book = tmp_path / f"{name}.ledger"
        with connect(source, policy, analyst="maria", ledger=book) as db:
            price(db, VISITS, margin=30)
        with sqlite3.connect(book) as store:
            [(body,)] = store.execute("SELECT body FROM answers")
        store.close()
        digests.append(json.loads(body)["content"])
        keys = [
            book.with_name(f"{book.name}.content"),
            book.with_name(f"{book.name}.content") / "key",
        ]
        assert [path.stat().st_mode & 0o777 for path in keys] == [0o700, 0o600]
    assert digests[0] != digests[1]
    assert all(len(digest) == 64 for digest in digests)
