"""What a problem of a policy says to write is written, and the problem is gone."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from probe_sql.errors import PolicyError, Problem
from probe_sql.policy import parse_policy
from probe_sql.policy.read import _read
from tests.policy.test_periods import PERIODS
from tests.policy.test_read import MISTAKES

# Fixes that are words: nothing in the file says which of several things its owner meant.
WORDS = re.compile(
    r"write (all of them as|keys = {|the header with|{} with any of|\[budget\] with)"
    r"|keep one|remove it from|remove or rename|remove \[|add \[|use one of|name (a|one|each) "
    r"|copy the file here"
)


def keys_of(path: str) -> list[str | int]:
    """The parts of a dotted path, numbers for places in lists."""
    found: list[str | int] = []
    for name, index in re.findall(r'("(?:\\.|[^"\\])*"|[^.\[\]]+)|\[(\d+)\]', path):
        found.append(int(index) if index else name.strip('"'))
    return found


def at(document: Any, keys: list[str | int]) -> Any:
    for key in keys:
        document = document[key]
    return document


def settings(text: str) -> dict[str, Any] | None:
    """The first setting that a text begins with, as TOML reads it."""
    ends = [m.start() for m in re.finditer(r", | or | \(|; |$", text)]
    for end in reversed(ends):
        try:
            return tomllib.loads(text[:end]) or None
        except tomllib.TOMLDecodeError:
            continue
    return None


def written(document: dict[str, Any], problem: Problem) -> bool:
    """Do what the fix says; False where it says something that cannot be done by itself."""
    keys = keys_of(problem.path)
    fix = problem.fix
    if match := re.match(r"did you mean ([\w.]+)\? Write \1 instead of (\S+)$", fix):
        parent = at(document, keys[:-1])
        parent[match[1]] = parent.pop(keys[-1])
        return True
    if match := re.match(r'did you mean "([^"]+)"\?', fix):
        parent, last = at(document, keys[:-1]), keys[-1]
        wrong = re.search(r'"([^"]+)"', problem.what)
        assert wrong is not None
        value = parent[last]
        if isinstance(value, list):
            parent[last] = [match[1] if one == wrong[1] else one for one in value]
        else:
            parent[last] = match[1]
        return True
    if match := re.search(r"(?:^|: )remove (\w+)(?:$|; what)", fix):
        assert match[1] in ("it", keys[-1])
        del at(document, keys[:-1])[keys[-1]]
        return True
    fragment = settings(fix.removeprefix("did you mean ").removeprefix("write ").rstrip("?"))
    if fragment is None:
        return False
    ((name, value),) = fragment.items()
    place = at(document, keys[:-1])
    if name != keys[-1] and name not in place:
        place = at(document, keys)
    if not isinstance(place, dict):
        return False
    place[name] = value
    return True


@pytest.mark.parametrize("text", [m[0] for m in (*MISTAKES, *PERIODS)])
def test_a_fix_that_says_what_to_write_mends_it(text: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    (problem,) = caught.value.problems
    document = tomllib.loads(text)
    if written(document, problem):
        assert not _read(document, "policy")[1], problem.fix
    else:
        assert WORDS.match(problem.fix), problem.fix


def test_a_fix_of_a_problem_that_is_there_still_is_noticed() -> None:
    """The same with a fix that mends nothing, and one that is not understood."""
    text = "budget.epsilon = 0\ntables.t.columns.a = {}"
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    (problem,) = caught.value.problems
    for fix, done in (("write epsilon = -1.0", True), ("raise it", False)):
        document = tomllib.loads(text)
        assert written(document, replace(problem, fix=fix)) is done
        assert _read(document, "policy")[1]
