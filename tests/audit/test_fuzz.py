"""Whatever comes in, only `ProbeError`s come out: SQL, options, policies, ledgers, data files."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import duckdb
import pytest

from probe_sql.errors import ProbeError
from probe_sql.ledger import Ledger
from probe_sql.plan.explain import explain
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, load_policy
from probe_sql.scan.engine import DUCKDB
from probe_sql.session import connect
from tests.examples.clinic import POLICY, QUERY, build, seeded

from .bench import in_memory
from .fuzz import corrupted, mutated
from .test_hostile import ATTACKS

SCALE = int(os.environ.get("AUDIT_FUZZ", "4"))  # times the quick number of inputs
ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "grammar").glob("*/*.sql"))
GOOD = [
    QUERY,
    "SELECT ward, count(*) AS n FROM patients WHERE age BETWEEN 1 AND 99 GROUP BY ward HAVING "
    "count(*) > 10 AND avg(cost) < 20 ORDER BY n DESC LIMIT 2 WITH ACCURACY (fnr = 0.1)",
    "WITH c AS (SELECT ward, age FROM patients) SELECT ward FROM c GROUP BY 1 HAVING max(age) > 9",
    "SELECT disease FROM patients JOIN diseases ON name = disease GROUP BY disease "
    "HAVING count(*) > diseases.cap",
    "SELECT date_trunc('week', admitted) FROM patients GROUP BY 1 HAVING "
    "count(*) FILTER (WHERE ward IN ('A', 'B')) / count(*) > 0.25",
]
SEEDS = [
    *GOOD,
    *(attack.sql for attack in ATTACKS),
    *(path.read_text(encoding="utf-8") for path in EXAMPLES),
]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Policy]:
    with seeded(build(tmp_path_factory.mktemp("clinic")), 1) as db:
        yield db.policy


def plans(policy: Policy, seed: int, count: int) -> Counter[str]:
    """Plan mutated texts, and explain those that are accepted."""
    rng = Random(seed)
    seen: Counter[str] = Counter()
    for number in range(count):
        text = rng.choice(SEEDS if number % 2 else GOOD)
        if number % 5 == 4:
            text = corrupted(rng, text.encode()).decode("utf-8", "surrogateescape")
        else:
            text = mutated(rng, text)
        try:
            str(explain(make_plan(text, policy, engine=DUCKDB)))
            seen["planned"] += 1
        except ProbeError as error:
            str(error)
            seen[type(error).__name__] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {text!r}") from error
    return seen


def test_mutated_queries(policy: Policy) -> None:
    seen = plans(policy, 1, 150)
    assert seen["planned"] > 5, seen


@pytest.mark.slow
def test_many_mutated_queries(policy: Policy) -> None:
    print(dict(plans(policy, 2, 500 * SCALE)))


def policies(folder: Path, seed: int, count: int) -> Counter[str]:
    """Read mutated policies."""
    rng = Random(seed)
    files = sorted((ROOT / "tests" / "data").glob("*.toml"))
    texts = [path.read_text() for path in files if not path.name.startswith("muta")]
    path = folder / "policy.toml"
    seen: Counter[str] = Counter()
    for number in range(count):
        text = rng.choice(texts)
        raw = (
            corrupted(rng, text.encode())
            if number % 2
            else mutated(rng, text).encode("utf-8", "surrogatepass")
        )
        path.write_bytes(raw)
        try:
            load_policy(path)
            seen["read"] += 1
        except ProbeError as error:
            str(error)
            seen[type(error).__name__] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {raw!r}") from error
    return seen


def test_mutated_policies(tmp_path: Path) -> None:
    seen = policies(tmp_path, 1, 150)
    assert seen["read"] > 5, seen


@pytest.mark.slow
def test_many_mutated_policies(tmp_path: Path) -> None:
    print(dict(policies(tmp_path, 2, 300 * SCALE)))


def ledgers(folder: Path, seed: int, count: int) -> Counter[str]:
    """Open damaged ledgers: they are refused, or tell no less spent than there was."""
    rng = Random(seed)
    path = build(folder)
    with seeded(path, 1) as db:
        db.sql(QUERY, algorithm="naive", epsilon=1.0)
        spent, budget = db.budget.spent, db.policy.budget
    book = Path(f"{path}.ledger")
    good = book.read_bytes()
    seen: Counter[str] = Counter()
    for _ in range(count):
        bad = corrupted(rng, good)
        for side in folder.glob("*-wal"), folder.glob("*-shm"), folder.glob("*-journal"):
            for file in side:
                file.unlink()
        book.write_bytes(bad)
        try:
            with Ledger.open(book, budget=budget, identity=str(path.resolve())) as ledger:
                state = ledger.state("maria")
                list(ledger.entries())
            seen["opened"] += 1
            assert state.spent >= spent
        except ProbeError as error:
            str(error)
            seen[type(error).__name__] += 1
    return seen


def test_damaged_ledgers() -> None:
    with in_memory() as folder:
        seen = ledgers(folder, 1, 30)
    assert seen["LedgerError"] > 5, seen


@pytest.mark.slow
def test_many_damaged_ledgers() -> None:
    with in_memory() as folder:
        print(dict(ledgers(folder, 2, 60 * SCALE)))


def files(folder: Path, seed: int, count: int) -> Counter[str]:
    """Query damaged Parquet and CSV files and databases."""
    rng = Random(seed)
    original = build(folder)
    with duckdb.connect(str(original)) as db:
        db.execute(f"COPY patients TO '{folder}/patients.parquet'")
        db.execute(f"COPY diseases TO '{folder}/diseases.parquet'")
        db.execute(f"COPY patients TO '{folder}/patients.csv'")
    seen: Counter[str] = Counter()
    for number in range(count):
        kind = ("parquet", "csv", "duckdb")[number % 3]
        name = "clinic.duckdb" if kind == "duckdb" else f"patients.{kind}"
        work = folder / f"work{number}"
        work.mkdir()
        target = work / name
        target.write_bytes(corrupted(rng, (folder / name).read_bytes()))
        source = (
            target
            if kind == "duckdb"
            else {"patients": str(target), "diseases": str(folder / "diseases.parquet")}
        )
        try:
            with connect(source, POLICY, analyst="maria", ledger=work / "book.ledger") as db:
                db.sql(QUERY, algorithm="naive", epsilon=1.0)
            seen["answered"] += 1
        except ProbeError as error:
            str(error)
            seen[type(error).__name__] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} from a damaged {kind}") from error
        shutil.rmtree(work)
    return seen


def test_damaged_files() -> None:
    with in_memory() as folder:
        seen = files(folder, 1, 6)
    assert seen.total() == 6


@pytest.mark.slow
def test_many_damaged_files() -> None:
    with in_memory() as folder:
        print(dict(files(folder, 2, 18 * SCALE)))
