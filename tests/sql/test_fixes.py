"""Every fix that is SQL, an option or a setting is done, and what comes of it is accepted."""

from __future__ import annotations

import re
from functools import cache

import pytest

from probe_sql.errors import ProbeError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.policy.policy import Policy
from probe_sql.session import explain_only
from probe_sql.sql.bind import bind
from probe_sql.sql.blocks import take_apart
from probe_sql.sql.fill import Given, filled
from probe_sql.sql.functions import _HINTS as FUNCTIONS
from probe_sql.sql.functions.aggregates import HINTS as AGGREGATES
from probe_sql.sql.relation import _SELECT_PARTS
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.text import Statement, read
from probe_sql.sql.unsupported import UNSUPPORTED
from tests.examples.hospital import DATA, policy
from tests.sql.fix_case import Case, Granted
from tests.sql.fix_cases import CASES
from tests.sql.fix_words import WORDS
from tests.sql.fixing import places, places_of, watched

TEXT = (DATA / "hospital.toml").read_text(encoding="utf-8")

PLAIN = {"CTE", "SQL", "UTF", "YYYY", "MM", "DD", "HH", "SS"}  # capitals that are no words of SQL


def granted(*edits: Granted | None) -> Policy:
    """The policy with these edits."""
    text = TEXT
    for edit in edits:
        if edit is not None:
            assert text.count(edit.old) == 1, edit.old
            text = text.replace(edit.old, edit.new)
    return policy() if text == TEXT else parse_policy(text)


def ask(case: Case, sql: str, rules: Policy, then: bool = False) -> None:
    """Ask without data; of a block that waits for what was released, fill and bind it."""
    given = dict((case.then_options if then else None) or case.options)
    values = case.parameters if not then or case.then_parameters is None else case.then_parameters
    if case.released is not None:
        released(case, sql, rules)
    elif case.engine is None:
        explain_only(sql, rules, values, **given)
    else:
        plan = make_plan(sql, rules, values, engine=case.engine, **given)
        case.engine.statements(plan.scan)


def released(case: Case, sql: str, rules: Policy) -> None:
    script = take_apart(reshaped(read(sql), rules), rules)
    assert script is not None
    block = next(block for block in script.blocks if block.holes)
    [hole] = block.holes
    one = "LIMIT" in sql or "max(" in sql
    rows = tuple((value,) for value in (case.released or ())[: 1 if one else None])
    select, tables = filled(block, {hole.name: Given((("v", "INTEGER"),), rows)}, script.source)
    bind(Statement(script.source, select, {}, {}, explain=False), rules, tables)


@cache
def refused(index: int) -> ProbeError:
    case = CASES[index]
    with watched(), pytest.raises(ProbeError) as caught:
        ask(case, case.sql, granted(case.base))
    return caught.value


def follows(fix: str, written: str) -> bool:
    """Whether a word of SQL of one way of a fix stands in what was written, if it has any."""
    said = set(re.findall(r"[A-Z_]{2,}", written.upper()))
    for way in re.split(r"; or |, or |; | or ", fix):
        words = set(re.findall(r"\b[A-Z_]{2,}\b", way)) - PLAIN
        if not words or words & said or re.search(r"\b(leave|without|two queries)\b", way):
            return True
    return False


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: CASES[i].sql[:60])
def test_a_fix_that_is_done_is_accepted(index: int) -> None:
    case, error = CASES[index], refused(index)
    assert error.fix, "there is no fix to do"
    if case.then is None:
        repaired = error.repaired()
        assert repaired is not None, error
        ask(case, repaired, granted(case.base), then=True)
    elif isinstance(case.then, Granted):
        ask(case, case.then.sql or case.sql, granted(case.base, case.then), then=True)
    else:
        assert follows(error.fix, case.then), error.fix
        ask(case, case.then, granted(case.base), then=True)


def test_every_place_that_builds_a_fix_is_reached() -> None:
    """A new fix needs a case that does it, or a row of WORDS that says why none can."""
    reached = {key for index in range(len(CASES)) for key in places_of(refused(index))}
    built = {place.key for place in places()}
    assert not built - reached - set(WORDS), sorted(built - reached - set(WORDS))
    assert not set(WORDS) - built, "these places are gone"
    assert not set(WORDS) & reached, "these are done by a case"


def test_every_row_of_the_tables_of_fixes_is_done() -> None:
    said = {refused(index).fix for index in range(len(CASES))}
    rows = {fix for _, _, fix in UNSUPPORTED.values() if fix} | {*FUNCTIONS.values()}
    rows |= {*AGGREGATES.values()} | {fix for _, fix in _SELECT_PARTS.values()}
    assert not rows - said


def test_a_fix_that_is_not_true_is_seen() -> None:
    """The negative control: what is proposed is not accepted."""
    case = next(case for case in CASES if case.then is None)
    error = refused(CASES.index(case))
    with pytest.raises(ProbeError):
        ask(case, str(error.repaired()).replace("stays", "nowhere"), policy())
