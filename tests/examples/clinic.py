"""A small clinic on disk for tests: real DuckDB file, real policy, known counts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from benchmarks.seeded import SeededWords
from probe_sql.database import Database, ledger_path
from probe_sql.ledger import Ledger
from probe_sql.policy import Reuse, load_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

POLICY = Path(__file__).parent.parent / "data" / "clinic.toml"
SECRET = 4_141_592  # a cost that appears once, and must never appear anywhere else
SECRET_NAME = "Zyxomma-Quibbleworth"
# disease -> (viral cases, age)
CASES = {"flu": (900, 30), "gout": (20, 50), "polio": (400, 3), "shingles": (700, 80)}

QUERY = """
SELECT disease, count(*) AS cases FROM patients WHERE disease_type = 'viral' GROUP BY disease
HAVING (count(*) > 500 AND avg(age) > 65) OR (count(*) > 200 AND avg(age) < 5)
"""


def build(folder: Path) -> Path:
    """Create clinic.duckdb in `folder`; returns its path."""
    path = folder / "clinic.duckdb"
    path.write_bytes(_built())
    return path


@cache
def _built() -> bytes:
    """The file, made once in a process."""
    with TemporaryDirectory() as folder, duckdb.connect(f"{folder}/clinic.duckdb") as db:
        db.execute("CREATE TABLE diseases (name VARCHAR, cap INTEGER)")
        db.executemany("INSERT INTO diseases VALUES (?, 500)", [[name] for name in CASES])
        db.execute("INSERT INTO diseases VALUES ('unheard of', NULL)")
        db.execute(
            "CREATE TABLE patients (disease VARCHAR, admitted DATE, ward VARCHAR, age INTEGER, "
            "cost DECIMAL(12,2), disease_type VARCHAR, note VARCHAR)"
        )
        for name, (count, age) in CASES.items():
            db.execute(
                "INSERT INTO patients SELECT ?, DATE '2020-03-01' + (i % 14)::INT, "
                "['A','B','C'][1 + i % 3], ?, 10 + i % 50, 'viral', 'n' FROM range(?) t(i)",
                [name, age, count],
            )
        db.execute(
            "INSERT INTO patients VALUES (?, DATE '2020-03-02', 'A', 41, ?, 'viral', ?), "
            "(NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
            [SECRET_NAME, SECRET, SECRET_NAME],
        )
        db.close()
        return Path(folder, "clinic.duckdb").read_bytes()


def seeded(
    path: Path, seed: int, analyst: str | None = "maria", *, again: bool = False
) -> Connection:
    """A connection with a seeded sampler: for tests, by the constructor and no other way.

    Every question is drawn anew, unless answers are to be given `again`.
    """
    policy = replace(load_policy(POLICY), reuse=Reuse("shared" if again else "none"))
    book, identity = ledger_path(path, policy, None)
    backend = open_backend(path, policy)
    typed = policy.with_types(backend.schemas())
    ledger = Ledger.open(book, budget=typed.budget, identity=identity)
    return Connection(
        Database(backend, typed, ledger, Sampler(SeededWords(seed))), analyst, owner=True
    )
