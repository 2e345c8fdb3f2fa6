"""The generated mutants fit the package as it is; `python -m tests.mutation` runs them."""

from __future__ import annotations

import pytest

from tests.mutation import chosen, killed, names, sample, table
from tests.mutator import ROOT, candidates


# `make mutants` runs them all, the slow ones too.
@pytest.mark.slow
def test_there_are_enough_of_them() -> None:
    assert len(list(names())) >= 300


def test_every_survivor_is_explained_in_a_sentence() -> None:
    """Whether its line is still there is for the whole report to say."""
    files = {held.file for held in table().held}
    for name, reason in table().same.items():
        assert name.split(" ", 1)[0] in files
        assert len(reason.split()) >= 4
        assert reason.endswith(".")


@pytest.mark.slow
def test_enough_of_those_that_were_killed_are_still_there() -> None:
    """Else the sample of every change would shrink unseen; `--write` notes them anew."""
    read = table()
    drawn = [mutant.name for mutant, _ in sample(read.held, read.seed, 40)]
    assert len(drawn) == len(set(drawn)) == 40
    assert not set(read.same) & set(killed())


@pytest.mark.slow
def test_a_mutant_changes_one_thing_and_compiles() -> None:
    for held in table().held:
        source = (ROOT / "probe_sql" / held.file).read_bytes()
        for mutant in chosen(held, table().seed):
            changed = mutant.applied(source)
            compile(changed, mutant.file, "exec")
            assert changed != source
            assert len(changed.splitlines()) == len(source.splitlines())


def test_a_choice_stays_when_others_are_taken_too() -> None:
    held = table().held[0]
    every = candidates(held.file)
    assert set(chosen(held, 1)) <= set(every)


def test_the_tests_that_hold_a_file_are_there() -> None:
    for held in table().held:
        for test in held.tests:
            assert (ROOT / test.partition("::")[0]).exists(), test
