"""The table of mutants fits the package as it is; `python -m tests.mutants` runs them."""

from __future__ import annotations

import pytest

from tests.mutants import ROOT, Mutant, mutants


@pytest.mark.parametrize("mutant", list(mutants()), ids=lambda mutant: mutant.name)
def test_a_mutant_is_an_edit_of_one_place(mutant: Mutant) -> None:
    compile(mutant.mutated(ROOT), mutant.file, "exec")
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert name in (ROOT / path).read_text(encoding="utf-8")
