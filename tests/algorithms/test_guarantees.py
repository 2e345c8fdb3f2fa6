"""The sentences that answers and EXPLAIN share: they hedge alike, and so do the documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from probe_sql import algorithms
from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import NAMES
from probe_sql.errors import AccuracyError

ROOT = Path(__file__).parents[2]
ASKED = Accuracy(fnr=0.03, fpr=0.07, fdr=None)
HEDGES = ("estimated from the noisy values", "threshold may be undercounted")
BOUNDED = [name for name in NAMES if name != "apex"]


def text(name: str, accuracy: Accuracy = ASKED, *, capped: bool = False) -> str:
    return algorithms.get(name).guarantee(accuracy, capped=capped).text


@pytest.mark.parametrize("name", ["probe", "probe-naive", "probe-ent"])
@pytest.mark.parametrize("primary", ["fnr", "fpr"])
def test_a_rate_that_is_estimated_is_called_so(name: str, primary: str) -> None:
    said = text(name, replace(ASKED, primary=primary))
    assert all(hedge in said for hedge in HEDGES)
    assert "not a bound for each group" in said


@pytest.mark.parametrize("name", BOUNDED)
def test_the_bound_of_each_side_is_on_its_side(name: str) -> None:
    misses = algorithms.get(name).guarantee(ASKED)
    falses = algorithms.get(name).guarantee(replace(ASKED, primary="fpr"))
    assert (misses.fnr, falses.fpr) == (0.03, 0.07)
    assert misses.text.startswith("Each group that satisfies the condition is missed with")
    assert "missed with probability at most 0.03" in misses.text
    assert falses.text.startswith("Each group that does not satisfy the condition is returned")
    assert "returned with probability at most 0.07" in falses.text


@pytest.mark.parametrize("name", NAMES)
def test_under_caps_the_promise_is_about_the_rows_that_stay(name: str) -> None:
    plain = text(name)
    assert text(name, capped=True).startswith(plain)
    assert text(name, capped=True).endswith("about the rows that the caps on one person keep.")
    assert "caps" not in plain


@pytest.mark.parametrize("name", NAMES)
def test_a_bound_that_cannot_be_kept_is_refused_before_anything_is_read(name: str) -> None:
    with pytest.raises(AccuracyError, match="out of range"):
        text(name, replace(ASKED, primary="fpr", fpr=0.6))


def test_an_answer_that_may_be_marked_is_announced() -> None:
    said = algorithms.get("ladder").guarantee(replace(ASKED, on_exhausted="mark"))
    assert "Or, if the budget ends first:" in said.text
    assert "groups marked possible are undecided" in said.text
    assert (said.fnr, said.fpr) == (0.03, None)


@pytest.mark.parametrize("page", ["PRIVACY.md", "docs/algorithms.md"])
def test_the_documents_say_whose_rows_the_rates_are_about(page: str) -> None:
    written = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert "Where a person is protected, both rates are about" in written.replace("**", "")
    said = text("probe", capped=True).removeprefix(text("probe"))
    assert "the rows that the caps on one person keep" in said
    assert "the rows that the caps on one person keep" in written


@pytest.mark.parametrize(
    "page", ["README.md", "PRIVACY.md", "docs/algorithms.md", "docs/tutorial.md"]
)
def test_the_documents_hedge_as_the_answers_do(page: str) -> None:
    written = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert "estimated from the noisy values" in written
    assert "within noise of a threshold may be undercounted" in written
    assert "not a bound for each group" in written.replace("It is not", "not")
