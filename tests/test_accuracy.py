"""Which of several bounds on false groups holds, and which options exclude each other."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.algorithms import BEYOND, NAMES
from probe_sql.errors import AccuracyError, PolicyError
from probe_sql.options import agreed, updated
from probe_sql.owner.demo import POLICY as DEMO_POLICY
from probe_sql.owner.draft import draft
from probe_sql.policy.read import parse_policy


@pytest.mark.parametrize(
    ("levels", "fpr", "fdr"),
    [
        ([{}], UNBOUNDED, 0.1),
        ([{"algorithm": "probe"}], 0.1, None),
        ([{"algorithm": "probe"}, {"fnr": 0.01}], 0.1, None),
        ([{"algorithm": "probe"}, {"fpr": 0.2}], 0.2, None),
        ([{"fpr": 0.2}, {"algorithm": "probe"}], 0.2, None),
        ([{"fpr": 0.2, "fdr": 0.3}, {"algorithm": "naive"}], 0.2, None),
        ([{"primary": "fpr"}], 0.1, None),
        ([{"fpr": 0.2}, {"spend": "all"}], UNBOUNDED, None),
        ([{"spend": "all"}, {"spend": "least"}], UNBOUNDED, 0.1),
        ([{"spend": "all"}, {"spend": "least", "fpr": 0.3}], 0.3, None),
        ([{"fdr": 0.3}, {"fpr_scope": "group"}], 0.1, None),
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
    accuracy = Accuracy()
    for options in levels:
        accuracy = updated(accuracy, options)
    assert (accuracy.fpr, accuracy.fdr) == (fpr, fdr)
    assert agreed(accuracy) is accuracy
    if accuracy.spend == "least":
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
        agreed(updated(Accuracy(), {"fdr": 0.1, **options}))


@pytest.mark.parametrize(
    "options", [{"fdr": 0.1}, {"fpr": 0.1}, {"primary": "fpr"}, {"fpr_scope": "group"}]
)
def test_all_of_epsilon_excludes_other_bounds(options: dict[str, Any]) -> None:
    with pytest.raises(AccuracyError, match="exclude each other"):
        agreed(updated(updated(Accuracy(), {"spend": "all"}), options))
    with pytest.raises(AccuracyError, match="'probe' cannot spend all"):
        agreed(updated(Accuracy(), {"spend": "all", "algorithm": "probe"}))


def test_a_strict_proof_needs_the_ladder() -> None:
    assert agreed(updated(Accuracy(), {"proof": "strict"})).proof == "strict"
    with pytest.raises(AccuracyError, match="no strict proof"):
        agreed(updated(Accuracy(), {"proof": "strict", "algorithm": "probe"}))


def test_a_silent_query_gets_the_ladder_and_a_bound_on_the_list() -> None:
    silent = Accuracy()
    assert (silent.algorithm, silent.fnr, silent.fdr) == ("ladder", 0.05, 0.10)
    assert agreed(silent) is silent
    assert parse_policy(POLICY.format(more="").replace("fdr = 0.1\n", "")).accuracy() == silent


def test_what_is_written_for_owners_says_the_same(tmp_path: Path) -> None:
    """The draft of `probe-sql init` and the demo's policy: the default, in so many words."""
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    for text in (draft(tmp_path / "t.duckdb"), DEMO_POLICY):
        assert updated(Accuracy(fnr=0.4, fdr=0.4), tomllib.loads(text)["defaults"]) == Accuracy()


POLICY = """
[budget]
epsilon = 1.0
[defaults]
fdr = 0.1
{more}
[tables.t.columns.a]
keys = ["x", "y"]
"""


def test_a_policy_may_bound_the_list_unless_it_names_an_algorithm_of_the_paper() -> None:
    policy = parse_policy(POLICY.format(more=""), "p.toml")
    assert (policy.accuracy().fpr, policy.accuracy().fdr) == (UNBOUNDED, 0.1)
    paper = agreed(updated(policy.accuracy(), {"algorithm": "probe"}))
    assert (paper.fpr, paper.fdr) == (0.1, None)
    with pytest.raises(PolicyError, match="'probe' cannot bound fdr"):
        parse_policy(POLICY.format(more="algorithm = 'probe'"), "p.toml")
