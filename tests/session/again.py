"""A clinic whose questions are asked again: what the tests of that share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from probe_sql.answer import Answer
from probe_sql.session import Connection
from tests.examples.clinic import POLICY

SELECTION = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500"
WITH_VALUES = "SELECT disease, count(*) AS n FROM patients GROUP BY disease HAVING count(*) > 500"
VALUES = "SELECT ward, count(*) AS n, avg(age) AS years FROM patients GROUP BY ward"
ROOMY = "epsilon = 1000.0\nper_query = 20.0\n"


def rules(folder: Path, reuse: str = "") -> Path:
    """The clinic's policy with room, two analysts, and a section [reuse]."""
    text = re.sub(r"epsilon = 10.0.*\nper_query = 1.0.*\n", ROOMY, POLICY.read_text())
    text = text.replace("maria = 4.0", "maria = 400.0\njo = 400.0")
    path = folder / "clinic.toml"
    path.write_text(f"{text}\n[reuse]\n{reuse}\n")
    return path


def ask(db: Connection, sql: str, **options: Any) -> Answer:
    answer = db.sql(sql, **options)
    assert isinstance(answer, Answer)
    return answer


def cost(db: Connection, sql: str, **options: Any) -> float:
    """What a question costs now. Where that is nothing, and only there, a replay is said to be."""
    before = db.budget.spent
    answer = ask(db, sql, **options)
    charged = db.budget.spent - before
    assert (answer.privacy.replay is not None) == (charged == 0)
    assert answer.privacy.epsilon == pytest.approx(charged)
    return charged
