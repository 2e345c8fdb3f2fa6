"""Two hundred questions by three analysts, as dashboards and notebooks ask them: what each costs.

The workload is made from a seed: refreshes, other LIMITs and names, looser and tighter margins, and
now and then something new. It is asked four times from one seed: answers kept for everybody, with
values that sharpen and without, kept for whoever asked, and not kept. Beside it stands what the
questions for values cost by the accounting of OpenDP and SmartNoise, at the same margins; lists of
groups with bounds on wrong ones they do not have.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.engine import seed_of
from benchmarks.peers import PEERS, SCRIPTS, environment
from benchmarks.provenance import write_records
from benchmarks.seeded import SeededWords
from datasets.common import DataMissing, data_dir, literal, needed
from probe_sql.answer import Answer
from probe_sql.database import Database
from probe_sql.ledger import Ledger
from probe_sql.policy import Reuse, parse_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

SEED = 31
QUESTIONS = 200
ANALYSTS = ("maria", "noor", "jo")
FILE = "taxi_green_2020_03.parquet"
WAYS = {
    "for everybody": Reuse(),
    "without sharpening": Reuse(sharpen="off"),
    "for whoever asked": Reuse(answers="own"),
    "not kept": Reuse(answers="none"),
}
ROWS_OF_GROUP, MOST, CONFIDENCE = 500, 50.0, 0.95
PRICES = {"OpenDP": "price_opendp.py", "SmartNoise": "price_smartnoise.py"}
ROWS = """
SELECT pu_location_id AS zone, CAST(pickup_datetime AS DATE) AS day,
    CAST(hour(pickup_datetime) AS INTEGER) AS hour,
    CAST(greatest(0, least(200, fare_amount)) AS DECIMAL(8, 2)) AS fare,
    CAST(greatest(0, least(50, tip_amount)) AS DECIMAL(8, 2)) AS tip
FROM {0} WHERE pu_location_id BETWEEN 1 AND 265
"""
POLICY = """
[budget]
epsilon = 1000000.0
per_query = 50.0
[tables.trips]
unit = "row"
rows_per_group = 500
[tables.trips.columns]
zone = { keys = { integers = [1, 265] } }
day = { keys = { dates = ["2020-03-01", "2020-03-31"] } }
hour = { keys = { integers = [0, 23] } }
fare = { bounds = [0, 200], scale = 2 }
tip = { bounds = [0, 50], scale = 2 }
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a list of groups by a condition, or values at a margin."""

    keys: str
    values: str = ""
    having: str = ""
    margin: float | None = None
    where: str = ""
    tail: str = ""
    alias: str = ""

    @property
    def sql(self) -> str:
        """In the engine's dialect."""
        select = ", ".join(part for part in (self.keys, self.values) if part)
        parts = [f"SELECT {select} FROM trips {self.alias}".rstrip(), self.where]
        parts += [f"GROUP BY {self.keys}", self.having and f"HAVING {self.having}", self.tail]
        clause = "" if self.margin is None else f"WITH ACCURACY (margin = {self.margin:g})"
        return " ".join(part for part in (*parts, clause) if part)


PANELS = (
    Question("zone", having="count(*) > 1000"),
    Question("zone", having="count(*) > 500 AND avg(tip) > 1"),
    Question("zone, hour", having="count(*) > 150"),
    Question("day", having="avg(fare) > 16"),
    Question("hour", having="count(*) > 10000"),
    Question("zone", having="sum(fare) > 50000"),
    Question("zone", "count(*) AS n", margin=100),
    Question("hour", "count(*) AS n", margin=200),
    Question("day", "sum(fare) AS total", margin=20000),
    Question("hour", "avg(fare) AS mean", margin=0.5),
    Question("day", "count(*) AS n", margin=100),
    Question("zone", "sum(tip) AS tips", margin=5000),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question of the workload: by whom, and how it differs from what was asked before."""

    analyst: str
    kind: str
    question: Question


def workload(seed: int, count: int = QUESTIONS) -> Iterator[Asked]:
    """The questions in their order; the same for a seed."""
    rng = Random(seed)
    known: list[Question] = []
    waiting = list(PANELS)
    while count > 0:
        count -= 1
        analyst = rng.choice(ANALYSTS)
        if not known or (waiting and rng.random() < 0.15):
            known.append(waiting.pop(0))
            yield Asked(analyst, "new", known[-1])
            continue
        number = rng.randrange(len(known))
        was = known[number]
        kinds = ["refresh"] * 9 + ["limit"] * 4 + ["renamed"] * 3 + ["narrowed"]
        kinds += ["looser"] * 2 + ["tighter"] * 2 if was.margin is not None else []
        kind = rng.choice(kinds)
        asked = _changed(was, kind, rng)
        if kind in ("tighter", "narrowed"):
            known[number] = asked if kind == "tighter" else was
        yield Asked(analyst, kind, asked)


def _changed(was: Question, kind: str, rng: Random) -> Question:
    if kind == "limit":
        order = "DESC" if rng.random() < 0.5 else "ASC"
        return replace(was, tail=f"ORDER BY 1 {order} LIMIT {rng.choice((5, 10, 20))}")
    if kind == "renamed":
        return replace(was, alias="AS t")
    if kind == "narrowed":
        return replace(was, where=f"WHERE fare > {rng.randrange(5, 30)}")
    if kind in ("looser", "tighter"):
        factor = 2.0 if kind == "looser" else 0.5
        return replace(was, margin=(was.margin or 1.0) * factor)
    return was


@dataclass(frozen=True, slots=True)
class Record:
    """What a kind of question cost in one way, all together; `values` or lists of groups.

    Of a peer `epsilon` is what its own accounting counts for all of them together.
    """

    way: str
    kind: str
    values: bool
    asked: int
    replayed: int
    denied: int
    epsilon: float


def ask(database: Path, folder: Path, way: str, seed: int, count: int) -> list[Record]:
    """Ask the whole workload in one way."""
    policy = replace(parse_policy(POLICY), reuse=WAYS[way])
    backend = open_backend(str(database), policy)
    typed = policy.with_types(backend.schemas())
    ledger = Ledger.open(
        folder / f"{way}.ledger", budget=typed.prices(), identity="again", reuse=typed.reuse
    )
    shared = Database(backend, typed, ledger, Sampler(SeededWords(seed)))
    tallies: dict[tuple[str, bool], Counter[str]] = {}
    spent: dict[tuple[str, bool], float] = {}
    with Connection(shared, owner=True):
        analysts = {name: Connection(shared, name) for name in ANALYSTS}
        for one in workload(seed, count):
            answer = analysts[one.analyst].sql(one.question.sql)
            assert isinstance(answer, Answer)
            at = one.kind, one.question.margin is not None
            tally = tallies.setdefault(at, Counter())
            tally["asked"] += 1
            tally["replayed"] += answer.privacy.replay is not None
            tally["denied"] += answer.status == "denied"
            spent[at] = spent.get(at, 0.0) + answer.privacy.epsilon
    return [
        Record(way, *at, tally["asked"], tally["replayed"], tally["denied"], spent[at])
        for at, tally in sorted(tallies.items())
    ]


def priced(name: str, folder: Path, seed: int, count: int) -> list[Record]:
    """What a peer counts for the values, each question drawn anew; nothing where it is missing."""
    python = environment(name.lower(), folder, PEERS[name][1])
    if python is None:
        print(f"skipped: {name} could not be installed", file=sys.stderr)
        return []
    questions = [
        {
            "value": one.question.values.partition("(")[0],
            "margin": one.question.margin,
            "bounds": [0, 50] if "tip" in one.question.values else [0, 200],
        }
        for one in workload(seed, count)
        if one.question.margin is not None
    ]
    task = {"rows": ROWS_OF_GROUP, "failure": 1 - CONFIDENCE, "most": MOST, "questions": questions}
    script = str(SCRIPTS / PRICES[name])
    done = subprocess.run(
        [str(python), script], input=json.dumps(task) + "\n", text=True, capture_output=True
    )
    if done.returncode:
        print(f"skipped: {name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return []
    said = json.loads(done.stdout.splitlines()[-1])
    denied = sum(epsilon > MOST for epsilon in said["epsilons"])
    return [Record(said["version"], "all", True, len(questions), 0, denied, said["together"])]


def show(records: Sequence[Record], console: Console) -> None:
    """A line for each kind of question and way, and the sums."""
    table = Table(title="answers that are kept, and what the workload costs")
    for name in ("answers are kept", "question"):
        table.add_column(name, no_wrap=True)
    for name in ("asked", "replayed", "denied", "epsilon"):
        table.add_column(name, justify="right")

    def add(way: str, name: str, mine: Sequence[Record], last: bool) -> None:
        sums = [sum(getattr(r, part) for r in mine) for part in ("asked", "replayed", "denied")]
        whole = sum(r.epsilon for r in mine)
        style = "bold" if last else None
        table.add_row(way, name, *map(str, sums), f"{whole:.3f}", style=style, end_section=last)

    for way in dict.fromkeys(record.way for record in records):
        mine = [record for record in records if record.way == way]
        if way in WAYS:
            for kind in dict.fromkeys(record.kind for record in mine):
                add(way, kind, [r for r in mine if r.kind == kind], last=False)
            add(way, "values alone", [r for r in mine if r.values], last=False)
        add(way, "all" if way in WAYS else "values alone", mine, last=True)
    console.print(table)


def main(argv: list[str] | None = None) -> int:
    """Build the table in a throw-away database, ask, print, and write JSON where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks again", description=__doc__)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--environments", type=Path, help="where peers are installed; without it they are left out"
    )
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="probe-again-") as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = name  # the ledger's second record is thrown away as well
        database = folder / "again.duckdb"
        try:
            file = literal(needed(data_dir(), FILE))
        except DataMissing as error:
            print(f"skipped: {error}", file=sys.stderr)
            return 0
        with duckdb.connect(database) as build:
            build.execute(f"CREATE TABLE trips AS {ROWS.format(f'read_parquet({file})')}")
        seed = seed_of(options.seed, "again")
        records = [
            record for way in WAYS for record in ask(database, folder, way, seed, options.questions)
        ]
        for peer in PRICES if options.environments is not None else ():
            where = options.environments.absolute()
            records += priced(peer, where, seed, options.questions)
    show(records, Console())
    if options.json is not None:
        write_records(options.json, "again", options.seed, records, questions=options.questions)
    return 0
