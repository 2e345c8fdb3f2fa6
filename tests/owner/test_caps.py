"""What caps do to counts by the owner's guess, beside what they do to rows that follow it."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from random import Random

import duckdb
import pytest

from probe_sql.answer import Answer
from probe_sql.owner.caps import caps, effects, left_out
from probe_sql.policy import parse_policy
from probe_sql.session import connect
from tests.conftest import Run

POLICY = """
ledger = "{cap}.ledger"
budget.epsilon = 1000.0
[tables.visits]
unit = {{ column = "person", max_rows = {cap} }}
rows_per_group = {rows}
[tables.visits.columns]
person = {{}}
"""
MEAN = 4.0


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """Visits whose number for a person falls off evenly, and as many of people with four each."""
    chance = Random(4)
    rows = []
    for person in range(4_000):
        rows.append(person)
        while chance.random() < 1 - 1 / MEAN:
            rows.append(person)
    path = tmp_path_factory.mktemp("people") / "v.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE visits AS SELECT unnest(?) AS person", [rows])
        db.execute("CREATE TABLE even AS SELECT i // 4 AS person FROM range(16000) r(i)")
    return path, len(rows), 16_000


def counted(source: Path, cap: int, rows: int, table: str = "visits") -> float:
    policy = source.with_name(f"{table}{cap}.toml")
    text = POLICY.format(cap=f"{table}{cap}", rows=rows).replace(
        f"max_rows = {table}", "max_rows = "
    )
    policy.write_text(text.replace("tables.visits", f"tables.{table}"), encoding="utf-8")
    with connect(source, policy) as db:
        answer = db.sql(f"SELECT count(*) FROM {table}", epsilon=500.0)
        assert isinstance(answer, Answer)
        return float(answer.rows[0][0])


def test_rows_that_follow_the_guess_are_left_out_as_it_says(
    people: tuple[Path, int, int],
) -> None:
    source, total, even = people
    told = {one.max_rows: one for one in effects(MEAN, total, 1.0)}
    for cap in (1, 3, 10):
        low = total - counted(source, cap, total)
        assert low == pytest.approx(told[cap].too_low, rel=0.1, abs=0.01 * total)
    # Rows that do not follow it are not: nobody has more than four.
    assert even - counted(source, 3, even, "even") < 0.7 * left_out(MEAN, 3) * even


def test_a_cap_leaves_out_less_and_costs_more_noise_the_higher_it_is() -> None:
    found = effects(3.0, 1000, 0.5, now=7)
    assert [one.max_rows for one in found] == [1, 2, 3, 5, 7, 10, 20, 50, 100]
    assert [one.in_force for one in found].index(True) == 4
    for one, more in pairwise(found):
        assert more.left_out < one.left_out
        assert more.noise > one.noise
    assert left_out(1.0, 1) == 0.0  # nobody has two rows
    assert left_out(2.0, 3) == 0.125


def test_the_table_of_the_guide_is_what_is_printed() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "unit.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"```text\n(if a person has .*?)```", guide, re.DOTALL)
    policy = parse_policy(POLICY.format(cap=10, rows=500))
    (found,) = caps(policy, 4.0)
    printed = [line.rstrip() for line in found.lines()]
    assert all(line in printed for line in told.splitlines())


def test_check_shows_it_to_the_owner_who_guesses(people: tuple[Path, int, int], run: Run) -> None:
    source, total, _ = people
    policy = source.with_name("shown.toml")
    policy.write_text(POLICY.format(cap=10, rows=500), encoding="utf-8")
    words = ("check", "--policy", str(policy), "--rows-per-person", "4")
    shown = run(*words)
    assert shown.code == 0
    assert "if a person has 4 rows on average, and a group of visits 500" in shown.out
    assert "10*" in shown.out
    assert "5.6 %" in shown.out
    assert "caps" in json.loads(run(*words, "--format", "json").out)
    assert run("check", "--policy", str(policy), "--rows-per-person", "0.5").code == 2
    assert "on average" not in run("check", "--policy", str(policy)).out
    policy.write_text("budget.epsilon = 1\ntables.visits.columns.day = {}\n", encoding="utf-8")
    assert "no table caps the rows" in run(*words).err
    assert str(total) not in shown.out
