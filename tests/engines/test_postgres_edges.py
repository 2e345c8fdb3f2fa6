"""Random expressions over values at the edges of their types: PostgreSQL against DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import duckdb
import pytest

from probe_sql.errors import Refused, SqlError
from probe_sql.plan import weights
from probe_sql.vault.backends import open_backend
from tests.audit import matrix_forms
from tests.engines import edges
from tests.engines.contract import Pair
from tests.engines.server import READER, Server

QUERY = "SELECT k FROM edges GROUP BY k HAVING "
_NAMES = list(edges.COLUMNS)
_CREATE = ", ".join(f'"{name}" {type_}' for name, type_ in edges.COLUMNS.items())


def _in_postgres(value: str | None) -> str | None:
    """A date before the first year as PostgreSQL writes it."""
    return value if value is None or "(BC)" not in value else value.replace(" (BC)", "") + " BC"


@pytest.fixture(scope="module")
def both(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    rows = edges.rows(200, seed=1)
    path = tmp_path_factory.mktemp("edges") / "edges.duckdb"
    marks = ", ".join(f"CAST(? AS {type_})" for type_ in edges.COLUMNS.values())
    with duckdb.connect(str(path)) as local:
        local.execute(f"CREATE TABLE edges ({_CREATE})")
        values = [[row[name] for name in _NAMES] for row in rows]
        local.executemany(f"INSERT INTO edges VALUES ({marks})", values)
    schema = server.load({})
    with server.owner() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {schema}.edges ({_CREATE})")
        cursor.execute(f"GRANT SELECT ON {schema}.edges TO {READER}")
        cursor.executemany(
            f"INSERT INTO {schema}.edges VALUES ({marks.replace('?', '%s')})",
            [[_in_postgres(row[name]) for name in _NAMES] for row in rows],
        )
    policy = edges.policy()
    backend = open_backend(server.url(schema=schema), policy)
    found = Pair(backend, open_backend(str(path), policy), policy.with_types(backend.schemas()))
    assert found.policy == policy.with_types(found.reference.schemas())
    yield found
    found.close()


def accepted(both: Pair, seed: int, count: int) -> list[str]:
    """Conditions that the engine does not refuse."""
    source = edges.Conditions(seed)
    found = []
    for _ in range(count):
        atom = f"count(*) FILTER (WHERE {source.condition()}) > 3"
        try:
            both.plan(QUERY + atom)
        except (Refused, SqlError):
            continue
        found.append(atom)
    return found


def check(both: Pair, seed: int, count: int) -> None:
    atoms = accepted(both, seed, count)
    assert len(atoms) > 0.8 * count
    for start in range(0, len(atoms), 12):
        both.agree(both.plan(QUERY + " AND ".join(atoms[start : start + 12])))


def test_conditions_at_the_edges(both: Pair) -> None:
    check(both, seed=1, count=48)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_conditions_at_the_edges(seed: int, both: Pair) -> None:
    check(both, seed, count=400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_sample_of_the_matrix(seed: int, both: Pair) -> None:
    """Every form of the dialect on every type: the same integers, or a refusal."""
    found = 0
    for atom in matrix_forms.conditions(Random(seed), _NAMES, "j > 0"):
        try:
            plan = both.plan(QUERY + atom)
        except (Refused, SqlError):
            continue
        both.agree(plan)
        found += 1
        if found == 150:
            break


@pytest.mark.parametrize(
    "aggregate",
    [
        "sum(x)", "sum(r)",
        "sum(y)", "sum(n)", "sum(i)", "avg(y)", "sum(y / 3)", "sum(n * y)", "sum(y * i)",
        "sum(y * y)", "avg(y * r)",
        "sum(round(y, 1))", "sum(least(greatest(x, -1), 1))", "count(DISTINCT x)",
        "count(DISTINCT r)", "count(DISTINCT w)", "count(DISTINCT d)", "count(DISTINCT s)",
    ],
)  # fmt: skip
def test_sums_at_the_edges(aggregate: str, both: Pair) -> None:
    both.agree(both.plan(f"{QUERY}{aggregate} > 3"))


@pytest.mark.parametrize("steps", [(0, 1), (7, 9), (-3, -2)])
def test_sums_are_clamped_to_their_planned_integers(
    steps: tuple[int, int], both: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With wrong intervals the clamp of the scan decides, as on DuckDB."""
    monkeypatch.setattr(weights, "_steps", lambda *_: steps)
    atoms = [f"sum({value}) > 3" for value in ("x", "y", "r", "n", "i", "y * r", "n * 2", "i + 1")]
    both.agree(both.plan(QUERY + " AND ".join(atoms)))
