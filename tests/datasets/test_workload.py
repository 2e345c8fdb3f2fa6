"""Every query of the workloads plans under its policy, and its scan gives the right integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import workload
from datasets.catalogue import DATASETS
from datasets.common import Aggregate, Connection, Dataset
from probe_sql.algorithms.walk import value
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy, load_policy
from probe_sql.types import SqlType, parse_type
from tests.plan.scanned import scanned

NAMES = sorted(DATASETS)


def typed_policy(connection: Connection, dataset: Dataset) -> Policy:
    schemas: dict[str, dict[str, SqlType]] = {}
    for table, column, type_ in connection.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
    ).fetchall():
        schemas.setdefault(table, {})[column] = parse_type(type_)
    return load_policy(dataset.policy).with_types(schemas)


def queries_of(dataset: Dataset) -> Iterator[tuple[str, Sequence[Aggregate]]]:
    for shape in workload.SHAPES:
        for atoms in range(1, 7):
            yield shape, dataset.counts[:atoms]
    for tree in workload.TREES:
        yield tree, dataset.counts[:3]
    for atoms in range(1, len(dataset.averages) + 1):
        yield "conjunction", dataset.averages[:atoms]
    for kpi in dataset.kpis:
        yield "conjunction", (kpi,)


def holds(plan: Plan, measures: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    def atom(number: int) -> NDArray[np.bool_]:
        spec = plan.atoms[number]
        assert isinstance(spec.threshold, int)
        return np.asarray(spec.sign * measures[spec.measure] > spec.threshold)

    return value(plan.formula, atom, measures[0].size)


def check(database: Path, dataset: Dataset) -> int:
    """Plan, scan and compare all queries of a dataset; returns how many."""
    checked = 0
    with workload.opened(database) as connection:
        policy = typed_policy(connection, dataset)
        for shape, aggregates in queries_of(dataset):
            query = workload.build(connection, dataset, shape, aggregates)
            plan = make_plan(query.sql, policy, ranges=query.ranges)
            found = np.array(scanned(connection, plan.scan))
            measures = [found[:, n] for n in range(len(plan.measures))]
            np.testing.assert_array_equal(holds(plan, measures), query.truth, err_msg=query.sql)
            np.testing.assert_array_equal(
                workload.exact(connection, dataset, [query.plain])[0] == 1, query.truth
            )
            counts = [a for a in aggregates if not a.digits]
            exact = np.nan_to_num(
                workload.exact(connection, dataset, [a.exact for a in aggregates])
            )
            if len(counts) == len(aggregates):
                np.testing.assert_array_equal(np.array(measures), exact, err_msg=query.sql)
                # The hints are found by the aggregates' text: none may be overlooked.
                assert [atom.range for atom in plan.atoms] == list(query.ranges.values())
            checked += 1
    return checked


@pytest.mark.parametrize("name", NAMES)
def test_scans_on_generated_rows(name: str, generated: dict[str, Path]) -> None:
    assert check(generated[name], DATASETS[name]) >= 22


def test_scans_on_the_taxi_standin(standin: Path, tmp_path: Path) -> None:
    database = tmp_path / "taxi.duckdb"
    DATASETS["nytaxi"].load_standin(standin, database)
    assert check(database, DATASETS["nytaxi"]) == 22


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sales", "uci"])
def test_scans_on_the_other_standins(name: str, standin: Path, tmp_path: Path) -> None:
    database = tmp_path / "standin.duckdb"
    DATASETS[name].load_standin(standin, database)
    check(database, DATASETS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_thresholds_leave_some_groups_above(name: str, standin: Path, tmp_path: Path) -> None:
    dataset, database = DATASETS[name], tmp_path / "standin.duckdb"
    dataset.load_standin(standin, database)
    with workload.opened(database) as connection:
        for aggregate in dataset.counts:
            query = workload.build(connection, dataset, "conjunction", [aggregate])
            assert 5 <= int(query.truth.sum()) <= 60


@pytest.mark.parametrize("name", NAMES)
def test_queries_beside_the_policy_plan(name: str, generated: dict[str, Path]) -> None:
    dataset = DATASETS[name]
    text = (dataset.folder / "queries.sql").read_text(encoding="utf-8")
    statements = [part for part in text.split(";") if "SELECT" in part]
    assert len(statements) >= 3
    with workload.opened(generated[name]) as connection:
        policy = typed_policy(connection, dataset)
        for statement in statements:
            assert make_plan(statement.strip(), policy).atoms


def test_a_combination_continues_the_shorter_one() -> None:
    for seed in range(20):
        trees = [workload.tree("combination", atoms, seed) for atoms in range(1, 7)]
        for shorter, longer in pairwise(trees):
            assert isinstance(longer, tuple)
            assert longer[1][0] == shorter
        for whole in trees[2:]:
            assert {"AND", "OR"} <= set(workload.text_of(whole, ["a"] * 6).split())


def test_a_tree_reads_the_same_as_text_and_as_truth() -> None:
    atoms = [np.array([bool(row >> n & 1) for row in range(64)]) for n in range(6)]
    for shape in (*workload.SHAPES, *workload.TREES):
        formula = workload.tree(shape, 6)
        text = workload.text_of(formula, [f"a[{n}]" for n in range(6)]).lower()
        for row in range(64):
            expected = eval(text, {"a": [mask[row] for mask in atoms]})
            assert bool(workload.holds(formula, atoms)[row]) == bool(expected)


def test_the_z_score_rule() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    assert workload.threshold(values, 0, z=2.0) == "4"  # 2.5 + 2 * 1.118, cut
    assert workload.threshold(values, 2, z=3.0) == "5.85"
