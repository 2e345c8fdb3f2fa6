"""The server under load: many clients on one budget, killed in the middle, and what the wire adds.

    python -m benchmarks serving --clients 64 --seconds 600

Clients mix EXPLAIN, the catalogue and fresh questions. What they were told in all must be what the
ledger says; then the server is killed while they ask, started again, and the sums are compared
once more. Who was killed before being told was charged all the same. `--seconds 0` leaves the load
out and measures what the wire adds, which wants a quiet machine. `--json FILE` writes the figures.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from probe_sql import connect
from probe_sql.owner import build_demo, record

QUESTION = (
    "SELECT ward FROM patients GROUP BY ward HAVING count(*) > {} WITH ACCURACY (fresh = true)"
)
STATEMENTS = {
    "explain": "EXPLAIN VERBOSE " + QUESTION,
    "replay": "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5000",
    "question": QUESTION,
}
CATALOGUE = "SELECT relname FROM pg_class WHERE relkind = 'r'"
BUDGET = 100_000.0  # so that it lasts


@dataclass
class Told:
    """What clients saw: seconds by kind of statement, what they were charged, what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    charged: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Served:
    """`probe-sql serve` on a clinic in a folder, without login, and its clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "clinic.duckdb"
        self.policy = folder / "clinic.toml"
        self.start()

    def start(self) -> None:
        """Start the server and wait until it listens."""
        words = ["serve", str(self.source), "--port", "0", "--no-login"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "probe_sql", *words], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        found = re.search(r":(\d+),", self.process.stdout.readline())
        assert found is not None
        self.port = int(found[1])

    def connect(self, number: int = 0) -> Any:
        """A client, under a name of its own."""
        import psycopg

        address = f"host=127.0.0.1 port={self.port} user=analyst{number} dbname=clinic"
        return psycopg.connect(address, autocommit=True)

    def memory(self) -> int:
        """The most memory that the server has had, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) // 1024

    def processor(self) -> float:
        """The seconds of processor time that the server has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self, how: int) -> None:
        """Send a signal and wait."""
        self.process.send_signal(how)
        self.process.wait(120)


def client(served: Served, number: int, until: float, told: Told) -> None:
    """Ask until the time is over, or the server is gone."""
    chance = random.Random(number)
    try:
        with served.connect(number) as db:
            said: list[str] = []
            db.add_notice_handler(lambda notice: said.append(notice.message_primary))
            while time.monotonic() < until:
                kind = chance.choice(("explain", "catalogue", "question"))
                question = QUESTION.format(chance.randrange(10, 1000))
                sql = {"explain": f"EXPLAIN {question}", "catalogue": CATALOGUE}.get(kind, question)
                said.clear()
                began = time.monotonic()
                db.execute(sql).fetchall()
                took = time.monotonic() - began
                charges = [float(one.split()[1]) for one in said if one.startswith("epsilon ")]
                with told.lock:
                    told.seconds.setdefault(kind, []).append(took)
                    told.charged += charges
    except Exception as error:
        with told.lock:
            told.failures.append(f"{type(error).__name__}: {error}")


def crowd(served: Served, clients: int, seconds: float, told: Told) -> list[threading.Thread]:
    """Clients that ask for so many seconds."""
    until = time.monotonic() + seconds
    threads = [
        threading.Thread(target=client, args=(served, number, until, told), daemon=True)
        for number in range(clients)
    ]
    for thread in threads:  # not all at once: strangers from one address are limited in number
        thread.start()
        time.sleep(0.05)
    return threads


def answered(served: Served) -> list[float]:
    """What the ledger charged for answers."""
    entries = record(served.source, served.policy)
    return [entry.charged for entry in entries if entry.outcome == "answered"]


def wire(served: Served, times: int) -> dict[str, dict[str, float]]:
    """Milliseconds of the same statements in this process and over the wire, and their ratio.

    Of each the median by the clock, and the processor's time, of client and server together: others
    who keep the machine busy lengthen the one and hardly the other.
    """
    found = {}
    with connect(served.source, served.policy, analyst="analyst0") as here, served.connect() as db:
        for kind, text in STATEMENTS.items():
            took: dict[Any, list[float]] = {here: [], db: []}
            worked = {here: 0.0, db: 0.0}
            for number in range(-5, times):  # in turns, so that both see the same machine
                for where, ask in ((here, here.sql), (db, db.execute)):
                    sql = text.format(5005 + 2 * number + (where is db))
                    began, work = time.perf_counter(), time.process_time()
                    serving = served.processor()
                    told = ask(sql)
                    if kind == "explain" and where is here:
                        str(told)  # the server sends the text
                    if number >= 0:  # the first ones load what is loaded once
                        took[where].append(time.perf_counter() - began)
                        worked[where] += time.process_time() - work
                        worked[where] += served.processor() - serving if where is db else 0.0
            found[kind] = {
                "here": 1000 * statistics.median(took[here]),
                "over the wire": 1000 * statistics.median(took[db]),
                "more": 1000 * (statistics.median(took[db]) - statistics.median(took[here])),
                "times": statistics.median(took[db]) / statistics.median(took[here]),
                "processor here": 1000 * worked[here] / times,
                "processor over the wire": 1000 * worked[db] / times,
            }
    return found


@dataclass
class Figures:
    """What was found, for the table and for JSON; `right` is whether every sum agreed."""

    right: bool = True
    load: dict[str, Any] = field(default_factory=dict)
    wire: dict[str, dict[str, float]] = field(default_factory=dict)
    killed: dict[str, Any] = field(default_factory=dict)


def load(served: Served, clients: int, seconds: float, figures: Figures) -> None:
    """Many clients on one budget; what they were told is what the ledger has."""
    told = Told()
    for thread in crowd(served, clients, seconds, told):
        thread.join()
    for kind, took in sorted(told.seconds.items()):
        middle, worst = statistics.median(took), max(took)
        print(f"{kind}: {len(took)}, median {middle:.3f} s, at most {worst:.2f} s")
        figures.load[kind] = {"count": len(took), "median s": middle, "most s": worst}
    book = answered(served)
    spent, booked = sum(told.charged), sum(book)
    print(f"failures: {len(told.failures)} {told.failures[:2]}; at most {served.memory()} MB")
    print(f"told {len(told.charged)} charges of {spent:.4f}, ledger {len(book)} of {booked:.4f}")
    right = len(told.charged) == len(book) and abs(spent - booked) < 1e-3 * booked
    print("the sums agree" if right else "THE SUMS DIFFER")
    figures.right = figures.right and right
    figures.load |= {
        "clients": clients, "seconds": seconds, "failures": len(told.failures),
        "memory MB": served.memory(), "told": spent, "ledger": booked,
    }  # fmt: skip


def kill(served: Served, clients: int, seconds: float, figures: Figures) -> None:
    """Kill the server while clients ask, start it again: no charge is lost."""
    before, told = answered(served), Told()
    threads = crowd(served, clients, 3600, told)
    time.sleep(seconds)
    served.end(signal.SIGKILL)
    for thread in threads:
        thread.join(60)
    served.start()
    with contextlib.closing(served.connect()) as db:
        db.execute("SHOW probe.remaining").fetchone()
    after = answered(served)[len(before) :]
    entries = record(served.source, served.policy)
    untold = [e for e in entries if e.outcome != "answered"]
    kept = sum(told.charged) <= 1.001 * sum(after) and len(told.charged) <= len(after)
    print(
        f"killed: told {len(told.charged)} charges of {sum(told.charged):.4f}, ledger"
        f" {len(after)} answers of {sum(after):.4f}, and {len(untold)} that were not"
        f" answered, charged {sum(e.charged for e in untold):.4f}"
    )
    print("no charge was lost" if kept else "A CHARGE WAS LOST")
    figures.right = figures.right and kept
    figures.killed = {
        "told": sum(told.charged), "ledger": sum(after), "not answered": len(untold),
        "of those": sum(e.charged for e in untold),
    }  # fmt: skip


def main(words: list[str]) -> int:
    """Run the load, the kill and the comparison; print figures; 1 where a sum is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks serving", description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--json", metavar="FILE", type=Path)
    given = parser.parse_args(words)
    folder = Path(tempfile.mkdtemp(prefix="probe-sql-serving-"))
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    build_demo(folder)
    policy = (folder / "clinic.toml").read_text()
    policy = re.sub(r"(?ms)^\[budget\.analysts\].*?(?=^\[)", "", policy)
    policy = re.sub(r"(?m)^epsilon = .*$", f"epsilon = {BUDGET}\nholds = 1000", policy, count=1)
    (folder / "clinic.toml").write_text(policy)
    for file in folder.iterdir():
        file.chmod(0o700 if file.is_dir() else 0o600)
    served, figures = Served(folder), Figures()
    try:
        if given.seconds:
            load(served, given.clients, given.seconds, figures)
        figures.wire = wire(served, given.times)
        for kind, times in figures.wire.items():
            print(kind + ": " + ", ".join(f"{name} {value:.2f}" for name, value in times.items()))
        if given.seconds:
            kill(served, given.clients, min(15.0, given.seconds), figures)
        if given.json is not None:
            given.json.write_text(json.dumps(asdict(figures), indent=1) + "\n")
        return 0 if figures.right else 1
    finally:
        served.end(signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
