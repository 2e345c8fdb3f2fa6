"""check judges a sound policy: each advice is given where it applies, and its line helps."""

from __future__ import annotations

import re

import pytest

from probe_sql.loss import odds
from probe_sql.owner import Advice, judge
from probe_sql.owner.judge import names_a_person
from probe_sql.policy import parse_policy
from probe_sql.types import parse_type

SOUND = """\
[budget]
epsilon = 10.0
per_query = 1.0
[tables.visits]
unit = { column = "patient_id", max_rows = 10, max_groups = 5, max_rows_per_group = 4 }
[tables.visits.columns]
patient_id = {}
ward = { keys = ["A", "B"] }
age = { type = "SMALLINT", bounds = [0, 120] }
cost = { type = "DECIMAL(8,2)", bounds = [0, 10000] }
"""
UNIT = SOUND.splitlines()[4]
CHANGES = {
    "budget.epsilon": ("epsilon = 10.0", "epsilon = 2000"),
    "budget.per_query": ("per_query = 1.0", "per_query = 4"),
    "tables.visits.unit": (UNIT, 'unit = "row"'),
    "tables.visits.columns.age.bounds": ("[0, 120]", "[-1e9, 1e9]"),
    "tables.visits.columns.cost.bounds": ("[0, 10000]", "[0, 1_000_000_000]"),
}
CAPS = {
    "no effect": 'unit = { column = "patient_id", max_rows = 90, max_groups = 5, '
    "max_rows_per_group = 4 }",
    "may add": 'unit = { column = "patient_id", max_rows = 5000, null = "drop" }',
}
TYPES = {"visits": {"patient_id": parse_type("BIGINT"), "age": parse_type("SMALLINT")}}


def judged(text: str, *, schemas: bool = False) -> tuple[Advice, ...]:
    return judge(parse_policy(text), TYPES if schemas else None, text)


def applied(text: str, advice: Advice) -> str:
    """The policy with the advice followed: its line for the setting's, its addition below."""
    assert advice.line is not None
    lines = text.splitlines()
    name = advice.write.partition(" = ")[0]
    setting = re.compile(rf"\b{name} = (\{{.*\}}$|\[[^\]]*\]|[^,}}\s]+)")
    lines[advice.line - 1], count = setting.subn(advice.write, lines[advice.line - 1])
    assert count == 1
    if advice.add is not None:
        lines.insert(lines.index(advice.add[0]) + 1, advice.add[1])
    return "\n".join(lines) + "\n"


def test_a_good_policy_needs_no_advice() -> None:
    assert judged(SOUND, schemas=True) == ()


@pytest.mark.parametrize("path", CHANGES)
def test_each_advice_names_its_line_and_following_it_ends_it(path: str) -> None:
    before, after = CHANGES[path]
    text = SOUND.replace(before, after)
    (advice,) = judged(text)
    assert advice.path == path
    assert after in text.splitlines()[(advice.line or 0) - 1]
    assert judged(applied(text, advice)) == ()


def test_a_least_price_above_what_a_query_may_spend() -> None:
    text = SOUND.replace("per_query = 1.0", "per_query = 0.5\nleast = 0.75")
    (advice,) = judged(text)
    assert (advice.path, advice.line) == ("budget.least", 4)
    assert judged(applied(text, advice)) == ()


@pytest.mark.parametrize("what", CAPS)
def test_caps_that_do_nothing_or_too_much(what: str) -> None:
    text = SOUND.replace(UNIT, CAPS[what])
    (advice,) = judged(text)
    assert what in advice.what
    followed = applied(text, advice)
    assert judged(followed) == ()
    assert parse_policy(followed).tables["visits"].unit.null == (
        "drop" if "null" in text else "refuse"
    )


def test_a_person_that_only_the_database_shows_is_seen_and_can_be_listed() -> None:
    text = SOUND.replace(UNIT, 'unit = "row"').replace("patient_id = {}\n", "")
    assert judged(text) == ()
    (advice,) = judged(text, schemas=True)
    assert "patient_id" in advice.what
    assert judged(applied(text, advice), schemas=True) == ()


def test_several_are_told_together_in_the_order_of_the_file() -> None:
    text = SOUND
    for before, after in CHANGES.values():
        text = text.replace(before, after)
    assert [one.path for one in judged(text)] == list(CHANGES)


@pytest.mark.parametrize(
    "name", ["patient_id", "PatientID", "patientid", "user_no", "customerKey", "email", "SSN"]
)
def test_names_of_people(name: str) -> None:
    assert names_a_person(name)


@pytest.mark.parametrize(
    "name", ["age", "ward", "zone_id", "id", "street_number", "patients", "code", "idea", "", "é"]
)
def test_names_of_other_things(name: str) -> None:
    assert not names_a_person(name)


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(0.1, "52 to 48"), (1, "73 to 27"), (4, "98 to 2"), (10, "once in 22,026"), (1e6, "billion")],
)
def test_epsilon_is_told_as_a_bet(epsilon: float, words: str) -> None:
    assert words in odds(epsilon)
