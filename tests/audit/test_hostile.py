"""Hostile queries: each meets its refusal for free, or is charged; no secret comes out."""

from __future__ import annotations

import io
import logging
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from probe_sql import Answer, errors
from probe_sql.errors import LedgerError, ProbeError
from probe_sql.policy import load_policy
from probe_sql.session import Connection
from probe_sql.sql.blocks import take_apart
from probe_sql.sql.outer import render_outer
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.text import read
from tests.examples.clinic import POLICY, SECRET, SECRET_NAME, build, seeded

HERE = Path(__file__).parent / "hostile"
RULES = load_policy(POLICY)


@dataclass(frozen=True, slots=True)
class Attack:
    """A query, the error it must raise and a part of the error's message."""

    where: str
    error: str
    says: str
    sql: str


def corpus() -> list[Attack]:
    """Every attack of the files beside this one."""
    found = []
    for path in sorted(HERE.glob("*.sql")):
        blocks = re.split(r"^--! ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
        for number, block in enumerate(blocks, 1):
            head, _, sql = block.partition("\n")
            error, _, says = head.partition(": ")
            found.append(Attack(f"{path.stem}-{number}", error, says, sql.removesuffix("\n")))
    return found


ATTACKS = corpus()
AROUND = "SELECT ward FROM patients {} GROUP BY ward HAVING count(*) > 0"
LONG: list[tuple[str, str, tuple[Any, ...]]] = [
    ("longer than", AROUND.format("") + " " * 200_000, ()),
    ("nests deeper", AROUND.format("WHERE " + "(" * 500 + "age > 1" + ")" * 500), ()),
    ("nests deeper", AROUND.format("WHERE " + "NOT " * 500 + "age > 1"), ()),
    ("nests deeper", AROUND.format("WHERE age > " + "- " * 500 + "1"), ()),
    ("levels", AROUND.format("WHERE " + " + ".join(["age"] * 4000) + " > 1"), ()),
    ("levels", AROUND.format("WHERE " + " || ".join(["disease"] * 4000) + " = 'x'"), ()),
    ("too deeply", AROUND.format("WHERE " + "CASE WHEN " * 300 + "true" + " END" * 300), ()),
    ("words", AROUND.format("WHERE age IN (" + ", ".join(["1"] * 15_000) + ")"), ()),
    ("at most 5,000", AROUND.format("WHERE age IN (" + ", ".join(["1"] * 6_000) + ")"), ()),
    ("subqueries", "SELECT ward FROM " + "(SELECT * FROM " * 50 + "patients" + ")" * 50
     + " GROUP BY ward HAVING count(*) > 0", ()),
    ("whole number", AROUND.format("") + " LIMIT " + "9" * 5000, ()),
    ("ORDER BY takes", AROUND.format("") + " ORDER BY " + "9" * 5000, ()),
    ("is not a column", "SELECT ward FROM patients GROUP BY " + "9" * 5000 + " HAVING true", ()),
    ("too large", AROUND.format("WHERE age > " + "9" * 5000), ()),
    ("surrogate", AROUND.format("WHERE disease = '\ud800'"), ()),
    ("surrogate", AROUND.format("WHERE disease = ?"), ("\udfff",)),
    ("NUL", AROUND.format("WHERE disease = ?"), ("a\x00b",)),
    ("not a finite", AROUND.format("WHERE age > ?"), (10**5000,)),
    ("not a finite", AROUND.format("WHERE age > ?"), (float("nan"),)),
    ("not a finite", AROUND.format("WHERE age > ?"), (Decimal("1E+999999999"),)),
    ("has the type", AROUND.format("WHERE age > ?"), (object(),)),
    ("has the type", AROUND.format("WHERE disease = ?"), (b"x",)),
    ("parameters were given", AROUND.format(""), (1, 2)),
    ("too long", AROUND.format("WHERE length(" + "replace(" * 12 + "disease"
     + ", 'Z', 'ZZZZZZZZZZ')" * 12 + ") > 1"), ()),
    ("becomes too long", "WITH " + ", ".join(
        f"c{i} AS (SELECT ward, age + 0.5e0 * age AS age FROM {f'c{i - 1}' if i else 'patients'})"
        for i in range(15)) + " SELECT ward FROM c14 WHERE age > 1 GROUP BY ward HAVING true", ()),
    ("distinct comparisons", "SELECT ward FROM patients GROUP BY ward HAVING "
     + " OR ".join(f"count(*) = {i}" for i in range(0, 300, 3)), ()),
]  # fmt: skip


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with seeded(build(tmp_path_factory.mktemp("clinic")), 11) as connection:
        yield connection


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that any library logs."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


def told(error: BaseException) -> str:
    """All that an analyst could see of an error."""
    return "\n".join([str(error), repr(error), *traceback.format_exception(error)])


def test_the_corpus_is_large() -> None:
    assert len(ATTACKS) >= 150
    assert len({attack.sql for attack in ATTACKS}) == len(ATTACKS)


def test_every_attack_is_refused_and_free(clinic: Connection, log: io.StringIO) -> None:
    seen = []
    wrong = []
    for attack in ATTACKS:
        try:
            clinic.sql(attack.sql)
        except ProbeError as error:
            good = type(error) is getattr(errors, attack.error) and attack.says in error.what
            if not good:
                wrong.append((attack.where, type(error).__name__, error.what))
            seen.append(told(error))
        else:
            wrong.append((attack.where, "answered", attack.sql))
    assert wrong == []
    assert clinic.ledger() == ()
    assert clinic.budget.spent == 0
    text = "\n".join([*seen, log.getvalue(), repr(clinic), repr(clinic.budget)])
    for secret in (SECRET_NAME, str(SECRET), f"{SECRET:,}"):
        assert secret not in text
    assert log.getvalue() == ""  # a library's remark could depend on what it read


_BY_DISEASE = "FROM patients GROUP BY disease"
# What reads like an attack and is answered: the blocks that are charged for it, and which rows of
# the block's released values the answer has.
ANSWERED: list[tuple[str, list[str], Callable[..., Any] | None]] = [
    (f"SELECT disease {_BY_DISEASE} HAVING stddev(age) > 4",
     [f'SELECT disease AS "disease", STDDEV(age) AS "stddev(age)" {_BY_DISEASE}'],
     lambda spread: spread is not None and spread > 4),
    (f"SELECT disease {_BY_DISEASE} HAVING max(cost) > min(cost)",
     ['SELECT disease AS "disease", MAX(cost) AS "max(cost)", MIN(cost) AS "min(cost)" '
      f"{_BY_DISEASE}"],
     lambda high, low: None not in (high, low) and high > low),
    (f"SELECT disease {_BY_DISEASE} HAVING abs(count(*)) > 1",
     [f'SELECT disease AS "disease", COUNT(*) AS "count(*)" {_BY_DISEASE}'],
     lambda count: abs(count) > 1),
    (f"SELECT disease {_BY_DISEASE} HAVING CASE WHEN count(*) > 4 THEN true ELSE false END",
     [f'SELECT disease AS "disease", COUNT(*) AS "count(*)" {_BY_DISEASE}'],
     lambda count: count > 4),
    ("SELECT count(*) FROM patients HAVING count(*) > 0",
     ['SELECT COUNT(*) AS "count(*)" FROM patients'], None),
    ("SELECT disease FROM patients GROUP BY CUBE (disease, ward) HAVING count(*) > 0",
     ['SELECT disease AS "disease" FROM patients GROUP BY disease, ward HAVING COUNT(*) > 0'],
     None),
    ("SELECT disease FROM patients GROUP BY ROLLUP (disease) HAVING count(*) > 0",
     [f'SELECT disease AS "disease" {_BY_DISEASE} HAVING COUNT(*) > 0'], None),
    ("SELECT disease FROM patients GROUP BY GROUPING SETS ((disease), ()) HAVING count(*) > 0",
     [f'SELECT disease AS "disease" {_BY_DISEASE} HAVING COUNT(*) > 0'], None),
    ("SELECT name FROM diseases WHERE name IN (SELECT disease FROM patients)",
     [f"SELECT disease {_BY_DISEASE} HAVING COUNT(*) >= 1"], None),
    ("SELECT disease FROM (SELECT DISTINCT disease FROM patients) GROUP BY disease "
     "HAVING count(*) > 0", [f"SELECT disease {_BY_DISEASE} HAVING COUNT(*) >= 1"], None),
    ("SELECT disease FROM main.patients GROUP BY disease HAVING count(*) > 0",
     ["SELECT disease FROM main.patients GROUP BY disease HAVING count(*) > 0"], None),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "blocks", "chosen"), ANSWERED, ids=range(len(ANSWERED)))
def test_what_is_answered_is_charged_and_made_of_released_values_alone(
    tmp_path: Path, log: io.StringIO, sql: str, blocks: list[str], chosen: Callable[..., Any] | None
) -> None:
    with seeded(build(tmp_path), 11) as db:
        answer = db.sql(sql)
        asked = db.ledger()
        script = take_apart(reshaped(read(sql), RULES), RULES)
        whole = [sql] if script is None else [render_outer(b.select) for b in script.blocks]
        assert whole[: len(blocks)] == blocks
        # A denial ends a query: the blocks after it are never asked.
        assert 0 < len(asked) <= len(whole)
        assert all(entry.sql in sql or entry.sql.endswith(f" */ {sql}") for entry in asked)
        assert all(entry.charged_units > 0 for entry in asked)
        if chosen is not None:
            assert isinstance(answer, Answer)
            [(_, block)] = answer.blocks or ()
            assert isinstance(block, Answer)
            rows = [row[0] for row in block.raw or block.rows if chosen(*row[1:])]
            assert [row[0] for row in answer.rows] == rows
            assert any("is not bounded" in notice for notice in answer.notices)
        text = "\n".join([str(answer), repr(answer), repr(asked), log.getvalue()])
        for secret in (SECRET_NAME, str(SECRET), f"{SECRET:,}"):
            assert secret not in text


@pytest.mark.parametrize(("says", "sql", "parameters"), LONG, ids=range(len(LONG)))
def test_monsters_are_refused_and_free(
    clinic: Connection, says: str, sql: str, parameters: tuple[Any, ...]
) -> None:
    with pytest.raises(ProbeError) as caught:
        clinic.sql(sql, parameters)
    assert says in caught.value.what
    assert clinic.ledger() == ()


def test_blanks_and_comments_before_a_query_cost_no_time(clinic: Connection) -> None:
    """A pattern that tries every way to split them would never return."""
    for before in (" " * 90_000, "/**/" * 20_000, "-- x\n" * 15_000, "/*" + "*" * 90_000 + "*/"):
        assert clinic.explain(before + AROUND.format("")).as_dict()


def test_no_analyst_spends_for_another(tmp_path: Path) -> None:
    path = build(tmp_path)
    with seeded(path, 1, analyst="mallory") as db:
        with pytest.raises(LedgerError):
            db.sql(AROUND.format(""))
        for trick in ({"analyst": "maria"}, {"ledger": "x"}, {"seed": 1}, {"sampler": None}):
            with pytest.raises(ProbeError):
                db.sql(AROUND.format(""), **trick)
        assert db.ledger() == ()
    with seeded(path, 1) as db:
        assert db.budget.spent == 0


ACCEPTED = [
    "WHERE 1 / (age - 41) > 0", "WHERE disease::INTEGER = 1", "WHERE sqrt(age - 41) > 0",
    "WHERE ln(age - 41) > 0", "WHERE CAST(disease AS DATE) > DATE '2020-01-01'",
    "WHERE cost * 100000000 * 100000000 > 1", "WHERE age // (age - 41) > 0",
    "WHERE CAST(cost AS TINYINT) > 0", "WHERE disease LIKE '\\' OR disease LIKE '%'",
    "WHERE substring(disease, -2147483648, 2147483648) = 'x'", "WHERE length(disease) > 3",
]  # fmt: skip


@pytest.mark.parametrize("where", ACCEPTED)
def test_what_would_raise_in_plain_sql_is_null_here(clinic: Connection, where: str) -> None:
    exact = clinic._database.backend.measure(clinic.plan(AROUND.format(where)).scan)
    exact.close()
