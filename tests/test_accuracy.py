"""Which of several bounds on false groups holds, and which options exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

from probe_sql.accuracy import ALGORITHMS, UNBOUNDED, Accuracy
from probe_sql.errors import AccuracyError

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
        accuracy = accuracy.updated(options)
    assert (accuracy.fpr, accuracy.fdr) == (fpr, fdr)
    assert accuracy.agreed() is accuracy
    assert Accuracy().updated(accuracy.as_dict()) == accuracy


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "ladder"])
def test_an_algorithm_of_the_paper_refuses_fdr_by_name(algorithm: str) -> None:
    accuracy = Accuracy().updated({"algorithm": algorithm, "fdr": 0.1})
    with pytest.raises(AccuracyError, match=f"'{algorithm}' cannot bound fdr") as caught:
        accuracy.agreed()
    assert caught.value.fix is not None
    assert "ladder" in caught.value.fix


@pytest.mark.parametrize("options", [{"primary": "fpr"}, {"fpr_scope": "group"}])
def test_bounds_for_each_group_exclude_fdr(options: dict[str, str]) -> None:
    with pytest.raises(AccuracyError, match="exclude each other"):
        LADDER.updated({"fdr": 0.1, **options}).agreed()


def test_a_strict_proof_needs_the_ladder() -> None:
    assert LADDER.updated({"proof": "strict"}).agreed().proof == "strict"
    with pytest.raises(AccuracyError, match="no strict proof"):
        Accuracy().updated({"proof": "strict"}).agreed()
