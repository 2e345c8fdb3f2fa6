"""What values cost here and with other engines, at equal margins, in one run.

Each engine answers the same questions over the same rows. Its price is the least epsilon at which
95 % of its values are within the margin, measured, whatever it says of itself; of this engine the
epsilon that its stated margin takes stands beside it. Each peer runs in an environment of its own,
since their requirements exclude one another; one that cannot be installed is skipped in words.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.engine import seed_of
from benchmarks.provenance import write_records
from benchmarks.seeded import SeededWords
from datasets.common import DataMissing, data_dir, literal, needed
from probe_sql.answer import Answer
from probe_sql.database import Database
from probe_sql.errors import ProbeError
from probe_sql.ledger import Ledger
from probe_sql.policy import parse_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

SEED = 23
CONFIDENCE = 0.95
STEP = 1.05  # prices are found to 5 %
SIZES = (100, 1_000, 10_000)  # of groups whose mean is asked for
FILE = "taxi_green_2020_03.parquet"
ROWS = """
SELECT pu_location_id AS zone, CAST(hour(pickup_datetime) AS INTEGER) AS pickup_hour,
    CAST(greatest(0, least(200, fare_amount)) AS DECIMAL(8, 2)) AS fare,
    hash(pickup_datetime, fare_amount) AS place
FROM {0} WHERE pu_location_id BETWEEN 1 AND 265
"""
POLICY = """
[budget]
epsilon = 1000000.0
[reuse]
answers = "none"
[tables.trips]
unit = "row"
rows_per_group = 5000
[tables.trips.columns]
zone = { keys = { integers = [1, 265] } }
pickup_hour = { keys = { integers = [0, 23] } }
fare = { bounds = [0, 200], scale = 2 }
of_100 = { keys = { integers = [0, 299] } }
of_1000 = { keys = { integers = [0, 99] } }
of_10000 = { keys = { integers = [0, 13] } }
"""
GROUPED = """
SELECT * EXCLUDE (place), CASE WHEN place < 30000 THEN place // 100 END AS of_100,
    CASE WHEN place < 100000 THEN place // 1000 END AS of_1000,
    CASE WHEN place < {whole} THEN place // 10000 END AS of_10000
FROM (SELECT * EXCLUDE (place), row_number() OVER (ORDER BY place, fare) - 1 AS place FROM ({rows}))
"""
SCRIPTS = Path(__file__).parent / "peer_scripts"
PEERS = {
    "OpenDP": (SCRIPTS / "ask_opendp.py", ("opendp==0.16.0",)),
    "SmartNoise": (SCRIPTS / "ask_smartnoise.py", ("smartnoise-sql==1.0.10",)),
}

Run = dict[int, float]
Judge = Callable[[list[Run]], float]


@dataclass(frozen=True, slots=True)
class Question:
    """A value for each group of a key, the margin that is wanted, and its words in our dialect."""

    name: str
    key: str
    value: str
    margin: str
    clause: str
    share: float = 1.0  # of the runs that are asked for: many groups are many repetitions
    rows: int | None = None  # in each group, where that is known


QUESTIONS = (
    Question("trips by zone", "zone", "count(*)", "50 trips", "margin = 50", 0.2),
    Question("fares by zone, summed", "zone", "sum(fare)", "2,000", "margin = 2000", 0.2),
    Question("mean fare by hour", "pickup_hour", "avg(fare)", "0.5", "margin = 0.5"),
    Question("median fare by hour", "pickup_hour", "median(fare)", "1 % of ranks", "margin = '1%'"),
    Question("ten busiest zones", "zone", "count(*)", "99 % of their trips", "", 2.0),
    *(
        Question(
            f"mean fare of {n:,} trips",
            f"of_{n}",
            "avg(fare)",
            "0.5",
            "margin = 0.5",
            {100: 0.1, 1_000: 0.3, 10_000: 2.0}[n],
            n,
        )
        for n in SIZES
    ),
)
TOP = 10


class Engine(Protocol):
    """What is compared: values of one question, for an epsilon in all."""

    name: str

    def release(self, question: int, epsilon: float, runs: int) -> list[Run]: ...


class Refused(Exception):
    """An engine has no way to answer a question."""


@dataclass(frozen=True, slots=True)
class Record:
    """The price of one question by one engine; `stated` is the price of a promised margin."""

    question: str
    margin: str
    engine: str
    epsilon: float | None
    stated: float | None
    covered: float | None
    note: str


class Here:
    """This engine, over a database file."""

    name = "probe_sql"

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def release(self, question: int, epsilon: float, runs: int) -> list[Run]:
        """Release at the whole epsilon, as the peers do."""
        asked = QUESTIONS[question]
        return [self._ask(asked, epsilon=epsilon, spend="all")[0] for _ in range(runs)]

    def promised(self, question: int, runs: int) -> tuple[list[Run], float] | None:
        """Ask with the margin; the epsilon is the largest of the runs."""
        asked = QUESTIONS[question]
        if not asked.clause:
            return None
        hint: Any = {} if asked.rows is None else {"ranges": {"count(fare)": asked.rows}}
        found = [self._ask(asked, asked.clause, epsilon=100.0, **hint) for _ in range(runs)]
        return [run for run, _ in found], max(epsilon for _, epsilon in found)

    def _ask(self, asked: Question, clause: str = "", **options: Any) -> tuple[Run, float]:
        sql = f"SELECT {asked.key}, {asked.value} AS v FROM trips GROUP BY {asked.key}"
        if clause:
            sql += f" WITH ACCURACY ({clause}, confidence = {CONFIDENCE})"
        try:
            answer = self.connection.sql(sql, **options)
        except ProbeError as error:
            raise Refused(str(error).splitlines()[0]) from None
        if not isinstance(answer, Answer) or answer.status != "answered":
            raise Refused("denied")
        rows = answer.df(raw=True)
        values = zip(rows[asked.key], rows["v"], strict=True)
        return {int(key): float(value) for key, value in values}, answer.privacy.epsilon


class Peer:
    """Another engine, in a process and an environment of its own; JSON lines go to and fro."""

    def __init__(self, name: str, process: subprocess.Popen[str], version: str) -> None:
        self.name, self.process, self.version = name, process, version

    def release(self, question: int, epsilon: float, runs: int) -> list[Run]:
        asked = {"question": question, "epsilon": epsilon, "runs": runs}
        reply = _exchange(self.process, asked)
        if "refused" in reply:
            raise Refused(reply["refused"])
        return [{int(key): float(value) for key, value in run} for run in reply["runs"]]


def _exchange(process: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise Refused("the process ended")
    reply: dict[str, Any] = json.loads(line)
    return reply


def environment(name: str, folder: Path, requirements: Sequence[str]) -> Path | None:
    """The Python of an environment that has what a peer needs; None where it cannot be made."""
    home = folder / name
    python = home / "bin" / "python"
    made = home / "made-for"
    wanted = " ".join(requirements)
    if made.exists() and made.read_text() == wanted:
        return python
    venv.create(home, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", *requirements]
    if subprocess.run(install, capture_output=True).returncode:
        return None
    made.write_text(wanted)
    return python


@contextmanager
def started(
    name: str, folder: Path, rows: Path, keys: dict[str, list[int]]
) -> Iterator[Peer | None]:
    """A peer that has read the rows, or None with a message why not."""
    script, requirements = PEERS[name]
    python = environment(name.lower(), folder, requirements)
    if python is None:
        print(
            f"skipped: {name} could not be installed ({', '.join(requirements)})", file=sys.stderr
        )
        yield None
        return
    questions = [
        {"key": q.key, "keys": keys[q.key], "value": q.value, "bounds": [0, 200]} for q in QUESTIONS
    ]
    with subprocess.Popen(
        [str(python), str(script)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            reply = _exchange(process, {"rows": str(rows), "questions": questions})
            yield Peer(name, process, reply["version"])
        except Refused as error:
            print(f"skipped: {name}: {error}", file=sys.stderr)
            yield None
        finally:
            process.kill()


def judges(database: duckdb.DuckDBPyConnection) -> list[Judge]:
    """For each question the share of what was released that is within the margin."""

    def truth(key: str, value: str) -> Run:
        asked = f"SELECT {key}, {value} FROM trips WHERE {key} IS NOT NULL GROUP BY {key}"
        found = database.execute(asked).fetchall()
        return {int(group): float(number) for group, number in found}

    def near(question: Question, margin: float) -> Judge:
        true = truth(question.key, question.value)
        return lambda runs: _share(
            abs(run.get(key, 0.0) - value) <= margin for run in runs for key, value in true.items()
        )

    def middle(runs: list[Run]) -> float:
        return _share(_is_median(fares[key], run[key], 0.01) for run in runs for key in fares)

    def busiest(runs: list[Run]) -> float:
        most = sum(sorted(trips.values())[-TOP:])
        tens = [sorted(run, key=lambda zone: -run[zone])[:TOP] for run in runs]
        return _share(sum(trips.get(zone, 0.0) for zone in ten) >= 0.99 * most for ten in tens)

    trips = truth("zone", "count(*)")
    grouped = database.execute("SELECT pickup_hour, list(fare ORDER BY fare) FROM trips GROUP BY 1")
    fares = {int(hour): [float(fare) for fare in found] for hour, found in grouped.fetchall()}
    counts, sums, means = QUESTIONS[:3]
    grown = [near(question, 0.5) for question in QUESTIONS[5:]]
    return [near(counts, 50), near(sums, 2000), near(means, 0.5), middle, busiest, *grown]


def _share(marks: Iterator[bool]) -> float:
    found = list(marks)
    return sum(found) / len(found)


def _is_median(ordered: list[float], value: float, margin: float) -> bool:
    below = sum(fare < value for fare in ordered) / len(ordered)
    above = sum(fare > value for fare in ordered) / len(ordered)
    return max(below, above) <= 0.5 + margin


def least_epsilon(release: Callable[[float], float], low: float = 1e-4, high: float = 1e4) -> float:
    """The least epsilon, up to a factor of STEP, at which `release` covers as often as wanted."""
    while high / low > STEP:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if release(middle) >= CONFIDENCE else (middle, high)
    return high


def compare(engine: Engine, judge: Sequence[Judge], runs: int) -> list[Record]:
    """The price of each question by one engine."""
    found = []
    for index, question in enumerate(QUESTIONS):
        number = max(1, round(runs * question.share))

        def covered(epsilon: float, index: int = index, number: int = number) -> float:
            return judge[index](engine.release(index, epsilon, number))

        price = stated = promised_cover = None
        note = ""
        try:
            price = least_epsilon(covered)
            if isinstance(engine, Here) and (promised := engine.promised(index, number)):
                stated = promised[1]
                promised_cover = judge[index](promised[0])
        except Refused as error:
            note = str(error)
        told = "refused" if price is None else f"{price:.3g}"
        print(f"{engine.name}, {question.name}: {told}", file=sys.stderr, flush=True)
        found.append(
            Record(question.name, question.margin, engine.name, price, stated, promised_cover, note)
        )
    return found


def show(records: Sequence[Record], console: Console) -> None:
    """One line for each question and engine."""
    table = Table(title="epsilon at equal margins: 95 % of values within it, one row is protected")
    for name in ("question", "margin", "engine"):
        table.add_column(name, no_wrap=True)
    for name in ("epsilon", "as promised", "covered"):
        table.add_column(name, justify="right")
    for r in records:
        numbers = [
            "refused" if r.epsilon is None else f"{r.epsilon:.3g}",
            "" if r.stated is None else f"{r.stated:.3g}",
            "" if r.covered is None else f"{r.covered:.3f}",
        ]
        table.add_row(r.question, r.margin, r.engine, *numbers)
    console.print(table)
    for note in sorted({f"{r.engine}, {r.question}: {r.note}" for r in records if r.note}):
        console.print(note)


def main(argv: list[str] | None = None) -> int:
    """Write the rows for everyone, ask, print, and write JSON where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks peers", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="releases at each epsilon tried")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--environments", type=Path, default=Path(".venv-peers"), help="where peers are installed"
    )
    options = parser.parse_args(argv)
    try:
        file = literal(needed(data_dir(), FILE))
    except DataMissing as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(prefix="probe-peers-") as name:
        folder = Path(name)
        os.environ["XDG_STATE_HOME"] = name  # the ledger's second record is thrown away as well
        database, rows = folder / "peers.duckdb", folder / "trips.csv"
        with duckdb.connect(database) as plain:
            taxis = ROWS.format(f"read_parquet({file})")
            plain.execute(f"CREATE TABLE trips AS {GROUPED.format(rows=taxis, whole=140_000)}")
            plain.execute(f"COPY trips TO {literal(rows)} (HEADER)")
            judge = judges(plain)
        policy = parse_policy(POLICY)
        backend = open_backend(str(database), policy)
        typed = policy.with_types(backend.schemas())
        ledger = Ledger.open(folder / "peers.ledger", budget=typed.budget, identity="peers")
        sampler = Sampler(SeededWords(seed_of(options.seed, "peers")))
        with Connection(Database(backend, typed, ledger, sampler)) as private:
            records = compare(Here(private), judge, options.runs)
        keys = {"zone": list(range(1, 266)), "pickup_hour": list(range(24)),
                "of_100": list(range(300)), "of_1000": list(range(100)),
                "of_10000": list(range(14))}  # fmt: skip
        for peer in PEERS:
            with started(peer, options.environments.absolute(), rows, keys) as engine:
                if engine is not None:
                    records += compare(engine, judge, options.runs)
    order = [question.name for question in QUESTIONS]
    records.sort(key=lambda record: order.index(record.question))
    show(records, Console(width=120))
    if options.json is not None:
        write_records(options.json, "peers", options.seed, records, runs=options.runs)
    return 0
