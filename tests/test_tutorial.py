"""Every query of the tutorial is asked as it stands, and the answer is one to act on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.seeded import SeededWords
from probe_sql.answer.table import BELOW, WHY_BELOW
from probe_sql.answer.values import Answer
from probe_sql.database import Database, ledger_path
from probe_sql.ledger import Ledger
from probe_sql.owner import build_demo
from probe_sql.plan.explain import Explanation
from probe_sql.policy import load_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.md"
QUERIES = re.findall(r"^```sql\n(.*?)^```$", TUTORIAL.read_text("utf-8"), re.MULTILINE | re.DOTALL)
# What the rows of the demo say, group by group.
TRUE: tuple[set[str] | None, ...] = (
    None,  # values: every group is listed
    None,
    {"influenza", "shingles", "viral pneumonia"},
    {"A", "B", "C", "D"},
    {
        "influenza", "shingles", "viral pneumonia", "bronchiolitis", "croup", "rotavirus",
        "hand, foot and mouth", "chickenpox", "common cold", "norovirus", "mononucleosis",
        "hepatitis A", "hepatitis B", "whooping cough", "scarlet fever", "Lyme disease",
    },
    set[str](),
)  # fmt: skip


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


def test_every_query_is_answered_and_mostly_right(clinic: Path, tmp_path: Path) -> None:
    asked = [query for query in QUERIES if not query.startswith("EXPLAIN")]
    missed = wrong = total = 0
    for seed in range(2):
        with seeded(clinic, tmp_path, seed) as db:
            for query, true in zip(asked, TRUE, strict=True):
                answer = db.sql(query)
                assert isinstance(answer, Answer)
                assert answer.status == "answered", (query, seed, getattr(answer, "reason", ""))
                if true is None:
                    assert all(margin is not None for line in answer.margins for margin in line[1:])
                    continue
                listed = {row[0] for row in answer.rows}
                missed += len(true - listed)
                wrong += len(listed - true)
                total += len(listed)
    assert missed <= 0.1 * total
    assert wrong <= 0.15 * total  # on average over the noise at most 0.10


def test_the_plan_of_the_tutorial_is_free(clinic: Path, tmp_path: Path) -> None:
    (query,) = [query for query in QUERIES if query.startswith("EXPLAIN")]
    with seeded(clinic, tmp_path, 0) as db:
        assert isinstance(db.sql(query), Explanation)
        assert db.budget.spent == 0


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
