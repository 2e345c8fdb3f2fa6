"""MIN, MAX and quantiles as values beside HAVING: a second block of the same groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from probe_sql import Answer, Denied, connect
from probe_sql.errors import AccuracyError, Refused
from tests.examples.policies import integers, one_table, within
from tests.examples.sources import example

pytestmark = pytest.mark.service  # processes are started

EXACT = {"epsilon": 900.0}  # hardly any noise: values are off by a row or two at most
LICENCES, ROWS = 6, 3000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Scores that rise with the licence, which some rows lack; the smallest groups are first."""
    columns = {"licence": integers(1, LICENCES), "score": within(0, 500), "views": within(0, 100)}
    return example(
        tmp_path_factory.mktemp("beside"),
        one_table("posts", columns, rows=1000, epsilon=100_000.0, per_query=10.0),
        "CREATE TABLE posts AS SELECT CASE WHEN i % 10 = 0 THEN NULL ELSE 1 + i % 36 // 6 END"
        " AS licence, (i * 7) % (60 * (1 + i % 36 // 6)) AS score, i % 100 AS views"
        f" FROM range({ROWS}) t(i)",
    )


def ask(source: tuple[Path, Path], query: str, **options: Any) -> Answer:
    with connect(*source) as db:
        answer = db.sql(query, **{"fresh": True, **options})
    assert isinstance(answer, Answer), str(answer)
    return answer


def plain(source: tuple[Path, Path], query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with duckdb.connect(str(source[0]), read_only=True) as db:
        found = db.execute(query)
        return [name for name, *_ in found.description or ()], found.fetchall()


@pytest.mark.parametrize("query", [
    "SELECT licence, MAX(score) AS best, AVG(views) AS a FROM posts GROUP BY licence"
    " HAVING MAX(score) >= 150 AND licence IS NOT NULL ORDER BY 2 DESC",
    "SELECT count(*) AS n, MEDIAN(score) AS m, licence FROM posts GROUP BY licence"
    " HAVING avg(score) > 80 AND licence IS NOT NULL ORDER BY m",
    "SELECT licence AS l, min(score) AS low, max(score) AS high FROM posts WHERE views >= 50"
    " GROUP BY l HAVING high > 100 AND l < 6 ORDER BY high - low DESC LIMIT 2",
    "SELECT quantile_disc(score, 0.9) AS q FROM posts GROUP BY licence"
    " HAVING sum(score) > 20000 AND licence IS NOT NULL ORDER BY q",
    "SELECT licence, max(score) AS score FROM posts GROUP BY licence"
    " HAVING max(score) >= 150 AND licence IS NOT NULL ORDER BY score",
    "SELECT licence FROM posts GROUP BY 1 HAVING count(*) > 10 AND licence IS NOT NULL"
    " ORDER BY max(score) DESC LIMIT 3",
])  # fmt: skip
def test_groups_names_order_and_values_are_those_of_duckdb(
    query: str, source: tuple[Path, Path]
) -> None:
    answer = ask(source, query.replace(" AND licence IS NOT NULL", ""), fnr=0.001, **EXACT)
    names, exact = plain(source, query)
    assert list(answer.columns) == names
    assert len(answer.rows) == len(exact)
    for row, true in zip(answer.rows, exact, strict=True):
        assert [float(value) for value in row] == pytest.approx([float(v) for v in true], abs=20)


def test_a_null_key_makes_no_group(source: tuple[Path, Path]) -> None:
    query = "SELECT licence, max(score) FROM posts GROUP BY licence HAVING count(*) > 10"
    answer = ask(source, query, **EXACT)
    assert [row[0] for row in answer.rows] == list(range(1, LICENCES + 1))
    assert len(plain(source, query)[1]) == LICENCES + 1


def test_values_keep_their_margins_in_rows_and_others_theirs(source: tuple[Path, Path]) -> None:
    query = (
        "SELECT licence, max(score) AS best, count(*) AS n FROM posts GROUP BY licence"
        " HAVING count(*) > 10"
    )
    answer = ask(source, query)
    assert all(ranks[1] is not None and ranks[2] is None for ranks in answer.ranks)
    assert all(margins[1] is None and margins[2] for margins in answer.margins)


def test_the_price_is_that_of_two_queries(source: tuple[Path, Path]) -> None:
    """`best` is bought by its own margin; the condition costs what it costs without it."""
    having = "GROUP BY licence HAVING sum(score) > 15000"
    with connect(*source) as db:
        query = f"SELECT licence, max(score) AS best FROM posts {having}"
        told = db.explain(query, margin={"best": 60})
        answer = db.sql(query, margin={"best": 60}, fresh=True)
        charged = [entry.charged for entry in db.ledger()][-2:]
        alone = db.sql(
            "SELECT licence, max(score) AS best FROM posts GROUP BY licence",
            margin={"best": 60},
            fresh=True,
        )
    assert isinstance(answer, Answer)
    assert isinstance(alone, Answer)
    assert answer.privacy.epsilon == pytest.approx(sum(charged))
    assert charged[1] == pytest.approx(alone.privacy.epsilon)
    assert charged[0] > 0
    assert told.epsilon_worst == pytest.approx(5.0 + charged[1])
    assert "2 that read private rows" in str(told)
    assert "best" in str(told).partition("\nblock 2")[2].partition("around")[0]


def test_who_names_no_column_is_told_those_of_both_blocks(source: tuple[Path, Path]) -> None:
    query = "SELECT licence, max(score) AS m, avg(views) AS a FROM posts GROUP BY 1 HAVING a > 10"
    with connect(*source) as db, pytest.raises(AccuracyError, match="which is no column") as told:
        db.sql(query, margin={"z": 5})
    assert told.value.fix == "name one of a, m"


def test_one_denied_block_denies_the_whole(source: tuple[Path, Path]) -> None:
    query = "SELECT licence, max(score) AS m FROM posts GROUP BY licence HAVING count(*) > 100"
    with connect(*source) as db:
        spent = len(db.ledger())
        denied = db.sql(query, margin={"m": 1}, epsilon=2.0, fresh=True)
        assert len(db.ledger()) == spent
    assert isinstance(denied, Denied)
    assert "block 2" in str(denied)


@pytest.mark.parametrize(("refused", "answered"), [
    ("SELECT avg(m) FROM (SELECT max(score) AS m FROM posts GROUP BY licence HAVING count(*) > 10"
     " WITH ACCURACY (epsilon = 5)) q",
     "SELECT avg(m) FROM (SELECT max(score) AS m FROM posts GROUP BY licence"
     " WITH ACCURACY (epsilon = 5)) q"),
    ("SELECT licence, max(score) FROM posts GROUP BY licence HAVING max(score) - min(score) > 9",
     "SELECT licence, max(score) FROM posts GROUP BY licence HAVING max(score) > 9"),
    ("SELECT licence, max(score), count(*) AS n, low(n) FROM posts GROUP BY licence"
     " HAVING count(*) > 9",
     "SELECT licence, count(*) AS n, low(n) FROM posts GROUP BY licence HAVING count(*) > 9"),
])  # fmt: skip
def test_what_cannot_be_parted_stays_refused_with_a_fix(
    refused: str, answered: str, source: tuple[Path, Path]
) -> None:
    with connect(*source) as db, pytest.raises(Refused, match="or is a value by itself") as told:
        db.sql(refused)
    assert "itself with a number, or SELECT it without HAVING" in str(told.value.fix)
    ask(source, answered)
