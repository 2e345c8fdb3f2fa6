"""A margin that is asked for is kept by what is printed, of values and of what stands around."""

from __future__ import annotations

import math
import random
from pathlib import Path

import duckdb
import pytest

from benchmarks.seeded import SeededWords
from probe_sql import Answer, ProbeError
from probe_sql.answer.table import cell
from probe_sql.session import Connection
from probe_sql.text import inside, printed, with_margin
from probe_sql.vault.noise import Sampler
from tests.audit.workbench import opened
from tests.examples.policies import integers, one_table, within
from tests.examples.sources import build

TABLE = (
    "CREATE TABLE t AS SELECT (1 + i % {n})::INTEGER AS g, (20 + i * 37 % 81)::INTEGER AS a,"
    " (1 + i * 11 % 20)::INTEGER AS b, (i * 13 % 400 / 4.0)::DECIMAL(9, 2) AS c"
    " FROM range({n} * {rows}) r(i)"
)
COLUMNS = {"a": within(20, 100), "b": within(1, 21), "c": within(0, 100)}


def database(folder: Path, groups: int, rows: int, size: int) -> tuple[Path, Path]:
    source = build(folder / "t.duckdb", [TABLE.format(n=groups, rows=rows)])
    policy = folder / "policy.toml"
    text = one_table("t", {"g": integers(1, groups), **COLUMNS}, rows=size, epsilon=1e6)
    policy.write_text(text)
    return source, policy


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Connection:
    """Seven groups of 3,000 rows, three times what margins of means are bought for."""
    source, policy = database(tmp_path_factory.mktemp("kept"), 7, 3_000, 1_000)
    return opened(source, policy, Sampler(SeededWords(3)))


Margin = float | str | dict[str, float | str]


def answered(db: Connection, value: str, margin: Margin) -> Answer:
    return asked(db, f"SELECT g, {value} AS v FROM t GROUP BY g", margin)


def asked(db: Connection, query: str, margin: Margin) -> Answer:
    answer = db.sql(query, margin=margin, epsilon=300.0)
    assert isinstance(answer, Answer)
    assert answer.status == "answered"
    return answer


def print_margins(answer: Answer) -> list[float]:
    """The second column's margins as people read them."""
    cells = [cell(row[1], m[1]) for row, m in zip(answer.rows, answer.margins, strict=True)]
    return [float(text.split(" ± ")[1].replace(",", "")) for text in cells]


ABSOLUTE: list[tuple[str, float]] = [
    ("count(*)", 50),
    ("count(*)", 10.7),
    ("2.5 * count(*)", 20.7),
    ("count(*) / 4", 0.9),
    ("sum(a)", 2_000),
    ("sum(c)", 2_000),
    ("sum(c)", 200_000),
    ("sum(c) / 7", 117),
    ("avg(a)", 0.5),
    ("avg(c)", 10),
    ("100.0 * count_if(a > 50) / count(*)", 1),
    ("avg(a) * avg(b)", 30),
    ("avg(a) * avg(b) - 3 * avg(c)", 100),
    ("avg(b) / avg(a)", 0.2),
    ("1 / avg(a)", 0.01),
    ("sqrt(sum(c))", 30),
    ("sqrt(count(*)) * 1.5", 3),
    ("sqrt(avg(a))", 0.5),
    ("round(sum(c), -1)", 55),
    ("round(avg(a), 1)", 1),
    ("round(100 * avg(b) / avg(a), 1)", 20),
    ("floor(sum(c) / 100)", 9),
    ("avg(a) + avg(b) + avg(c)", 2),
    ("abs(avg(a) - 50)", 1),
    ("greatest(avg(a), avg(b))", 2),
    ("ln(avg(a))", 0.1),
    ("exp(avg(b) / 10)", 1),
    ("var_pop(a)", 300),
]


@pytest.mark.parametrize(("value", "margin"), ABSOLUTE)
def test_no_margin_is_printed_wider_than_asked(db: Connection, value: str, margin: float) -> None:
    answer = answered(db, value, margin)
    assert max(print_margins(answer)) <= margin * (1 + 1e-12)
    assert not [note for note in answer.notices if "no margin can be bought" in note]


SHARES = [
    "count(*)",
    "sum(c)",
    "avg(a)",
    "avg(a) * avg(b)",
    "avg(a) * avg(b) * count(*)",
    "avg(a) / avg(b)",
    "avg(a) / sqrt(count(*))",
    "sqrt(sum(a))",
    "avg(a) + 2 * avg(b) + 5",
    "greatest(avg(a), avg(b))",
    "sum(a) * sum(a) / count(*)",
]


@pytest.mark.parametrize("share", [0.01, 0.04, 0.2])
@pytest.mark.parametrize("value", SHARES)
def test_a_share_is_kept_where_no_value_is_at_its_floor(
    db: Connection, value: str, share: float
) -> None:
    """Of 3,000 rows one may add less than a hundredth to each value."""
    answer = answered(db, value, f"{100 * share:g}% or 1 row")
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        assert margins[1] is not None
        assert margins[1] <= share * row[1]
    assert not [note for note in answer.notices if "no margin can be bought" in note]


def test_a_product_is_named_with_its_share(db: Connection) -> None:
    """It printed 6.8 % for the 4 % that was asked, and said nothing."""
    notices = answered(db, "avg(a) * avg(b)", {"v": "4%"}).notices
    said = "the margin of v is 4 % of it, but where one of the values behind it has more than its"
    assert [note for note in notices if note.startswith(said)]
    assert [note for note in notices if "the margin of avg(a) is 1.98039 % of it" in note]


@pytest.mark.parametrize(
    ("value", "margin"),
    [
        ("sum(a) * count(*)", 50),
        ("avg(a) - avg(b)", "5%"),
        ("stddev(a)", 5),
        ("ln(sum(a) + 1)", "5%"),
    ],
)
def test_what_cannot_be_bought_is_said_before_and_after(
    db: Connection, value: str, margin: float | str
) -> None:
    query = f"SELECT g, {value} AS v FROM t GROUP BY g"
    explained = db.explain(query, margin=margin, epsilon=300.0)
    assert "no margin can be bought for v, " in str(explained)
    assert explained.as_dict()["values"][0]["margin_share"] is None
    notices = answered(db, value, margin).notices
    assert [note for note in notices if "no margin can be bought for v, " in note]


def test_a_column_or_what_it_is_computed_from_may_be_named(db: Connection) -> None:
    query = "SELECT g, avg(a) * avg(b) AS v FROM t GROUP BY g"
    named = ' WITH ACCURACY (margin = ("avg(a)" = 1, "avg(b)" = 1))'
    inner = asked(db, query + named, 500)
    assert "the margin of v follows from that of avg(a) and avg(b)" in inner.notices
    with pytest.raises(ProbeError, match=r"margin names v and avg\(a\), which it is computed"):
        answered(db, "avg(a) * avg(b)", {"v": "5%", "avg(a)": 1})
    with pytest.raises(ProbeError, match="which is no value of the SELECT list"):
        answered(db, "avg(a) * avg(b)", {"w": 1})


def test_what_is_rounded_more_coarsely_than_its_margin_has_it_before(db: Connection) -> None:
    answer = answered(db, "round(sum(a), -4)", 500)
    assert "the margin of v is that before it is rounded" in answer.notices


def test_two_columns_of_one_value_keep_both_margins(db: Connection) -> None:
    query = "SELECT g, avg(a) AS x, avg(a) * avg(b) AS p, 2 * sqrt(avg(a)) AS r FROM t GROUP BY g"
    shares: dict[str, float | str] = {"x": "9% or 1 row", "p": "2% or 1 row", "r": "6% or 1 row"}
    answer = asked(db, query, shares)
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        for place, share in enumerate((0.09, 0.02, 0.06), start=1):
            assert (margins[place] or math.inf) <= share * row[place]
    mixed = asked(db, query, {**shares, "r": 0.5})
    for row, margins in zip(mixed.rows, mixed.margins, strict=True):
        assert (margins[2] or math.inf) <= 0.02 * row[2]
        assert (margins[3] or math.inf) <= 0.5


def test_a_value_has_no_share_for_one_column_and_a_number_for_another(db: Connection) -> None:
    query = "SELECT g, avg(a) * avg(b) AS p, avg(a) - avg(b) AS d FROM t GROUP BY g"
    answer = asked(db, query, {"p": "2% or 1 row", "d": 0.5})
    assert any("no margin can be bought for d, " in note for note in answer.notices)
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        assert (margins[1] or math.inf) <= 0.02 * row[1]


# --- beside HAVING -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "margin"),
    [
        ("count(*) * 1.5", 10.5),
        ("count(*) / 7", 3),
        ("sum(c)", 2_000),
        ("sum(c)", 200_000),
        ("3 * sum(a)", 5_000),
        ("sqrt(sum(c))", 30),
        ("avg(c)", 2),
        ("avg(c)", 20),
        ("100.0 * count_if(a > 50) / count(*)", 2),
    ],
)
def test_beside_having_no_margin_is_printed_wider_than_asked(
    db: Connection, value: str, margin: float
) -> None:
    """A count that HAVING measured was bought in steps of its own: 1.5 of it to 10.5 came to 16. A
    mean was bought as a sum and a count of the margin each, for 600 times the price."""
    query = f"SELECT g, {value} AS v FROM t GROUP BY g HAVING count(*) > 500"
    answer = asked(db, query, margin)
    assert len(answer.rows) == 7
    assert max(print_margins(answer)) <= margin * (1 + 1e-12)


def test_beside_having_a_mean_costs_what_its_margin_takes(db: Connection) -> None:
    query = "SELECT g, avg(c) AS v FROM t GROUP BY g HAVING count(*) > 500"
    answer = asked(db, query, 5)
    assert answer.privacy.epsilon < 5
    assert "the margin of v is bought for groups of 1,000 rows" in answer.notices
    ratio = asked(db, query.replace("avg(c)", "sum(c) / sum(b)"), 50)
    assert any(note.startswith("no margin is bought for v: ") for note in ratio.notices)


def test_around_blocks_the_margin_is_that_of_their_values(db: Connection) -> None:
    inner = "(SELECT g, count(*) AS n FROM t GROUP BY g)"
    around = asked(db, f"SELECT g, n, 2 * n AS v, n - 5 AS w FROM {inner}", 50)
    said = (
        "a margin that is asked for is that of the blocks' values; that of v, w follows from them"
    )
    assert said in around.notices
    plain = asked(db, f"SELECT g, n AS v FROM {inner} WHERE n > 5", 50)
    free = db.sql(f"SELECT g, 2 * n AS v FROM {inner}", epsilon=1.0)
    assert isinstance(free, Answer)
    assert not [note for one in (plain, free) for note in one.notices if "blocks' values" in note]


def test_a_computed_column_of_a_block_may_be_named(db: Connection) -> None:
    block = "(SELECT g, avg(a) * avg(b) AS p FROM t GROUP BY g)"
    answer = asked(db, f"SELECT g, p FROM {block} AS s", {"p": "4% or 1 row"})
    for row, margins in zip(answer.rows, answer.margins, strict=True):
        assert (margins[1] or math.inf) <= 0.04 * row[1]
    with pytest.raises(ProbeError, match="no column of a private block") as raised:
        asked(db, f"SELECT g, p FROM {block} AS s", {"q": 5})
    assert raised.value.fix == "name one of p"


def test_sets_that_promise_the_same_say_so_once(db: Connection) -> None:
    answer = asked(db, "SELECT g, count(*) AS v FROM t GROUP BY ROLLUP(g)", 50)
    assert answer.privacy.sentence.startswith("set 1, set 2: Each value lies within its margin")
    assert answer.privacy.sentence.count("Each value") == 1


# --- what is printed -----------------------------------------------------------------------------


def test_a_half_width_that_is_bought_is_printed_within_what_was_asked() -> None:
    chance = random.Random(11)
    asked = [
        0.5,
        1.0,
        2.0,
        10.0,
        10.5,
        20.7,
        99.0,
        2e5,
        *(10 ** chance.uniform(-3, 6) for _ in range(2_000)),
    ]
    for margin in asked:
        width = inside(margin)
        assert 0.85 * margin < width < margin
        assert inside(printed(width)) >= width * (1 - 1e-12)
        for _ in range(10):
            value: float = chance.uniform(-1, 1) * 10 ** chance.uniform(0, 7)
            value = round(value) if chance.random() < 0.3 else value
            wide = float(with_margin(value, width)[1].replace(",", ""))
            assert wide <= min(margin, printed(width)) * (1 + 1e-9)


def test_a_margin_that_is_not_bought_so_is_printed_wider() -> None:
    """The negative control: what `margin = 200000` printed beside a sum of cents."""
    assert with_margin(1_234_567.39, 200_000.0) == ("1,234,567", "200,001")
    assert with_margin(1_234_567.39, inside(200_000.0)) == ("1,234,567", "200,000")
    assert with_margin(3, 0.5) == ("3.00", "0.50")


# --- coverage ------------------------------------------------------------------------------------

GROUPS, CONFIDENCE = 1_500, 0.7
ASKED = (
    "SELECT g, avg(a) * avg(b) AS product, avg(a) / avg(b) AS quotient, sqrt(sum(a)) AS root,"
    " sum(a) * count(*) AS sums FROM t GROUP BY g ORDER BY g"
)


@pytest.mark.parametrize("margin", ["20% or 2 rows", {"product": 300.0, "root": 20.0}], ids=str)
def test_margins_of_results_hold_as_often_as_they_say(
    tmp_path: Path, margin: str | dict[str, float]
) -> None:
    source, policy = database(tmp_path, GROUPS, 40, 40)
    with duckdb.connect(str(source), read_only=True) as plain:
        exact = plain.execute(ASKED).fetchall()
    with opened(source, policy, Sampler(SeededWords(8))) as db:
        answer = db.sql(ASKED, margin=margin, confidence=CONFIDENCE, epsilon=900.0)
    assert isinstance(answer, Answer)
    slack = 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / GROUPS)
    for column in range(1, 5):
        covered = []
        for part in (1.0, 0.1):
            hits = [
                abs(row[column] - float(true[column])) <= part * wide
                for row, margins, true in zip(answer.rows, answer.margins, exact, strict=True)
                if (wide := margins[column]) is not None
            ]
            assert len(hits) > 0.9 * GROUPS
            covered.append(sum(hits) / len(hits))
        assert covered[0] >= CONFIDENCE - slack
        assert covered[1] < CONFIDENCE - slack  # the negative control


def test_margins_of_means_beside_having_hold_as_often_as_they_say(tmp_path: Path) -> None:
    source, policy = database(tmp_path, GROUPS, 40, 40)
    query = "SELECT g, avg(c) AS v FROM t GROUP BY g HAVING count(*) > 20 ORDER BY g"
    with duckdb.connect(str(source), read_only=True) as plain:
        exact = dict(plain.execute("SELECT g, avg(c)::DOUBLE FROM t GROUP BY g").fetchall())
    with opened(source, policy, Sampler(SeededWords(9))) as db:
        answer = db.sql(query, margin=20, confidence=CONFIDENCE, epsilon=900.0)
    assert isinstance(answer, Answer)
    known = [
        (abs(row[1] - exact[row[0]]), margins[1])
        for row, margins in zip(answer.rows, answer.margins, strict=True)
        if margins[1] is not None
    ]
    assert len(known) > 0.9 * GROUPS
    held, cut = (sum(off <= part * wide for off, wide in known) / len(known) for part in (1, 0.1))
    assert held >= CONFIDENCE - 4 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / GROUPS) > cut
