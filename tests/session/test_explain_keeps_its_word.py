"""EXPLAIN and the answer say the same: promise, first draws, and the most that is charged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.seeded import SeededWords
from probe_sql import faults, walk
from probe_sql.algorithms import NAMES
from probe_sql.answer import Answer
from probe_sql.database import Database
from probe_sql.ledger import Ledger
from probe_sql.plan.explain import Explanation
from probe_sql.policy import parse_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import Sampler
from tests.examples.policies import ROW, one_table, people

COLUMNS = """
ward = { keys = { integers = [0, 39] } }
person = {}
age = { bounds = [0, 120] }
"""
UNITS = {"row": ROW, "person": people("person", 6, 3, 3)}
# Half of the groups far above the thresholds and half far below: nothing is denied, no leaf of
# an AND is skipped, and the first look is not always the last.
CONDITION = "count(*) > 100 AND (avg(age) > 50 OR count(DISTINCT person) > 90)"
ALONE = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 100"
BARE = f"SELECT ward FROM visits GROUP BY ward HAVING {CONDITION}"
SHOWN = f"SELECT ward, count(*) FROM visits GROUP BY ward HAVING {CONDITION}"
# Two of three: some atom stands twice in every form of it.
REPEATED = (
    "SELECT ward FROM visits GROUP BY ward HAVING (count(*) > 100 AND avg(age) > 50) OR "
    "(count(*) > 100 AND count_if(age > 60) > 90) OR (avg(age) > 50 AND count_if(age > 60) > 90)"
)
WARDS = 40
EASY: dict[str, Any] = {"epsilon": 900.0, "steps": 1, "u": 0.1}
RATES = {"fnr": {"fnr": 0.02, "fpr": 0.3}, "fpr": {"fnr": 0.3, "fpr": 0.02}}


@cache
def visits() -> pa.Table:
    """190 elderly people in every second ward, 3 children in the others."""
    rows = [
        (1000 * ward + number, ward, 3 if ward % 2 else 80)
        for ward in range(WARDS)
        for number in range(3 if ward % 2 else 190)
    ]
    names = ("person", "ward", "age")
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


class Noting(VaultMeter):
    """A meter that notes the loss after every draw."""

    def __init__(self, losses: list[float], *arguments: Any) -> None:
        super().__init__(*arguments)
        losses.clear()

        def note(point: str) -> None:
            if point == "vault.draw.after":
                losses.append(self.loss.epsilon)

        faults.install(note)


class Watched(Connection):
    """A connection whose last query's losses are known, draw by draw."""

    losses: list[float]


Forms = Mapping[str, tuple[str, ...]]
Opened = Callable[[str], AbstractContextManager[Watched]]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """Connections to one database for each unit, every one with noise from the same seed."""
    databases: dict[str, Database] = {}

    def open_database(unit: str) -> Database:
        text = one_table(
            "visits", COLUMNS, unit=UNITS[unit], rows=200, epsilon=1e6, per_query=1000.0
        )
        policy = parse_policy(text)
        backend = open_backend({"visits": visits()}, policy, threads=1)
        typed = policy.with_types(backend.schemas())
        path = tmp_path_factory.mktemp(unit) / "a.ledger"
        ledger = Ledger.open(path, budget=typed.budget, identity="a")
        return Database(backend, typed, ledger, Sampler(SeededWords(8)))

    @contextmanager
    def watched(unit: str) -> Iterator[Watched]:
        if unit not in databases:
            databases[unit] = open_database(unit)
        db = Watched(replace(databases[unit], sampler=Sampler(SeededWords(8))))
        with pytest.MonkeyPatch.context() as patch:
            db.losses = []
            patch.setattr(walk, "VaultMeter", partial(Noting, db.losses))
            try:
                yield db
            finally:
                faults.install(None)

    yield watched
    for database in databases.values():
        database.close()


def both(db: Watched, sql: str, **options: Any) -> tuple[Explanation, Answer]:
    explained, answer = db.explain(sql, **options), db.sql(sql, fresh=True, **options)
    assert isinstance(explained, Explanation)
    assert isinstance(answer, Answer)
    assert answer.status == "answered", str(answer)
    return explained, answer


def differences(explained: Explanation, answer: Answer, losses: list[float]) -> list[str]:
    """What EXPLAIN said otherwise than it came."""
    privacy, plan = answer.privacy, explained.plan
    first = [step for step in privacy.trace if step.phase == 1]
    named = {atom.name: draw for atom, draw in zip(plan.atoms, explained.draws, strict=True)}
    found, seen = [], set[str]()
    if explained.guarantee != privacy.guarantee:
        found.append(f"promise: {explained.guarantee!r}, not {privacy.guarantee!r}")
    for step in first:
        # One number for the whole condition is shown with every atom of it.
        names = [name for name in step.atom.split(", ") if name in named] or list(named)
        draws = [named[name] for name in names]
        seen |= set(names)
        expected = (max(draw.beta for draw in draws), max(draw.epsilon for draw in draws))
        if expected != pytest.approx((step.beta, step.epsilon), rel=1e-9):
            found.append(f"beta, epsilon: {expected}, not {(step.beta, step.epsilon)}")
        if len(draws) == 1 and draws[0].region != step.region:
            found.append(f"u: {draws[0].region}, not {step.region}")
    spent, told = losses[len(first) - 1], explained.epsilon_first
    # Where the answer no longer hangs on an atom, it is not drawn, and less is lost.
    whole = all(step.groups == WARDS for step in first) and seen == set(named)
    if spent > told * (1 + 1e-9) or (whole and spent < told * (1 - 1e-9)):
        found.append(f"first epsilon: {told}, not {spent}")
    if privacy.epsilon > explained.epsilon_worst * (1 + 1e-12):
        found.append(f"worst epsilon: {explained.epsilon_worst}, below {privacy.epsilon}")
    return found


CELLS = list(product(NAMES, ("fnr", "fpr"), ("rate", "group"), UNITS))
ASKED = {"row": (ALONE, REPEATED), "person": (BARE, SHOWN)}
OTHERS = {"row": ASKED["person"], "person": ASKED["row"]}
FORMS = [ASKED, pytest.param(OTHERS, marks=pytest.mark.slow)]  # by unit
EACH_FORM = pytest.mark.parametrize("forms", FORMS, ids=["forms", "others"])


@EACH_FORM
@pytest.mark.parametrize(("algorithm", "primary", "scope", "unit"), CELLS)
def test_explain_promises_and_prices_what_the_answer_does(
    opened: Opened, algorithm: str, primary: str, scope: str, unit: str, forms: Forms
) -> None:
    asked = {**EASY, **RATES[primary], "primary": primary, "fpr_scope": scope}
    asked["algorithm"] = algorithm
    with opened(unit) as db:
        for sql in forms[unit]:
            assert differences(*both(db, sql, **asked), db.losses) == []


@pytest.mark.parametrize("unit", UNITS)
def test_the_first_of_several_steps_is_told(opened: Opened, unit: str) -> None:
    """How many steps an atom takes is decided by noise: fewer leave more for the atoms after."""
    asked = {**EASY, **RATES["fnr"], "algorithm": "probe-ent", "steps": 3}
    with opened(unit) as db:
        explained, answer = both(db, BARE, **asked)
    first, *later = (step for step in answer.privacy.trace if step.phase == 1)
    named = {
        atom.name: draw for atom, draw in zip(explained.plan.atoms, explained.draws, strict=True)
    }
    expected = named[first.atom]
    assert expected.region == first.region
    assert expected.beta == pytest.approx(first.beta, rel=1e-12)
    assert expected.epsilon == pytest.approx(first.epsilon, rel=1e-12)
    assert later
    for step in later:
        assert named[step.atom].region == step.region
        assert step.epsilon <= named[step.atom].epsilon * (1 + 1e-12)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("primary", ["fnr", "fpr"])
def test_values_beside_a_condition_that_needs_no_draw_are_priced(
    opened: Opened, unit: str, primary: str
) -> None:
    sql = "SELECT ward, sum(age) FROM visits GROUP BY ward HAVING count(*) >= 0"
    with opened(unit) as db:
        # A bound that no draw could keep does not matter where nothing is drawn for it.
        explained, answer = both(db, sql, margin=5000, primary=primary, fpr=0.9)
    assert explained.guarantee == answer.privacy.guarantee
    assert 0 < explained.epsilon_first <= answer.privacy.epsilon
    assert 0 < answer.privacy.epsilon == pytest.approx(explained.epsilon_worst)


# --- beyond the paper: fdr, strict proofs, marks, all that may be spent ----------------------

BEYOND: dict[str, dict[str, Any]] = {
    "fdr": {"fnr": 0.02, "fdr": 0.3},
    "fdr and fpr": {"fnr": 0.02, "fdr": 0.3, "fpr": 0.3},
    "strict": {"fnr": 0.02, "fdr": 0.3, "proof": "strict"},
    "all": {"fnr": 0.02, "spend": "all"},
}


@EACH_FORM
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("case", BEYOND)
def test_explain_keeps_its_word_beyond_the_paper(
    opened: Opened, case: str, unit: str, forms: Forms
) -> None:
    asked = {"epsilon": 900.0, **BEYOND[case]}
    with opened(unit) as db:
        for sql in forms[unit]:
            explained, answer = both(db, sql, **asked)
            assert differences(explained, answer, db.losses) == []
            if case == "all":  # nothing is left over, but for what rounding takes
                assert answer.privacy.epsilon > 0.999 * explained.epsilon_worst


@pytest.mark.parametrize("epsilon", [900.0, 0.01])
def test_an_answer_that_marks_keeps_one_of_the_two_promises(opened: Opened, epsilon: float) -> None:
    asked = {"fnr": 0.02, "fdr": 0.3, "on_exhausted": "mark", "epsilon": epsilon}
    with opened("row") as db:
        explained, answer = both(db, BARE, **asked)
    first, last = explained.guarantee.split(" Or, if the budget ends first: ")
    assert answer.privacy.guarantee == (first if epsilon > 1 else last)


# --- values without a condition --------------------------------------------------------------

VALUES: dict[str, dict[str, Any]] = {
    "margins": {"margin": 40.0},
    "a share": {"margin": "20% or 50 rows"},
    "all": {"spend": "all", "epsilon": 3.0},
    "unasked": {},
}
FIGURES = "count(*), sum(age), avg(age), count_if(age > 60) / count(*)"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("case", VALUES)
def test_explain_prices_values_and_says_their_margins(opened: Opened, case: str, unit: str) -> None:
    with opened(unit) as db:
        for columns in ("count(*)", "count(*), sum(age)", FIGURES):
            sql = f"SELECT ward, {columns} FROM visits GROUP BY ward"
            explained, answer = both(db, sql, **{"epsilon": 900.0, **VALUES[case]})
            privacy = answer.privacy
            assert explained.guarantee == privacy.guarantee
            assert privacy.epsilon <= explained.epsilon_worst * (1 + 1e-9)
            told = {value.name: value for value in explained.values}
            assert list(told) == list(answer.columns[1:])
            for step in privacy.trace:
                assert told[step.atom].epsilon == step.epsilon
                expected = None if math.isnan(step.region) else step.region
                assert told[step.atom].margin == expected
            if all(value.share is None for value in told.values()):
                assert db.losses[-1] == pytest.approx(explained.epsilon_first, rel=1e-9)
                assert privacy.epsilon == pytest.approx(explained.epsilon_worst, rel=1e-9)
            for column, value in enumerate(told.values(), 1):
                if value.rows is None and value.margin is not None and value.kind != "share":
                    shown = [margins[column] for margins in answer.margins]
                    assert shown == pytest.approx([value.margin] * WARDS), (columns, value)
