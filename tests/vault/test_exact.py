"""`Exact` gives nothing away by accident, and only the vault's meter opens it."""

from __future__ import annotations

import ast
import copy
import gc
import json
import operator
import pickle
import pprint
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import probe_sql
from probe_sql.errors import InternalError
from probe_sql.vault.exact import Exact, unsealed, wipe

PACKAGE = Path(probe_sql.__file__).parent
VALUE = 777_013


def sealed() -> Exact:
    return Exact([np.array([VALUE, 1], dtype=np.int64)], 2)


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{:>40}".format, pprint.pformat])
def test_it_is_shown_redacted(show: Callable[[object], str]) -> None:
    assert show(sealed()).strip() == "<Exact: redacted>"
    assert str(VALUE) not in repr([sealed(), {"x": sealed()}])


WAYS: list[Callable[[Any], object]] = [
    pickle.dumps, copy.copy, copy.deepcopy, json.dumps, list, tuple, set, dict, sorted, len, bool,
    int, float, complex, bytes, hash, iter, next, reversed, sum, max, np.asarray, np.array,
    np.sum, operator.index, memoryview, vars, round, "%d".__mod__,
    lambda e: e[0], lambda e: e == e, lambda e: e != 1, lambda e: e < e, lambda e: e >= 1,
    lambda e: 1 in e, lambda e: e + 1, lambda e: np.int64(1) + e, lambda e: [*e],
    lambda e: setattr(e, "x", 1), lambda e: delattr(e, "groups"), lambda e: e.__dict__,
    lambda e: e.columns, lambda e: e.__columns,
    lambda e: {e: 1}, lambda e: type("Leak", (type(e),), {})(),
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_it_cannot_be_turned_into_anything(way: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, AttributeError, ValueError)) as caught:
        way(sealed())
    assert str(VALUE) not in str(caught.value)


def test_one_measure_of_the_wrong_shape_is_enough() -> None:
    good = np.array([1, 2], dtype=np.int64)
    for bad in (np.array([1], dtype=np.int64), np.array([1.0, 2.0])):
        with pytest.raises(InternalError, match="wrong shape"):
            Exact([good, bad], 2)


def test_what_is_wiped_is_zero() -> None:
    columns = [np.array([VALUE, 1], dtype=np.int64) for _ in range(2)]
    wipe(columns)
    assert [column.tolist() for column in columns] == [[0, 0], [0, 0]]


def test_its_attributes_are_public_facts() -> None:
    exact = sealed()
    assert dir(exact) == ["close", "groups", "people"]
    assert exact.groups == 2


def test_it_holds_a_copy_that_closing_overwrites() -> None:
    given = np.array([VALUE, 1], dtype=np.int64)
    exact = Exact([given], 2)
    given[0] = 5
    (inside,) = unsealed(exact)
    assert inside.tolist() == [VALUE, 1]
    with exact:
        pass
    assert inside.tolist() == [0, 0]
    exact.close()
    with pytest.raises(InternalError, match="closed"):
        unsealed(exact)
    del inside, given
    assert not [o for o in gc.get_referents(exact) if isinstance(o, np.ndarray)]


@pytest.mark.parametrize(
    "column",
    [np.array([1.5, 2.0]), np.array([1, 2, 3]), np.array([[1, 2]]), np.array([1, 2], np.int32)],
)
def test_only_whole_numbers_for_each_group_are_taken(column: Any) -> None:
    with pytest.raises(InternalError):
        Exact([column], 2)


def mentions(source: str, word: str) -> bool:
    return word in source and any(
        (isinstance(node, ast.alias) and node.name.rpartition(".")[2] == word)
        or (isinstance(node, ast.Name) and node.id == word)
        or (isinstance(node, ast.Attribute) and node.attr == word)
        for node in ast.walk(ast.parse(source))
    )


def test_only_the_meter_unseals() -> None:
    users = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if mentions(file.read_text(encoding="utf-8"), "unsealed")
    }
    assert users == {"vault/meter.py"}
    ranked = {
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if mentions(file.read_text(encoding="utf-8"), "unsealed_ranking")
    }
    assert ranked == {"vault/meter.py"}
    leaks = [
        file.relative_to(PACKAGE).as_posix()
        for file in PACKAGE.rglob("*.py")
        if "_Exact__" in file.read_text(encoding="utf-8")
    ]
    assert leaks == ["vault/exact.py"]
