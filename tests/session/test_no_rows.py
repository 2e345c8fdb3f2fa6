"""WHERE that is never true, against DuckDB: what is answered free is what the rows say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from probe_sql import Answer
from probe_sql.database import open_database
from probe_sql.errors import ProbeError
from probe_sql.plan.plan import make_plan
from probe_sql.session import Connection

# A column for each type of key: its type, its keys in the policy, and literals that are a key,
# that are none, and that are nearly one.
COLUMNS = {
    "i": ("INTEGER", "[1, 2]", ("1", "'1'", "2.0", "1e0", "1.5", "9", "-1")),
    "r": ("BIGINT", "{ integers = [1, 9], step = 4 }", ("1", "5.0", "9", "5.5", "0", "10")),
    "h": ("HUGEINT", "[7, 8]", ("7", "8.0", "7e0", "9", "170141183460469231731687303715")),
    "u": ("UTINYINT", "[1, 255]", ("1", "255", "256", "-1", "1.0")),
    "d": ("DECIMAL(18,2)", "[0.1, 0.2]", ("0.1", "'0.1'", "1e-1", "0.10", "0.2", "0.3", "0.125")),
    "w": ("DECIMAL(38,20)", "[0.1, 7.5]", ("0.1", "7.5", "1e-1", "'7.50'", "0.3")),
    "c": ("DECIMAL(9,1)", "[0.25, 1.5]", ("0.25", "0.3", "0.2", "1.5", "2")),
    "z": ("DECIMAL(6,0)", "[1, 2]", ("1", "1.0", "2e0", "1.5", "3")),
    "s": ("VARCHAR COLLATE nocase", '["a", "b"]', ("'a'", "'A'", "'b '", "'b'", "'c'")),
    "e": ("ENUM ('b', 'c', 'a')", '["a", "b"]', ("'a'", "'b'", "'c'")),
    "f": ("BOOLEAN", "[true]", ("TRUE", "FALSE", "1", "'f'")),
    "t": ("DATE", "[2020-03-01, 2020-03-02]", (
        "'2020-03-01'", "DATE '2020-03-02'", "TIMESTAMP '2020-03-01 00:00:00'", "'2020-04-01'",
        "TIMESTAMP '2020-03-01 08:00:00'")),
    "p": ("DATE", "{ dates = [2020-03-01, 2020-03-03] }", ("'2020-03-01'", "'2020-03-04'")),
    **{
        name: (type_, "[2020-03-01T08:00:00, 2020-03-02T00:00:00]", (
            "'2020-03-01 08:00:00'", "TIMESTAMP '2020-03-02 00:00:00'", "DATE '2020-03-02'",
            "'2020-03-02'", "'2020-03-01 08:00:00.5'"))
        for name, type_ in (("m", "TIMESTAMP"), ("ms", "TIMESTAMP_MS"), ("ns", "TIMESTAMP_NS"))
    },
}  # fmt: skip
BESIDE = {
    "x": ("INTEGER", ("0", "3", "1.5")),
    "y": ("DOUBLE", ("0.1", "'0.1'", "0.25")),
    "q": ("REAL", ("0.1", "0.25", "1e-1")),
    "v": (
        "UUID",
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"),
    ),
    "g": ("ENUM ('b', 'c', 'a')", ("'a'", "'b'", "'c'")),
    "o": ("TIMESTAMPTZ", ("'2020-03-01 08:00:00'", "'2020-03-01 08:00'")),
    "l": ("TIME", ("'08:00:00'", "'08:00'")),
}
NEVER = ("1 = 0", "x > 5 AND x < 3", "x = NULL", "NULL", "y <> y", "x IS NULL AND x = 3")
# Of no rows these are NULL, whatever they are compared with; {n} is COUNT(*).
NULLS = (
    "avg(x) >= 0", "sum(x) >= 0", "sum(x) < 1", "avg(x) <= 1", "NOT avg(x) > 65", "sum(x) <> 0",
    "sum(x) / {n} >= 0", "median(x) < 5", "max(x) < 5", "avg(x) >= 0 AND min(x) < 3",
    "NOT (sum(x) > 3 AND {n} >= 0)", "sum(x) + {n} < 5", "avg(x) BETWEEN -1 AND 9", "-sum(x) <= 0",
    "count(x) / {n} < 1", "sum(x) < 3 OR max(x) = 3",
)  # fmt: skip
COUNTS = (
    "{n} = 0", "{n} > 0", "NOT {n} < 1", "coalesce(sum(x), 0) >= 0", "coalesce(sum(x), 0) > 0",
    "count_if(x > 1) < 1", "{n} - count(x) = 0", "count(x) * 2 + 1 > {n}", "{n} <> 0",
    "avg(x) < 1 OR {n} < 3", "count(DISTINCT x) < 1", "{n} IN (0, 4)", "{n} / 2 >= 0", "TRUE",
)  # fmt: skip
OPS = ("=", "<>", "<", "<=", ">", ">=")


class House:
    """A session over the table, and the table itself."""

    def __init__(self, folder: Path) -> None:
        self.plain = duckdb.connect()
        types: dict[str, str] = {name: type_ for name, (type_, _, _) in COLUMNS.items()}
        types |= {name: type_ for name, (type_, _) in BESIDE.items()}
        made = ", ".join(f"{name} {type_}" for name, type_ in types.items())
        literals = {name: each[-1] for name, each in (*COLUMNS.items(), *BESIDE.items())}
        rng = random.Random(23)
        rows = []
        for _ in range(150):
            values = (
                f"TRY_CAST({rng.choice(literals[name])} AS {type_.replace(' COLLATE nocase', '')})"
                for name, type_ in types.items()
            )
            rows.append(f"({', '.join(values)})")
        path = folder / "t.duckdb"
        with duckdb.connect(str(path)) as made_here:
            made_here.execute(f"CREATE TABLE t ({made})")
            # What an answer is held against: texts are compared by their bytes.
            self.plain.execute(f"CREATE TABLE t ({made.replace(' COLLATE nocase', '')})")
            for each in (self.plain, made_here):
                each.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
        keyed = "\n".join(f"{name} = {{ keys = {keys} }}" for name, (_, keys, _) in COLUMNS.items())
        policy = folder / "t.toml"
        policy.write_text(
            f'[budget]\nepsilon = 1000.0\n[tables.t]\nunit = "row"\n[tables.t.columns]\n{keyed}\n'
            "x = { bounds = [0, 9] }\ny = {}\nq = {}\nv = {}\ng = {}\no = {}\nl = {}\n"
        )
        self.database = open_database(path, policy)
        self.connection = Connection(self.database, "maria", owner=True)
        self.keys = {}
        for name in COLUMNS:
            found = self.connection.sql(f"SELECT {name} FROM t GROUP BY {name}")
            assert isinstance(found, Answer)
            self.keys[name] = [row[0] for row in found.rows]

    def free(self, query: str) -> Answer | None:
        """The answer, where it is free since no row passes."""
        with suppress(ProbeError):
            plan = make_plan(query, self.database.policy)
            if plan.nobody and plan.decided_free:
                answer = self.connection.sql(query)
                assert isinstance(answer, Answer)
                assert answer.privacy.epsilon == 0
                return answer
        return None

    def passing(self, key: str, where: str) -> int:
        """How many rows pass WHERE and are in a group."""
        query = f"SELECT count(*) FROM t WHERE ({where}) AND list_contains(?, {key})"
        [(number,)] = self.plain.execute(query, [self.keys[key]]).fetchall()
        return int(number)

    def holds(self, having: str) -> bool:
        """Whether HAVING keeps a group without rows."""
        # What counts the rows that fulfil something is a count here, and a sum in DuckDB.
        having = having.format(n="count(*)").replace(
            "count_if(x > 1)", "count(*) FILTER (WHERE x > 1)"
        )
        return bool(self.plain.execute(f"SELECT 1 FROM t WHERE 1 = 0 HAVING {having}").fetchall())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    made = House(tmp_path_factory.mktemp("house"))
    with made.connection:
        yield made


def wheres(rng: random.Random, key: str) -> Iterator[str]:
    """Conditions that are never true, and some that nearly are."""
    literals = COLUMNS[key][2]
    for literal in literals:
        yield f"{key} = {literal}"
        yield f"{key} IN ({literal}, {rng.choice(literals)})"
        yield f"{key} {rng.choice(OPS)} {literal}"
        ops = rng.sample(OPS, 2)
        yield f"{key} {ops[0]} {literal} AND {key} {ops[1]} {rng.choice(literals)}"
    for other in rng.sample(list(BESIDE), 2):
        near = BESIDE[other][1]
        yield f"{other} = {rng.choice(near)} AND {other} {rng.choice(OPS)} {rng.choice(near)}"
    yield f"{rng.choice(NEVER)} OR {key} = {literals[0]}"
    yield f"{rng.choice(NEVER)} AND {key} = {literals[0]}"


def test_what_is_free_is_what_the_rows_say(house: House) -> None:
    rng = random.Random(5)
    tried, free = 0, dict.fromkeys(COLUMNS, 0)
    for key in COLUMNS:
        for where in wheres(rng, key):
            tried += 1
            query = f"SELECT {key}, count(*) AS n FROM t WHERE {where} GROUP BY {key}"
            if (answer := house.free(query)) is not None:
                free[key] += 1
                assert house.passing(key, where) == 0, query
                assert answer.rows == tuple((value, 0) for value in house.keys[key])
    assert tried >= 300
    assert sum(free.values()) >= 80
    assert min(free.values()) > 0


@pytest.mark.parametrize("where", NEVER[:2])
def test_having_of_no_rows_keeps_what_it_keeps_in_duckdb(house: House, where: str) -> None:
    assert not any(house.holds(having) for having in NULLS)
    for having in (*NULLS, *COUNTS):
        query = f"SELECT s, count(*) AS n FROM t WHERE {where} GROUP BY s HAVING {having}"
        answer = house.free(query.format(n="count(*)"))
        assert answer is not None, having
        kept = house.keys["s"] if house.holds(having) else []
        assert [row[0] for row in answer.rows] == kept, having


@pytest.mark.parametrize(
    "where", ["d = 0.1", "d IN (0.1)", "d = '0.1'", "d = 0.1e0", "d > 0.1 AND d < 0.3", "c = 0.3"]
)
def test_a_key_is_the_value_that_its_column_has(house: House, where: str) -> None:
    """0.1 as a double is no value of a DECIMAL, and equalled no literal."""
    assert house.passing(where[0], where) > 0
    assert house.free(f"SELECT {where[0]}, count(*) FROM t WHERE {where} GROUP BY 1") is None


def test_a_key_that_a_decimal_does_not_have_is_still_free(house: House) -> None:
    assert house.free("SELECT d, count(*) FROM t WHERE d = 0.3 GROUP BY d") is not None
