"""Fifteen questions that people would ask of the stand-in data, as the engine answers them.

Each is asked by `probe` with fpr, as in the paper, and by `ladder` with fdr, as a query gets it
that says nothing; beside the answers stands the truth, which only a benchmark may know.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.engine import seed_of
from benchmarks.provenance import write_records
from benchmarks.seeded import SeededWords
from datasets.common import DataMissing, data_dir, literal, needed
from probe_sql.answer import Answer
from probe_sql.database import Database
from probe_sql.ledger import Ledger
from probe_sql.policy import parse_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

SEED = 17
EPSILON = 1.0
FILES = (
    "taxi_green_2020_03.parquet",
    "retail_online_uci_2009_2011.parquet",
    "campus_oulad_vle_2013J_2014B.parquet",
)
WAYS: dict[str, dict[str, Any]] = {
    "probe, fpr 0.1": {"algorithm": "probe", "fpr": 0.1},
    "ladder, fdr 0.1": {},
}
# Rows with a key outside of the domain belong to no group, so the truth leaves them out too.
TABLES = """
CREATE TABLE trips AS SELECT pu_location_id AS zone, do_location_id AS destination,
    CAST(pickup_datetime AS DATE) AS day, CAST(hour(pickup_datetime) AS INTEGER) AS hour,
    CAST(greatest(0, least(200, fare_amount)) AS DECIMAL(8, 2)) AS fare,
    CAST(greatest(0, least(50, tip_amount)) AS DECIMAL(8, 2)) AS tip
FROM {0} WHERE pickup_datetime BETWEEN '2020-03-01' AND '2020-03-31 23:59:59'
    AND pu_location_id BETWEEN 1 AND 265 AND do_location_id BETWEEN 1 AND 265;
CREATE TABLE lines AS SELECT stock_code AS product, country, quantity, is_cancel FROM {1};
CREATE TABLE products AS SELECT DISTINCT product AS code FROM lines ORDER BY 1;
CREATE TABLE countries AS SELECT DISTINCT country AS name FROM lines ORDER BY 1;
CREATE TABLE visits AS SELECT site_id AS site, code_module AS module, day_offset AS day, region,
    highest_education AS education, least(sum_click, 50) AS clicks
FROM {2} WHERE day_offset BETWEEN -30 AND 270;
CREATE TABLE sites AS SELECT DISTINCT site AS id FROM visits ORDER BY 1;
CREATE TABLE regions AS SELECT DISTINCT region AS name FROM visits ORDER BY 1;
CREATE TABLE educations AS SELECT DISTINCT education AS name FROM visits ORDER BY 1;
"""
POLICY = """
[budget]
epsilon = 1000000.0
[reuse]
answers = "none"
[tables.trips]
unit = "row"
rows_per_group = 500
[tables.trips.columns]
zone = { keys = { integers = [1, 265] } }
destination = { keys = { integers = [1, 265] } }
day = { keys = { dates = ["2020-03-01", "2020-03-31"] } }
hour = { keys = { integers = [0, 23] } }
fare = { bounds = [0, 200], scale = 2 }
tip = { bounds = [0, 50], scale = 2 }
[tables.lines]
unit = "row"
rows_per_group = 200
[tables.lines.columns]
product = { keys = { table = "products", column = "code" } }
country = { keys = { table = "countries", column = "name" } }
quantity = {}
is_cancel = {}
[tables.visits]
unit = "row"
rows_per_group = 2000
[tables.visits.columns]
site = { keys = { table = "sites", column = "id" } }
module = { keys = ["AAA", "BBB", "CCC", "DDD", "EEE", "FFF", "GGG"] }
day = { keys = { integers = [-30, 270] } }
region = { keys = { table = "regions", column = "name" } }
education = { keys = { table = "educations", column = "name" } }
clicks = { bounds = [0, 50] }
[public.products]
key = ["code"]
[public.countries]
key = ["name"]
[public.sites]
key = ["id"]
[public.regions]
key = ["name"]
[public.educations]
key = ["name"]
"""
QUESTIONS = {
    "busy zones": ("zone", "trips", "count(*) > 1000"),
    "busy pairs of zones": ("zone, destination", "trips", "count(*) > 100"),
    "busy zones by day": ("zone, day", "trips", "count(*) > 200"),
    "busy hours": ("hour", "trips", "count(*) > 10000"),
    "dear days": ("day", "trips", "avg(fare) > 16"),
    "zones that tip": ("zone", "trips", "count(*) > 500 AND avg(tip) > 1"),
    "busy zones by hour": ("zone, hour", "trips", "count(*) > 150"),
    "zones by revenue": ("zone", "trips", "sum(fare) > 50000"),
    "products that sell": ("product", "lines", "count(*) > 1000"),
    "countries that buy": ("country", "lines", "count(*) > 1000"),
    "products bought by the dozen": ("product", "lines", "count_if(quantity >= 12) > 500"),
    "countries that cancel": (
        "country", "lines", "count(*) > 500 AND count_if(is_cancel) > 0.03 * count(*)",
    ),
    "busy days of a module": ("module, day", "visits", "count(*) > 5000"),
    "who clicks much": ("region, education", "visits", "count(*) > 5000 AND avg(clicks) > 3.6"),
    "pages that are read": ("site", "visits", "count(*) > 5000"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Record:
    """One question asked one way: means over the runs that were answered."""

    question: str
    sql: str
    way: str
    runs: int
    denied: int
    true: int
    returned: float | None
    false: float | None
    missed: float | None
    epsilon: float


def ask(database: Path, folder: Path, runs: int, seed: int) -> list[Record]:
    """Ask all questions both ways, `runs` times each."""
    found = []
    policy = parse_policy(POLICY)
    backend = open_backend(str(database), policy)
    typed = policy.with_types(backend.schemas())
    ledger = Ledger.open(folder / "questions.ledger", budget=typed.budget, identity="questions")
    sampler = Sampler(SeededWords(seed))
    with (
        Connection(Database(backend, typed, ledger, sampler)) as private,
        duckdb.connect(database, read_only=True) as plain,
    ):
        for question, (keys, table, having) in QUESTIONS.items():
            sql = f"SELECT {keys} FROM {table} GROUP BY {keys} HAVING {having}"
            true = set(plain.execute(sql).fetchall())
            for way, options in WAYS.items():
                answers = [private.sql(sql, epsilon=EPSILON, **options) for _ in range(runs)]
                found.append(_record(question, sql, way, true, answers))
    return found


def _record(question: str, sql: str, way: str, true: set[Any], answers: Sequence[object]) -> Record:
    given = [answer for answer in answers if isinstance(answer, Answer)]
    lists = [set(answer.rows) for answer in given if answer.status == "answered"]

    def mean(counts: list[int]) -> float | None:
        return fmean(counts) if counts else None

    return Record(
        question,
        sql,
        way,
        len(given),
        len(given) - len(lists),
        len(true),
        mean([len(one) for one in lists]),
        mean([len(one - true) for one in lists]),
        mean([len(true - one) for one in lists]),
        fmean(a.privacy.epsilon for a in given),
    )


def show(records: Sequence[Record], console: Console) -> None:
    """One line for each question and way."""
    table = Table(title=f"fifteen questions, fnr = 0.05, epsilon at most {EPSILON:g}, means")
    table.add_column("question", no_wrap=True)
    table.add_column("way", no_wrap=True)
    for name in ("true", "returned", "false", "missed", "epsilon", "denied"):
        table.add_column(name, justify="right")
    for r in records:
        counts = ["-" if n is None else f"{n:,.1f}" for n in (r.returned, r.false, r.missed)]
        table.add_row(
            r.question, r.way, f"{r.true:,}", *counts, f"{r.epsilon:.3g}", f"{r.denied}/{r.runs}"
        )
    console.print(table)


def main(argv: list[str] | None = None) -> int:
    """Build the tables in a throw-away database, ask, print, and write JSON where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks questions", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="probe-questions-") as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = name  # the ledger's second record is thrown away as well
        database = folder / "questions.duckdb"
        try:
            files = [literal(needed(data_dir(), file)) for file in FILES]
        except DataMissing as error:
            print(f"skipped: {error}", file=sys.stderr)
            return 0
        with duckdb.connect(database) as connection:
            connection.execute(TABLES.format(*(f"read_parquet({file})" for file in files)))
        records = ask(database, folder, options.runs, seed_of(options.seed, "questions"))
    show(records, Console(width=120))
    if options.json is not None:
        write_records(options.json, "questions", options.seed, records, runs=options.runs)
    return 0
