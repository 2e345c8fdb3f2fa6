"""Whatever an algorithm answers comes back as it was: rows, margins, marks, promise and trace."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from probe_sql.again.record import Record, record
from probe_sql.algorithms import NAMES
from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from probe_sql.measuring import Guarantee, Outcome, Peeled, Shown, Step, Wrong
from probe_sql.session import Connection, connect
from tests.examples.clinic import POLICY

from .again import SELECTION, VALUES, WITH_VALUES, ask, cost, rules

TWO = (
    "SELECT disease, count(*) AS n FROM patients GROUP BY disease"
    " HAVING count(*) > 600 OR avg(age) < 10"
)
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (TWO, {"algorithm": name, "margin": 40}) for name in NAMES},
    "marked": (TWO, {"on_exhausted": "mark", "epsilon": 0.3, "margin": 200}),
    "all of epsilon": (TWO, {"spend": "all", "epsilon": 2.0, "margin": 60}),
    "strict": (SELECTION, {"proof": "strict"}),
    "fpr": (SELECTION, {"fpr": 0.1}),
    "each group": (SELECTION, {"fpr": 0.1, "fpr_scope": "group"}),
    "mirrored": (SELECTION, {"primary": "fpr", "algorithm": "probe"}),
    "shares": (WITH_VALUES, {"margin": "10%"}),
    "values": (VALUES, {"margin": 30}),
    "values, shares": ("SELECT ward, count(*) AS n FROM patients GROUP BY ward", {"margin": "9%"}),
    "values, each its own": (VALUES, {"margin": {"n": 40, "years": 3}}),
    "a ratio": ("SELECT ward, sum(age) / sum(cost) AS r FROM patients GROUP BY ward", {}),
    "ranks": ("SELECT ward, median(age) AS m, max(age) AS x FROM patients GROUP BY ward", {}),
    "one total": ("SELECT count(*) AS n FROM patients", {"margin": 50}),
}


def shown(answer: Answer) -> str:
    """All of an answer but what it cost, and that it is a replay."""
    privacy = replace(answer.privacy, loss=None, remaining=0.0, replay=None)  # type: ignore[arg-type]
    notices = tuple(text for text in answer.notices if not text.startswith("This is a replay"))
    facts = (answer.columns, answer.rows, answer.raw, answer.margins, answer.marks, answer.below)
    return repr((*facts, answer.status, answer.confidence, notices, privacy))  # NaN is not NaN


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_comes_back_as_it_was(db: Connection, form: str) -> None:
    sql, options = FORMS[form]
    first = ask(db, sql, **options)
    again = ask(db, sql, **options)
    assert again.privacy.replay is not None
    assert again.privacy.epsilon == 0
    assert shown(again) == shown(first)


ASKED: dict[str, tuple[str, str, list[str]]] = {
    "a column": (
        'SELECT count(*) AS "SECRET" FROM patients',
        "SELECT count(*) AS n FROM patients",
        ["n"],
    ),
    "one of two": (
        'SELECT count(*) AS "SECRET", sum(age) FROM patients',
        "SELECT sum(age) AS years FROM patients",
        ["years"],
    ),
    "in another order": (
        'SELECT count(*) AS "SECRET", sum(age) AS years FROM patients',
        "SELECT sum(age) AS years, count(*) AS n FROM patients",
        ["years", "n"],
    ),
    "an alias of the table": (
        "SELECT avg(SECRET.age) FROM patients SECRET",
        "SELECT avg(p.age) FROM patients p",
        ["avg(p.age)"],
    ),
    "one column twice": (
        'SELECT count(*) AS "SECRET", count(*) AS n FROM patients',
        "SELECT count(*) AS n FROM patients",
        [],
    ),
    "a condition": (
        "SELECT SECRET.ward, avg(SECRET.age) FROM patients SECRET GROUP BY 1"
        " HAVING avg(SECRET.age) > 40",
        "SELECT p.ward, avg(p.age) FROM patients p GROUP BY 1 HAVING avg(p.age) > 40",
        ["Q1"],
    ),
}


@pytest.mark.parametrize("form", ASKED)
def test_nobody_reads_the_names_that_somebody_else_gave(source: Path, form: str) -> None:
    """Names are free text, and the ledger shows a query to its analyst alone."""
    then, now, names = ASKED[form]
    policy = rules(source.parent)
    with connect(source, policy, analyst="maria") as db:
        first = ask(db, then, epsilon=0.5)
        steps = {step.region: step for step in first.privacy.trace}
    with connect(source, policy, analyst="jo") as db:
        again = ask(db, now, epsilon=0.1)
    assert again.privacy.replay is not None
    assert "SECRET" not in f"{again.privacy!r} {again.as_dict()}"
    assert list(dict.fromkeys(step.atom for step in again.privacy.trace)) == names
    for step in again.privacy.trace:
        assert step == replace(steps[step.region], atom=step.atom)


def test_another_process_reads_what_was_written(source: Path) -> None:
    policy = rules(source.parent)
    with connect(source, policy, analyst="maria") as db:
        first = ask(db, VALUES, margin=30)
    with connect(source, policy, analyst="jo") as db:
        assert shown(ask(db, VALUES, margin=30)) == shown(first)


def test_a_text_of_another_format_is_not_read(
    db: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an update that writes answers in another way: the question is asked anew."""
    ask(db, SELECTION)
    monkeypatch.setattr("probe_sql.again.record._FORMAT", 99)
    assert cost(db, SELECTION) > 0
    assert cost(db, SELECTION) == 0


def test_numbers_survive_being_written(db: Connection) -> None:
    """The ends of what noise can be, and margins that there are none of."""
    plan = db.plan(VALUES, margin=30)
    outcome = plan.decided(3)
    figure = plan.figures[0]
    ends = np.array([-(2**63) + 1, 0, 2**63 - 1], dtype=np.int64)
    shown_ = {
        each.output: Shown(
            tuple(ends for _ in each.parts),
            np.array([0.1, np.nan, 1e-300]),
            np.full(3, np.nan),
        )
        for each in plan.figures
    }
    was = record(plan, replace(outcome, shown=shown_))
    read = Record.load(was.dump())
    assert read is not None
    column = read.columns[plan.figure_identity(figure)]
    assert column.shown.parts[0].tolist() == ends.tolist()
    assert repr(column.shown.margins.tolist()) == "[0.1, nan, 1e-300]"
    assert np.isnan(column.shown.together).all()
    assert read.dump() == was.dump()


def test_blocks_are_given_again_one_by_one(db: Connection) -> None:
    """SQL around private blocks: each block is a question, and those that were asked are free."""
    script = (
        "WITH busy AS (SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500),"
        " seen AS (SELECT disease, count(*) AS n FROM patients GROUP BY disease)"
        " SELECT disease, n FROM busy JOIN seen USING (disease) ORDER BY n"
    )
    first = ask(db, script)
    assert first.privacy.epsilon > 0
    again = ask(db, script.replace("ORDER BY n", "ORDER BY n DESC"))
    assert again.privacy.epsilon == 0
    assert again.rows == first.rows[::-1]
    said = [text for text in again.notices if ": This is a replay, free: answered on" in text]
    assert [text.partition(":")[0] for text in said] == ["busy", "seen"]
    assert cost(db, SELECTION) == 0
    other = ask(db, script.replace("> 500", "> 600"))
    assert 0 < other.privacy.epsilon < first.privacy.epsilon


def test_blocks_that_are_kept_need_no_budget(source: Path) -> None:
    script = "SELECT n FROM (SELECT count(*) AS n FROM patients) x"
    with connect(source, POLICY, analyst="maria") as db:
        ask(db, script, epsilon=0.5)
        while db.budget.remaining > 0.2:
            ask(db, "SELECT count(*) FROM patients", epsilon=0.2, fresh=True)
        assert ask(db, script, epsilon=0.5).privacy.epsilon == 0
        with pytest.raises(ProbeError, match="remains"):
            db.sql(script, epsilon=0.5, fresh=True)


def test_a_query_that_pays_for_a_part_is_no_replay(db: Connection) -> None:
    """The block around it is the same question though the one inside is asked anew."""
    script = (
        "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 600"
        " AND disease IN (SELECT disease FROM patients GROUP BY disease HAVING count(*) > {})"
    )
    ask(db, script.format(550))
    again = ask(db, script.format(550))
    assert again.privacy.replay is not None
    assert again.privacy.epsilon == 0
    other = ask(db, script.format(560))  # the same groups
    assert other.privacy.epsilon > 0
    assert other.privacy.replay is None
    assert "free, a replay" not in str(other)


# What a record holds of each; whoever adds a field decides how it is written down.
RECORDED: dict[type, str] = {
    Outcome: "returned status guarantee trace noisy denial certain details shown peeled",
    Peeled: "groups reach ahead",
    Shown: "parts margins together",
    Guarantee: "fnr fpr text fdr kind doubt wrong denies",
    Wrong: "expected error bound",
    Step: "atom phase region beta epsilon groups estimated_fp allowed_fp balance",
}


@pytest.mark.parametrize("kind", RECORDED, ids=lambda kind: kind.__name__)
def test_nothing_of_an_outcome_is_forgotten_unnoticed(kind: type) -> None:
    """Of `details` the entropy is kept, which answers show; the rest is for traces and tests."""
    assert [field.name for field in fields(kind)] == RECORDED[kind].split()
