"""A copy of a tree is that of sqlglot's own: equal, with the same notes, and no node in both."""

from __future__ import annotations

import pytest
from sqlglot import exp

from probe_sql.sql.copying import copied
from probe_sql.sql.text import read
from tests.sql.golden import files
from tests.sql.golden import read as read_golden


@pytest.mark.parametrize("folder", ["accept", "around"])
def test_a_copy_is_what_sqlglot_would_copy(folder: str) -> None:
    for path in files(folder):
        golden = read_golden(path)
        tree = read(golden.body, golden.parameters).tree
        mine, theirs = list(copied(tree).walk()), list(tree.copy().walk())
        assert [described(node) for node in mine] == [described(node) for node in theirs], path


def test_a_copy_can_be_changed_and_the_original_stays() -> None:
    tree = read("SELECT ward FROM stays GROUP BY ward HAVING count(*) > 5 AND avg(age) > 40").tree
    text, notes = tree.sql(), [dict(node.meta) for node in tree.walk()]
    copy = copied(tree)
    assert not {id(node) for node in tree.walk()} & {id(node) for node in copy.walk()}
    for node in list(copy.walk()):
        node.meta["start"] = -1
    copy.args["having"].pop()
    copy.set("expressions", [exp.Star()])
    assert (tree.sql(), [dict(node.meta) for node in tree.walk()]) == (text, notes)


def described(node: exp.Expr) -> tuple[object, ...]:
    """A node, where it hangs and what is noted on it."""
    above = None if node.parent is None else type(node.parent)
    plain = {name: held for name, held in node.args.items() if not _holds_nodes(held)}
    names = list(node.args)
    return type(node), above, node.arg_key, node.index, names, plain, node.meta, node.comments


def _holds_nodes(held: object) -> bool:
    return any(isinstance(each, exp.Expr) for each in (held if isinstance(held, list) else [held]))
