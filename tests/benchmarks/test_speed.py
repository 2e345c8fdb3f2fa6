"""A check that a private query did not become much slower, as ratios to the plain one.

They are of the processor's time of this process, which other work on the machine changes little,
and have room for what it does change. `python -m benchmarks speed` measures what they are.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import speed
from benchmarks.speed_tables import SEED, average
from probe_sql import Answer


@pytest.mark.parametrize(
    ("rows", "groups", "fresh", "most"),
    [(20_000, 510, 1, 30), (20_000, 510, 0, 25), (100_000, 50_000, 0, 25)],
    ids=["a new question", "the same again", "many groups"],
)
def test_a_private_query_takes_no_more_than_so_many_plain_ones(
    tmp_path: Path, rows: int, groups: int, fresh: int, most: float
) -> None:
    """What there is to pay at all, with its plan or without, and for many groups."""
    sql, texts = average(rows, groups), itertools.count()
    with speed.Bench(tmp_path, threads=1, repeats=None).opened(rows, groups) as (plain, private):

        def ask() -> object:
            return private.sql(average(rows, groups, more=fresh * next(texts)))

        usual, ours = speed.in_turn([speed.plainly(plain, sql), ask], 5)
    assert ours.processor < most * usual.processor


def test_memory_is_that_of_the_program_alone() -> None:
    """And not what the process took before, while it was a copy of this one."""
    taken = bytearray(b"x") * (400 << 20)
    command = "from benchmarks.speed import peak; print(peak())"
    said = subprocess.run([sys.executable, "-c", command], check=True, stdout=subprocess.PIPE)
    assert 10 < float(said.stdout) < len(taken) / 2**20
    assert speed.peak() > len(taken) / 2**20


def test_a_query_looks_at_few_levels(tmp_path: Path) -> None:
    rows, groups = 20_000, 510
    with speed.Bench(tmp_path, threads=1, repeats=None).opened(rows, groups) as (_, private):
        answer = private.sql(average(rows, groups))
    assert isinstance(answer, Answer)
    trace = answer.privacy.trace
    assert len(trace) < trace[-1].phase / 2


def test_the_records_say_from_where_they_are(tmp_path: Path) -> None:
    found = tmp_path / "speed.json"
    assert speed.main(["--parts", "fixed", "--repeats", "1", "--json", str(found)]) == 0
    said = json.loads(found.read_text())
    assert said["seed"] == SEED
    assert said["commit"]
    assert [record["case"] for record in said["records"]] == [
        "ladder, fresh", "ladder, repeated", "probe, fresh", "probe, repeated",
    ]  # fmt: skip
