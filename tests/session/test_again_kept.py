"""Answers that are given again: to whom, about which data, how long, and what is kept of them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from probe_sql.errors import LedgerError, ProbeError, Stopped
from probe_sql.policy import load_policy, parse_policy
from probe_sql.session import Connection, connect
from probe_sql.vault.failures import Failure, scan_error
from tests.examples.clinic import SECRET, SECRET_NAME, seeded
from tests.examples.policies import listed, one_table, within

from .again import SELECTION, VALUES, WITH_VALUES, ask, cost, rules

# --- who and when ----------------------------------------------------------------------------


def test_answers_are_shared_unless_the_owner_says_otherwise(source: Path) -> None:
    policy = rules(source.parent)
    with connect(source, policy, analyst="maria") as db:
        ask(db, SELECTION)
    with connect(source, policy, analyst="jo") as db:
        assert cost(db, SELECTION) == 0
        assert db.saved() == ()
    rules(source.parent, 'answers = "own"')
    with connect(source, policy, analyst="jo") as db:
        assert db.explain(SELECTION).free is None
        assert cost(db, SELECTION) > 0
        assert cost(db, SELECTION) == 0
        [own] = db.saved()
        assert own.sql == SELECTION
    with connect(source, policy, analyst="maria") as db:
        assert cost(db, SELECTION) > 0
    rules(source.parent, 'answers = "none"')
    with connect(source, policy, analyst="maria") as db:
        kept = len(db.saved())
        assert cost(db, SELECTION) > 0
        assert cost(db, SELECTION) > 0
        assert len(db.saved()) == kept


def test_versions_are_the_owners_words(source: Path) -> None:
    policy = rules(source.parent, 'version = "March"\non_change = "ask"')
    with connect(source, policy, analyst="maria") as db:
        ask(db, SELECTION)
        again = ask(db, SELECTION)
        assert again.privacy.replay is not None
        assert again.privacy.replay.words.endswith("about the data March")
    rules(source.parent, 'version = "April"\non_change = "ask"')
    with connect(source, policy, analyst="maria") as db:
        assert db.explain(SELECTION).free is None
        assert cost(db, SELECTION) > 0
        assert cost(db, SELECTION) == 0
    rules(source.parent, 'version = "May"')
    with connect(source, policy, analyst="maria") as db:
        told = ask(db, SELECTION).privacy.replay
        assert told is not None
        assert told.words.endswith("about the data April, not May")


def write(source: Path) -> None:
    with duckdb.connect(str(source)) as database:
        database.execute("INSERT INTO patients SELECT * FROM patients LIMIT 1")


def test_what_changed_is_given_again_or_asked_anew_as_the_owner_says(source: Path) -> None:
    """By default a file is not looked at, so that its changes tell nothing."""
    policy = rules(source.parent)
    with connect(source, policy, analyst="maria") as db:
        ask(db, SELECTION)
    write(source)
    with connect(source, policy, analyst="maria") as db:
        told = ask(db, SELECTION).privacy.replay
        assert told is not None
        assert told.words.endswith("the data may have changed since")
    rules(source.parent, 'on_change = "ask"')
    with connect(source, policy, analyst="maria") as db:
        assert cost(db, SELECTION) > 0  # nothing tells which file that answer was about
        assert cost(db, SELECTION) == 0
    with connect(source, policy, analyst="maria") as db:
        assert cost(db, SELECTION) == 0
    write(source)
    with connect(source, policy, analyst="maria") as db:
        assert cost(db, SELECTION) > 0


def test_nothing_shown_tells_of_the_file(source: Path) -> None:
    policy = rules(source.parent, 'on_change = "ask"')
    os.utime(source, (981_173_106, 981_173_106))  # 2001-02-03
    with connect(source, policy, analyst="maria") as db:
        ask(db, SELECTION)
        again = ask(db, SELECTION)
        shown = json.dumps(again.as_dict()) + str(again) + str(db.explain(SELECTION))
    for fact in ("2001", "981173106", str(source.stat().st_size), str(source.stat().st_ino)):
        assert fact not in shown


def test_an_answer_grows_too_old(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = rules(source.parent, 'keep = "24h"')
    with connect(source, policy, analyst="maria") as db:
        ask(db, SELECTION)
        assert cost(db, SELECTION) == 0
        ledger = db._database.ledger
        clock = ledger._clock
        monkeypatch.setattr(ledger, "_clock", lambda: clock() + 86_390)
        assert cost(db, SELECTION) == 0
        monkeypatch.setattr(ledger, "_clock", lambda: clock() + 86_410)
        assert cost(db, SELECTION) > 0


def test_what_todays_policy_or_a_lock_refuses_is_not_given_again(source: Path) -> None:
    policy = rules(source.parent)
    with connect(source, policy, analyst="maria") as db:
        ask(db, SELECTION)
        policy.write_text(policy.read_text() + "# changed\n")
        with pytest.raises(ProbeError, match="policy"):
            db.sql(SELECTION)
        assert db.explain(SELECTION).free is None
    text = policy.read_text()
    policy.write_text(text.replace("disease = {", "# disease = {"))
    with connect(source, policy, analyst="maria") as db, pytest.raises(ProbeError):
        db.sql(SELECTION)
    policy.write_text(text.replace("jo = 400.0\n", ""))
    with connect(source, policy, analyst="jo") as db, pytest.raises(LedgerError, match="no budget"):
        db.sql(SELECTION)
    policy.write_text(text)
    with connect(source, policy, analyst="maria") as db:

        def broken(*_: object) -> None:
            raise scan_error(Failure.OTHER)

        vars(db._database.backend)["measure"] = broken
        with pytest.raises(ProbeError):
            db.sql(SELECTION, fresh=True)
        with pytest.raises(Stopped):
            db.sql(SELECTION)
        assert db.explain(SELECTION).free is None


def test_public_tables_are_part_of_the_question(source: Path) -> None:
    sql = (
        "SELECT disease FROM patients JOIN diseases ON name = disease GROUP BY disease"
        " HAVING count(*) > diseases.cap"
    )
    policy = rules(source.parent)
    with connect(source, policy, analyst="maria") as db:
        ask(db, sql)
        assert cost(db, sql) == 0
    with duckdb.connect(str(source)) as database:
        database.execute("UPDATE diseases SET cap = 501 WHERE name = 'flu'")
    with connect(source, policy, analyst="maria") as db:
        assert cost(db, sql) > 0


def test_bounds_and_units_are_part_of_the_question(source: Path) -> None:
    """A replay keeps the unit of its time, so another unit finds none."""
    sql = "SELECT ward FROM patients GROUP BY ward HAVING sum(age) > 20000"
    policy = rules(source.parent)
    with connect(source, policy, analyst="maria") as db:
        ask(db, sql)
        assert cost(db, sql) == 0
    policy.write_text(policy.read_text().replace("bounds = [0, 120]", "bounds = [0, 110]"))
    with connect(source, policy, analyst="maria") as db:
        assert cost(db, sql) > 0


def test_frames_keep_nothing(source: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(source)) as database:
        rows = database.execute("SELECT ward, age FROM patients WHERE ward IS NOT NULL").fetchall()
    frame = pa.table({"ward": [row[0] for row in rows], "age": [row[1] for row in rows]})
    policy = parse_policy(
        one_table("visits", {"ward": listed("A", "B", "C"), "age": within(0, 120)}, epsilon=100.0)
    )
    sql = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 300"
    where = tmp_path / "frames.ledger"
    with connect({"visits": frame}, policy, ledger=where) as db:
        assert cost(db, sql) > 0
        assert cost(db, sql) > 0
        assert not any(entry.saved for entry in db.ledger())


def test_parquet_files_keep_their_answers(source: Path, tmp_path: Path) -> None:
    visits = tmp_path / "visits.parquet"
    with duckdb.connect(str(source)) as database:
        database.execute(f"COPY (SELECT ward, age FROM patients) TO '{visits}'")
    policy = parse_policy(
        one_table(
            "visits",
            {"ward": listed("A", "B", "C"), "age": within(0, 120)},
            epsilon=100.0,
            more="""
[reuse]
on_change = "ask"
""",
        )
    )
    sql = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 300"
    with connect(visits, policy) as db:
        ask(db, sql)
        assert cost(db, sql) == 0
        os.utime(visits, (1, 1))  # read anew by every scan
        assert cost(db, sql) > 0


# --- what is kept ----------------------------------------------------------------------------


def kept_texts(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        found = [body for (body,) in connection.execute("SELECT body FROM answers")]
    connection.close()
    return found


def test_noisy_facts_alone_are_kept(source: Path) -> None:
    """Sentinels: no exact number of the data, nor any of its texts, is in the file."""
    with duckdb.connect(str(source), read_only=True) as database:
        exact = {
            number
            for key in ("disease", "ward")
            for row in database.execute(
                f"SELECT count(*), sum(age) FROM patients GROUP BY {key} HAVING count(*) > 30"
            ).fetchall()
            for number in row
        }
    assert {900, 900 * 30, 700 * 80} <= exact
    sums = "SELECT disease, count(*) AS n, sum(age) AS s FROM patients GROUP BY disease"
    # Margins are wide, so that no value is the exact one by chance.
    with seeded(source, 9, again=True) as db:
        ask(db, WITH_VALUES, margin=6000)
        ask(db, VALUES, margin=6000)
        answer = ask(db, sums, epsilon=0.001)
        ask(db, VALUES, margin=4000)  # goes on from the values before
        ask(db, WITH_VALUES, algorithm="probe")
        path = db._database.ledger.path
        texts = kept_texts(path)
        raw = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
    assert len(texts) == 5
    text = "\n".join(texts)
    for word in (SECRET_NAME, str(SECRET), "flu", "shingles", "disease", "patients"):
        assert word not in text
    for word in (SECRET_NAME, str(SECRET)):
        assert word.encode() not in raw
    assert hashlib.sha256(source.read_bytes()).hexdigest() not in text
    without_digests = re.sub(r"[0-9a-f]{32,}", "", text)
    # How far a level reaches follows from the levels alone, and may be any round number.
    without_regions = re.sub(r'"region": \d+', "", without_digests)
    found = re.findall(r"(?<![\d.e-])-?\d+(?![\d.e])", without_regions)
    numbers = {int(number) for number in found}
    assert not numbers & exact
    # The integers that left the vault, and nothing that with them would tell the noise.
    columns = json.loads(texts[2])["columns"].values()
    values = [part for parts, *_ in columns for part in parts]
    assert values == [[row[1] for row in answer.raw], [row[2] for row in answer.raw]]
    assert json.loads(texts[2]).keys() == {
        "format",
        "status",
        "groups",
        "unit",
        "asked",
        "guarantee",
        "trace",
        "returned",
        "certain",
        "values",
        "columns",
        "aside",
        "denial",
        "min_entropy",
        "peeled",
        "heads",
        "content",
        "opening",
        "measured",
    }


def test_values_of_groups_that_were_not_returned_are_not_kept(db: Connection) -> None:
    """The paper's algorithm measures every group; the answer shows few."""
    answer = ask(db, WITH_VALUES, algorithm="naive")
    assert 0 < len(answer.rows) < 5
    [kept] = db._database.ledger.answers.find(
        next(iter(db._database.ledger._log.book.answers.values())).question, "maria"
    )
    body = db._database.ledger.answers.read(kept)
    assert body is not None
    said = json.loads(body)
    assert said["values"]
    assert all(len(values) == len(answer.rows) for values, *_ in said["values"].values())


def test_policy_defaults_hold_for_it(source: Path) -> None:
    assert load_policy(rules(source.parent)).reuse.answers == "shared"
