"""A planted secret never appears: not in answers, errors, reprs, explains, logs or tracebacks."""

from __future__ import annotations

import io
import logging
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from probe_sql.errors import ProbeError
from tests.examples.clinic import QUERY, SECRET, SECRET_NAME, build, seeded

PROBES = [
    QUERY,
    "EXPLAIN " + QUERY,
    "SELECT ward FROM patients GROUP BY ward HAVING max(cost) > 4000000",
    "SELECT ward, sum(cost) AS s FROM patients GROUP BY ward HAVING sum(cost) > 10",
    "SELECT ward FROM patients WHERE disease::INTEGER = 1 GROUP BY ward HAVING count(*) > 1",
    "SELECT ward FROM patients WHERE 1 / (age - 41) > 0 GROUP BY ward HAVING count(*) > 1",
    "SELECT ward FROM patients WHERE cost * 100000000 > 1 GROUP BY ward HAVING count(*) > 1",
    "SELECT ward FROM patients WHERE error(disease) GROUP BY ward HAVING count(*) > 1",
    "SELECT disease FROM patients GROUP BY disease HAVING count(*) < 5 AND min(cost) > 1000",
    "SELECT note FROM patients GROUP BY note HAVING count(*) > 0",
    "SELECT ward FROM patients WHERE note LIKE 'Zyx%' GROUP BY ward HAVING count(*) > 0",
]


def needles() -> list[str]:
    return [SECRET_NAME, str(SECRET), f"{SECRET:,}"]


@pytest.mark.parametrize("sql", PROBES)
def test_the_secret_stays_inside(sql: str, tmp_path: Path) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    seen = []
    try:
        with seeded(build(tmp_path), 11) as db:
            try:
                answer = db.sql(sql, u=0.05)
                seen += [str(answer), repr(answer), str(answer.as_dict())]
            except ProbeError as error:
                seen += [str(error), repr(error), "".join(traceback.format_exception(error))]
            seen += [repr(db), str(db.ledger()), repr(db.budget)]
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(logging.WARNING)
    text = "\n".join([*seen, stream.getvalue()])
    asked = sum(sql.count(needle) for needle in needles())
    assert asked == 0
    for needle in needles():
        assert needle not in text


def test_exact_values_cannot_be_taken_out(tmp_path: Path) -> None:
    with seeded(build(tmp_path), 11) as db:
        plan = db.plan(QUERY)
        exact = db._database.backend.measure(plan.scan)
        for text in (repr(exact), str(exact), f"{exact}"):
            assert "700" not in text
            assert "900" not in text
        attempts: list[Callable[[], object]] = [
            lambda: pickle.dumps(exact),
            lambda: list(exact),
            lambda: exact[0],
            lambda: exact == exact,
        ]
        for attempt in attempts:
            with pytest.raises((TypeError, ProbeError)):
                attempt()
        exact.close()
