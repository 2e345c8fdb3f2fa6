"""EXPLAIN: text, tree and JSON say the same, and minimisation lowers the cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from probe_sql.algorithms import NAMES
from probe_sql.logic import Formula, Minimised, simplify
from probe_sql.plan import passes
from probe_sql.plan.explain import Explanation, explain
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, load_policy
from probe_sql.scan.engine import DUCKDB
from tests.examples.clinic import POLICY

from .test_plan import INTRODUCTORY

TREE = (
    "SELECT ward FROM patients GROUP BY ward HAVING "
    "(count(*) > 5000 OR count_if(age > 60) > 1000) AND "
    "(count(*) > 5000 OR count_if(age < 10) > 700)"
)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(POLICY)


def explained(sql: str, policy: Policy, **options: Any) -> Explanation:
    return explain(make_plan(sql, policy, (), engine=DUCKDB, **options))


def test_json_has_the_promised_fields(policy: Policy) -> None:
    data = json.loads(json.dumps(explained(INTRODUCTORY, policy).as_dict()))
    assert len(data["atoms"]) == 4
    assert len(data["aggregates"]) == 2
    assert data["formula"]["leaves_before"] == data["formula"]["leaves_after"] == 4
    assert data["epsilon_worst"] == 1.0
    assert "GROUP BY" in data["scan_sql"]
    assert "missed with probability at most 0.05" in data["guarantee"]


def test_minimisation_saves_a_leaf_and_epsilon(policy: Policy) -> None:
    explanation = explained(TREE, policy, algorithm="probe")
    data = explanation.as_dict()
    assert (data["formula"]["leaves_before"], data["formula"]["leaves_after"]) == (4, 3)
    assert data["formula"]["minimised"] == "Q1 OR (Q2 AND Q3)"
    assert explanation.epsilon_first < explanation.epsilon_unminimised


def test_the_minimiser_is_named_where_its_result_was_used(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyeda")
    by_pyeda = explained(TREE, policy)
    assert by_pyeda.as_dict()["formula"]["method"] == "pyeda"
    assert "Q1 OR (Q2 AND Q3)   (3 leaves, 4 as written, minimised by pyeda)" in str(by_pyeda)
    assert "pyeda" not in str(explained(INTRODUCTORY, policy))  # as it was written
    monkeypatch.setitem(sys.modules, "pyeda.boolalg", None)
    without = explained(TREE, policy)
    assert "Q1 OR (Q2 AND Q3)   (3 leaves, 4 as written)" in str(without)


def test_text_shows_tree_cost_scan_and_promise(policy: Policy) -> None:
    text = str(explained(INTRODUCTORY, policy))
    for part in ("OR\n|- AND", "`- Q2 avg(age) > 65", "sum(age) - 65 * count(age) > 0", "scan"):
        assert part in text
    assert "promise     Each group that satisfies the condition" in text


def test_naive_is_told_to_be_denied_when_it_cannot_pay(policy: Policy) -> None:
    explanation = explained(TREE, policy, algorithm="naive", epsilon=0.001)
    assert explanation.epsilon_worst == 0.0
    assert "would be denied" in str(explanation)


def test_separate_scans_are_shown_one_by_one(policy: Policy) -> None:
    explanation = explained(TREE, policy, fuse=False)
    assert len(explanation.scans) == 3
    assert len(explanation.as_dict()["scan_sql"]) == 3


def test_a_constant_query_has_no_scan_and_no_cost(policy: Policy) -> None:
    sql = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 20 AND count(*) < 10"
    explanation = explained(sql, policy)
    assert explanation.scans == ()
    assert explanation.epsilon_worst == 0.0
    assert "no group" in str(explanation)


def test_explain_never_shows_the_analysts_text_in_the_scan(policy: Policy) -> None:
    sql = "SELECT ward FROM patients /* secret note */ GROUP BY ward HAVING count(*) > 20"
    assert "secret" not in explained(sql, policy).scans[0]


def test_trees_are_priced_by_the_bound_that_is_met_first(
    policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mirror image of a query costs what the query with the rates exchanged costs."""
    prices: list[float] = []

    def watched(formula: Formula, lines: Any, price: Callable[[Formula], float]) -> Minimised:
        prices.append(price(formula))
        return simplify(formula, lines, price)

    monkeypatch.setattr(passes, "simplify", watched)
    for algorithm in NAMES:
        prices.clear()
        plain = explained(TREE, policy, algorithm=algorithm, fnr=0.02, fpr=0.3)
        mirrored = explained(TREE, policy, algorithm=algorithm, fnr=0.3, fpr=0.02, primary="fpr")
        other = explained(TREE, policy, algorithm=algorithm, fnr=0.3, fpr=0.02)
        assert prices[0] == prices[1]
        assert prices[0] > prices[2]
        assert plain.epsilon_unminimised == mirrored.epsilon_unminimised
        assert plain.epsilon_first == mirrored.epsilon_first > other.epsilon_first


def test_a_plan_without_an_engine_shows_no_statement(policy: Policy) -> None:
    explanation = explain(make_plan(TREE, policy))
    assert explanation.scans == ()
    assert "scan_sql" in explanation.as_dict()
