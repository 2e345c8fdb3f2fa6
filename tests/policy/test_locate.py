"""Line numbers of TOML keys, over every way in which TOML lets one write them."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.policy.locate import Lines
from probe_sql.policy.names import bare, dotted, quoted

DOCUMENT = '''\
# a = "not a key"
top = """
[not.a.header]
fake = 1 \\""" "" """
[ a . "b c" ] # = "x"
list = [ 1, # [2]
  "]", { x = 1, y = [
    5] },
]
raw = \'\'\'
x = ''
\'\'\'
d.e = 2020-01-01 10:00:00
"q\\"=]" = { 'k' = "}" , z.z = 1 }
[[many]]
a = 1
[[many]]
[many.sub]
b = 2
[[many.inner]]
[[many.inner]]
c = ""
'''

WHERE = {
    "top": 2,
    "a": 5,
    'a."b c"': 5,
    'a."b c".list': 6,
    'a."b c".list[0]': 6,
    'a."b c".list[1]': 7,
    'a."b c".list[2]': 7,
    'a."b c".list[2].x': 7,
    'a."b c".list[2].y[0]': 8,
    'a."b c".raw': 10,
    'a."b c".d.e': 13,
    'a."b c"."q\\"=]".k': 14,
    'a."b c"."q\\"=]".z.z': 14,
    "many": 15,
    "many[0]": 15,
    "many[0].a": 16,
    "many[1]": 17,
    "many[1].sub": 18,
    "many[1].sub.b": 19,
    "many[1].inner[0]": 20,
    "many[1].inner[1].c": 22,
    # absent keys stand where the nearest table above them does
    "many[0].b": 16 - 1,
    "many[1].sub.x.y": 18,
    'a."b c"."q\\"=]"."\\\\"': 14,
    'a."b c".list[9]': 6,
}


@pytest.mark.parametrize(("where", "line"), WHERE.items())
def test_line(where: str, line: int) -> None:
    tomllib.loads(DOCUMENT)
    assert Lines(DOCUMENT).find(where) == line


def test_what_is_not_there_has_no_line() -> None:
    assert Lines(DOCUMENT).find("nowhere.at.all") is None
    assert Lines(DOCUMENT).find("") is None
    assert Lines(DOCUMENT).find('"no.where"') is None
    assert Lines("").find("a") is None


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4) | st.sampled_from(
    ["a", "b", "unit", '"', "'", "=", "[x]", "#", ".", "\\"]
)
SCALARS = st.one_of(
    st.integers(-9, 9), st.booleans(), st.text(st.sampled_from("ab'\"=[]{}#,\\\n"), max_size=6)
)


def written(value: Any) -> str:
    """A value over several lines where TOML allows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return "[\n" + "".join(f"  {written(item)}, # ]\n" for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{bare(k)} = {written(v)}" for k, v in value.items()) + "}"
    return str(value)


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=4), max_size=4))
def test_every_key_of_any_document_is_found(document: dict[str, dict[str, Any]]) -> None:
    lines: list[str] = []
    expected: dict[str, int] = {}
    for table, pairs in document.items():
        lines += ["# [comment]", f"[{bare(table)}]"]
        expected[dotted(table)] = len(lines)
        for name, value in pairs.items():
            expected[dotted(table, name)] = len(lines) + 1
            if isinstance(value, list):
                first = len(lines) + 2
                for index, item in enumerate(value):
                    expected[dotted(table, name, index)] = first
                    first += written(item).count("\n") + 1
            lines += f"{bare(name)} = {written(value)}".split("\n")
    text = "\n".join(lines)
    assert tomllib.loads(text) == document
    found = Lines(text)
    for where, line in expected.items():
        assert found.find(where) == line
