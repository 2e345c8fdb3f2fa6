"""Subqueries inside of private blocks: asked before, put in as values, lists and tables."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from probe_sql.blocks.program import Program, prepare
from probe_sql.blocks.run import _given
from probe_sql.errors import Refused, SqlError
from probe_sql.outside import Sandbox
from probe_sql.outside.process import as_text
from probe_sql.policy import load_policy
from probe_sql.session import Outline
from probe_sql.sql.blocks import take_apart
from probe_sql.sql.fill import filled
from probe_sql.sql.outer import render_outer
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.text import read
from tests.examples.clinic import POLICY, build, seeded
from tests.session.test_blocks import ask

pytestmark = pytest.mark.service  # processes are started


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


def test_a_threshold_from_a_block(database: Path) -> None:
    query = (
        "SELECT disease FROM patients GROUP BY disease"
        " HAVING avg(age) > (SELECT avg(age) FROM patients) AND count(*) > 100"
        " WITH ACCURACY (epsilon = 3)"
    )
    with seeded(database, 7) as db:
        answer = ask(db, query)
        first, second = db.ledger()
    # The exact mean is 43.2: of the large ones only shingles (80) is above.
    assert [row[0] for row in answer.rows] == ["shingles"]
    assert (first.sql, second.sql) == ("SELECT avg(age) FROM patients", f"/* block 2 */ {query}")
    assert "with released values in place of its subqueries" in answer.privacy.sentence


def prepared(query: str) -> tuple[Program, Sandbox]:
    policy = load_policy(POLICY)
    script = take_apart(reshaped(read(query), policy), policy)
    assert script is not None
    return prepare(script, policy, None, {})


@pytest.mark.parametrize(("raw", "asked"), [
    (43.215678901234567, ">= 43.21567890123457"), (1e-7, ">= 0.0000001"), (-3.5, ">= 0.0"),
    (150.25, ">= 120.0"), (41, ">= 41.0"),
])  # fmt: skip
def test_a_released_mean_is_put_in_as_it_prints_within_its_bounds(raw: float, asked: str) -> None:
    """A mean of few rows at little epsilon is mostly noise; the exact one is within its bounds."""
    program, sandbox = prepared(
        "SELECT ward FROM patients GROUP BY ward HAVING avg(age) >= (SELECT avg(age) FROM patients)"
    )
    with sandbox:
        sandbox.fill(program.steps[0].block.table, program.steps[0].columns, [[as_text(raw)]])
        [hole] = program.script.blocks[1].holes
        given = {hole.name: _given(program, sandbox, hole)}
    select, _ = filled(program.script.blocks[1], given, program.script.source)
    assert render_outer(select).endswith(asked)
    program.planned(program.script.blocks[1], given)


def test_null_in_a_threshold_holds_for_no_group(database: Path) -> None:
    with seeded(database, 8) as db:
        null = "(SELECT cap FROM diseases WHERE name = 'unheard of')"
        answer = ask(db, f"SELECT ward FROM patients GROUP BY ward HAVING count(*) > {null}")
        assert answer.rows == ()
        assert answer.privacy.epsilon == 0
        negated = f"SELECT ward FROM patients GROUP BY ward HAVING NOT count(*) > {null}"
        assert ask(db, negated).rows == ()
        with pytest.raises(SqlError, match="gave NULL"):
            db.sql(f"SELECT count(*) * {null} FROM patients")
        assert db.budget.spent == 0


@pytest.mark.parametrize("condition", [
    "disease IN (SELECT name FROM diseases WHERE cap > 10)",
    "disease NOT IN (SELECT name FROM diseases WHERE name < 'g')",
    "NOT disease IN (SELECT name FROM diseases WHERE cap IS NULL)",
    "disease NOT IN (SELECT CASE WHEN cap IS NULL THEN NULL ELSE name END FROM diseases)",
    "CASE WHEN age = 30 THEN NULL ELSE age END NOT IN (SELECT 50)",
    "age IN (SELECT cap / 10 + 30 FROM diseases)", "disease IN (SELECT name FROM diseases LIMIT 0)",
    "age > (SELECT min(cap) / 10 FROM diseases)", "age > (SELECT cap FROM diseases WHERE false)",
    "CASE WHEN disease IN (SELECT 'flu') THEN age > 40 ELSE age < 40 END",
])  # fmt: skip
def test_subqueries_of_where_mean_what_they_mean_in_duckdb(database: Path, condition: str) -> None:
    query = f"SELECT ward, count(*) AS n FROM patients WHERE {condition} GROUP BY ward"
    with duckdb.connect(str(database), read_only=True) as plain:
        exact = dict(plain.sql(query.replace("/ 10", "// 10")).fetchall())
    with seeded(database, 9) as db:
        answer = ask(db, query.replace("/ 10", "// 10"), epsilon=4)
    for ward, n in answer.rows:
        assert abs(n - exact.get(ward, 0)) <= 6, condition


def test_a_list_is_no_column_of_a_star(database: Path) -> None:
    """Lists of two subqueries inside each other were two columns of one name."""
    inner = "SELECT * FROM patients WHERE age > 60 OR disease IN (SELECT 'flu')"
    query = f"SELECT count(*) FROM (SELECT * FROM ({inner}) a WHERE ward IN (SELECT 'A')) b"
    with duckdb.connect(str(database), read_only=True) as plain:
        [(exact,)] = plain.sql(query).fetchall()
    with seeded(database, 9) as db:
        [(count,)] = ask(db, query, epsilon=4).rows
        assert abs(count - exact) <= 6
        with pytest.raises(SqlError, match="no column 'probe_sql_key'"):
            db.sql(f"SELECT count(probe_sql_key) FROM ({inner}) a")


def test_a_long_list_is_joined_and_not_written_out(database: Path) -> None:
    """An IN of so many written values is refused."""
    union = " UNION ALL ".join(f"SELECT a.cap * {i} AS v FROM diseases a" for i in range(1, 4))
    many = f"SELECT x.v + y.v * 7 + z.v * 49 AS v FROM ({union}) x, ({union}) y, ({union}) z"
    query = f"SELECT count(*) AS n FROM patients WHERE age * 500 IN ({many})"
    with seeded(database, 10) as db:
        answer = ask(db, query, epsilon=1)
        outline = db.explain(query)
        assert isinstance(outline, Outline)
        [(_, block)] = outline.blocks
        assert "probe_sql_key" in block.scans[0]
    assert len(answer.rows) == 1


def test_private_rows_join_a_block_on_its_keys(database: Path) -> None:
    query = (
        "WITH big AS (SELECT disease, count(*) AS n FROM patients GROUP BY disease"
        " HAVING count(*) > 500) SELECT ward, count(*) AS m FROM patients JOIN big USING (disease)"
        " GROUP BY ward WITH ACCURACY (epsilon = 3)"
    )
    with seeded(database, 11) as db:
        answer = ask(db, query)
        with pytest.raises(Refused, match="does not show them all"):
            db.sql(query.replace("SELECT disease, count(*) AS n", "SELECT count(*) AS disease"))
    for _, m in answer.rows:
        assert abs(m - 533) <= 20  # 900 + 700 of three wards
