"""The tutorial is what the shell shows, and its queries are answered so that one can act on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from benchmarks.seeded import SeededWords
from probe_sql.answer.table import BELOW, WHY_BELOW
from probe_sql.answer.values import Answer
from probe_sql.database import Database, ledger_path
from probe_sql.errors import Refused
from probe_sql.ledger import Ledger
from probe_sql.owner import DEMO_QUERY, build_demo
from probe_sql.plan.explain import Explanation
from probe_sql.policy import load_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler
from tests import readme

pytestmark = pytest.mark.service  # sessions of the shell

PARTS = readme.blocks("console", readme.TUTORIAL)
QUERIES = [text for part in PARTS for text in readme.inputs(part) if not text.startswith(".")]
REFUSED = "SELECT disease FROM patients GROUP BY disease HAVING mode(age) > 40;"
TOO_LITTLE = "epsilon = 0.003"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_demo(tmp_path_factory.mktemp("tutorial")).database


def seeded(database: Path, folder: Path, seed: int) -> Connection:
    """The demo with a ledger of its own, for an analyst who may ask all of it."""
    policy = load_policy(database.with_suffix(".toml"))
    book, identity = ledger_path(database, policy, folder / f"{seed}.ledger")
    backend = open_backend(database, policy)
    typed = policy.with_types(backend.schemas())
    ledger = Ledger.open(book, budget=typed.budget, identity=identity)
    return Connection(Database(backend, typed, ledger, Sampler(SeededWords(seed))), "maria")


def test_the_session_is_what_the_shell_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(readme.WIDTH))
    shown = readme.replay(PARTS, tmp_path)
    assert shown == PARTS, "run `python -m tests.readme` and read what it changes"


def test_every_query_is_answered_and_mostly_right(clinic: Path, tmp_path: Path) -> None:
    missed = wrong = total = off = values = 0
    with duckdb.connect(clinic, read_only=True) as plain:
        exact = [_exact(plain, query) for query in QUERIES]
    for seed in range(2):
        with seeded(clinic, tmp_path, seed) as db:
            for query, true in zip(QUERIES, exact, strict=True):
                if true is None:
                    continue
                answer = db.sql(query)
                assert isinstance(answer, Answer)
                assert answer.status == "answered", (query, seed, getattr(answer, "reason", ""))
                keys = {row[0]: row for row in answer.rows}
                if "HAVING" in query:
                    assert keys.keys() & true.keys(), query
                    missed += len(true.keys() - keys.keys())
                    wrong += len(keys.keys() - true.keys())
                    total += len(keys)
                for key, margins in zip(keys, answer.margins, strict=True):
                    for place, margin in enumerate(margins):
                        if margin is not None and key in true:
                            values += 1
                            off += abs(keys[key][place] - float(true[key][place])) > margin
    assert missed <= 0.1 * total
    assert wrong <= 0.15 * total  # on average over the noise at most 0.10
    assert off <= 0.1 * values


def _exact(plain: duckdb.DuckDBPyConnection, query: str) -> dict[Any, tuple[Any, ...]] | None:
    """The exact rows of a query, by their first column; None where none are shown of it."""
    if query.startswith("EXPLAIN") or query == REFUSED or TOO_LITTLE in query:
        return None
    rows = plain.sql(query.partition("WITH ACCURACY")[0].rstrip("; \n")).fetchall()
    return {row[0]: row for row in rows}


def test_what_is_refused_costs_nothing(clinic: Path, tmp_path: Path) -> None:
    with seeded(clinic, tmp_path, 0) as db:
        assert REFUSED in QUERIES
        with pytest.raises(Refused, match="mode is not supported"):
            db.sql(REFUSED)
        assert db.budget.spent == 0


def test_a_little_epsilon_is_denied(clinic: Path, tmp_path: Path) -> None:
    (query,) = [query for query in QUERIES if TOO_LITTLE in query]
    with seeded(clinic, tmp_path, 0) as db:
        denied = db.sql(query)
        assert isinstance(denied, Answer)
        assert denied.status == "denied"


def test_the_plan_of_the_tutorial_is_free(clinic: Path, tmp_path: Path) -> None:
    (query,) = [query for query in QUERIES if query.startswith("EXPLAIN")]
    with seeded(clinic, tmp_path, 0) as db:
        assert isinstance(db.sql(query), Explanation)
        assert db.budget.spent == 0


def test_the_query_of_the_readme_behaves(clinic: Path, tmp_path: Path) -> None:
    """Asked anew it is answered each time, lists the same groups, and costs about the same."""
    answers = []
    for seed in range(8):
        with seeded(clinic, tmp_path, seed) as db:
            answer = db.sql(DEMO_QUERY)
        assert isinstance(answer, Answer)
        answers.append(answer)
    assert {answer.status for answer in answers} == {"answered"}
    assert len({tuple(row[0] for row in answer.rows) for answer in answers}) == 1
    costs = [answer.privacy.epsilon for answer in answers]
    assert max(costs) < 0.4
    assert max(costs) < 4 * min(costs)


def test_a_group_on_the_line_stops_nobody_and_a_denial_names_what_works(
    clinic: Path, tmp_path: Path
) -> None:
    query = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 3300"  # one has 3,300
    with seeded(clinic, tmp_path, 0) as db:
        given = db.sql(query)
        assert isinstance(given, Answer)
        assert given.status == "answered"
        assert given.privacy.epsilon < 0.5
        denied = db.sql(query, epsilon=0.003, fresh=True)
        assert isinstance(denied, Answer)
        assert denied.status == "denied"
        assert "on_exhausted = 'mark'" in str(denied)
        marked = db.sql(query, epsilon=0.01, fresh=True, on_exhausted="mark")
        assert isinstance(marked, Answer)
        marks = {row[0]: mark for row, mark in zip(marked.rows, marked.marks, strict=True)}
        assert marks["common cold"] == "certain"
        assert marks.get("hepatitis B") != "certain"


@pytest.mark.parametrize("options", [{}, {"margin": 60}, {"margin": "5%"}], ids=str)
def test_a_value_below_the_line_is_explained_where_it_stands(
    clinic: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    query = "SELECT disease, count(*) AS n FROM patients GROUP BY disease HAVING count(*) > 3300"
    seen = False
    for seed in range(4):
        with seeded(clinic, tmp_path, seed) as db:
            answer = db.sql(query, on_exhausted="mark", **options)
        assert isinstance(answer, Answer)
        assert list(answer.below) == [row[1] <= 3300 for row in answer.rows]
        said = WHY_BELOW in str(answer), WHY_BELOW in answer._repr_html_()
        assert said == (any(answer.below),) * 2
        assert ("below" in answer.as_dict()) == any(answer.below)
        for line, under in zip(str(answer).splitlines()[2:], answer.below, strict=False):
            assert line.endswith(f", {BELOW}") == under
        seen |= any(answer.below)
    assert seen
