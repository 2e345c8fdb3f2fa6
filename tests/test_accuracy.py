"""Which of several bounds on false groups holds, and which options exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms import BEYOND, NAMES
from probe_sql.errors import AccuracyError, PolicyError
from probe_sql.options import agreed, updated
from probe_sql.policy.read import parse_policy

LADDER = Accuracy(algorithm="ladder")


@pytest.mark.parametrize(
    ("levels", "fpr", "fdr"),
    [
        ([{}], 0.1, None),
        ([{"fdr": 0.2}], UNBOUNDED, 0.2),
        ([{"fpr": 0.2}, {"fdr": 0.3}], UNBOUNDED, 0.3),
        ([{"fdr": 0.3}, {"fpr": 0.2}], 0.2, None),
        ([{"fdr": 0.3, "fpr": 0.2}], 0.2, 0.3),
        ([{"fdr": 0.3, "fpr": 0.2}, {"fnr": 0.01}], 0.2, 0.3),
        ([{"fdr": 0.3, "fpr": 0.2}, {"fpr": 0.4}], 0.4, None),
        ([{"fdr": 0.3}, {"algorithm": "probe"}], 0.1, None),
        ([{"fdr": 0.3}, {"algorithm": "ladder"}], UNBOUNDED, 0.3),
    ],
)
def test_the_nearest_bound_replaces_the_other_kind(
    levels: list[dict[str, Any]], fpr: float, fdr: float | None
) -> None:
    accuracy = LADDER
    for options in levels:
        accuracy = updated(accuracy, options)
    assert (accuracy.fpr, accuracy.fdr) == (fpr, fdr)
    assert agreed(accuracy) is accuracy
    assert updated(Accuracy(), accuracy.as_dict()) == accuracy


@pytest.mark.parametrize("algorithm", [name for name in NAMES if name not in BEYOND])
def test_an_algorithm_of_the_paper_refuses_fdr_by_name(algorithm: str) -> None:
    accuracy = updated(Accuracy(), {"algorithm": algorithm, "fdr": 0.1})
    with pytest.raises(AccuracyError, match=f"'{algorithm}' cannot bound fdr") as caught:
        agreed(accuracy)
    assert caught.value.fix is not None
    assert "ladder" in caught.value.fix


@pytest.mark.parametrize("options", [{"primary": "fpr"}, {"fpr_scope": "group"}])
def test_bounds_for_each_group_exclude_fdr(options: dict[str, str]) -> None:
    with pytest.raises(AccuracyError, match="exclude each other"):
        agreed(updated(LADDER, {"fdr": 0.1, **options}))


def test_a_strict_proof_needs_the_ladder() -> None:
    assert agreed(updated(LADDER, {"proof": "strict"})).proof == "strict"
    with pytest.raises(AccuracyError, match="no strict proof"):
        agreed(updated(Accuracy(), {"proof": "strict"}))


POLICY = """
[budget]
epsilon = 1.0
[defaults]
fdr = 0.1
{more}
[tables.t.columns.a]
keys = ["x", "y"]
"""


def test_a_policy_may_bound_the_list_if_it_names_the_ladder() -> None:
    policy = parse_policy(POLICY.format(more="algorithm = 'ladder'"), "p.toml")
    assert (policy.accuracy().fpr, policy.accuracy().fdr) == (UNBOUNDED, 0.1)
    paper = agreed(updated(policy.accuracy(), {"algorithm": "probe"}))
    assert (paper.fpr, paper.fdr) == (0.1, None)
    with pytest.raises(PolicyError, match="'probe' cannot bound fdr"):
        parse_policy(POLICY.format(more="algorithm = 'probe'"), "p.toml")
