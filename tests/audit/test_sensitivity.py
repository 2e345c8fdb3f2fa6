"""No row raises, and no row changes a measure by more than its sensitivity.

Random queries run on a database of extreme values in which every pair of neighbouring
groups exists, so both claims are read off the exact measures.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import numpy as np
import pytest

from probe_sql.errors import ProbeError
from probe_sql.session import Connection
from probe_sql.vault.condition_slack import condition_slack
from probe_sql.vault.exact import unsealed
from tests.examples import extremes

from .soup import Soup

FULL = int(os.environ.get("AUDIT_SOUP", "600"))
PARTS = 4


def check(database: Connection, sql: str) -> str:
    """Whether a query is refused or answered; asserts both claims where it is answered."""
    try:
        plan = database.plan(sql)
    except ProbeError:
        return "refused"
    exact = database._database.backend.measure(plan.scan)  # must not raise, whatever the rows hold
    values = unsealed(exact)
    less, more = (np.array(side) for side in zip(*extremes.neighbours(), strict=True))
    touched = np.zeros((len(values), len(less)), dtype=bool)
    for index, (column, measure) in enumerate(zip(values, plan.measures, strict=True)):
        change = np.abs(column[more].astype(object) - column[less].astype(object))
        assert int(change.max()) <= measure.delta, (sql, measure.text)
        touched[index] = change > 0
    types = [np.isin(np.arange(len(values)), members) for members in plan.row_types]
    for together in np.unique(touched, axis=1).T:
        assert any(not (together & ~members).any() for members in types), (sql, plan.row_types)
    thresholds = [atom.threshold for atom in plan.atoms]
    if plan.verdict is None and all(isinstance(threshold, int) for threshold in thresholds):
        # The whole condition as one number, which the ladder measures with sensitivity 1.
        task = database._database.task(plan, exact.groups)
        deltas = [measure.delta for measure in plan.measures]
        column = condition_slack(plan.formula, task.atoms, values.__getitem__, deltas)
        assert int(np.abs(column[more] - column[less]).max()) <= 1, sql
    exact.close()
    return "measured"


def run(database: Connection, seed: int, count: int) -> Counter[str]:
    soup = Soup(Random(seed))
    return Counter(check(database, soup.query(1 + number % 3)) for number in range(count))


def test_some_queries(database: Connection) -> None:
    seen = run(database, 20, 40)
    assert seen["measured"] > 12, seen


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_queries(database: Connection, part: int) -> None:
    seen = run(database, 21 + part, FULL // PARTS)
    print(dict(seen))
    assert seen["measured"] > FULL / PARTS / 5, seen
