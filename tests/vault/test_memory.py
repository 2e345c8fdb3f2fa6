"""No exact value and no noise outlives its use: not in tracebacks, not in an ended meter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.seeded import SeededWords
from probe_sql import faults
from probe_sql.ledger import Ledger
from probe_sql.logic import And, Leaf
from probe_sql.measuring import Atom
from probe_sql.vault.exact import Exact
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.randomness import WordArray
from tests.vault import desk
from tests.vault.remains import VAULT, Bolt, secrets_within

GROUPS = 5
SUMS = tuple(7_654_321_000 + 13 * index for index in range(GROUPS))
FINE, COARSE = 2e-6, 1e-6  # noise of about a million, so that each value is one of its kind
SEED = 41
ALL = np.ones(GROUPS, dtype=np.bool_)


def meter(ledger: Ledger, words: Any = None) -> VaultMeter:
    sums = Exact([np.array(SUMS), np.array(SUMS) + 5], GROUPS)
    words = words or SeededWords(SEED)
    return desk.meter(ledger, sums, (1, 1), ((0, 1),), 1e-3, words=words)


def draw(made: VaultMeter) -> None:
    made.draw(0, COARSE, ALL)


def reveal(made: VaultMeter) -> None:
    made.reveal(0, COARSE, ALL)
    made.reveal(0, FINE, ALL)


def fold(made: VaultMeter) -> None:
    atoms = (Atom("A1", 0, 1, 3, 1, 100.0), Atom("A2", 1, -1, 4, 1, 100.0))
    made.draw(made.measure_condition(And((Leaf(0), Leaf(1))), atoms), COARSE, ALL)


WAYS = pytest.mark.parametrize("way", [draw, reveal, fold])


def secrets_of(ledger: Ledger, way: Callable[[VaultMeter], None]) -> set[int]:
    """The exact sums, what `fold` makes of them, and every noise that this way draws."""
    wanted = {*SUMS, *(s + 5 for s in SUMS), *(s - 3 for s in SUMS), *(-s - 9 for s in SUMS)}
    seen: list[int] = []
    desk = meter(ledger)
    inner = desk.draw, desk.reveal

    def drawing(measure: int, epsilon: float, groups: Any) -> Any:
        noisy = inner[0](measure, epsilon, groups)
        seen.extend((noisy - np.array(SUMS)).tolist())
        return noisy

    def revealing(measure: int, epsilon: float, groups: Any) -> Any:
        noisy = inner[1](measure, epsilon, groups)
        seen.extend((noisy - np.array(SUMS)).tolist())
        return noisy

    desk.draw, desk.reveal = drawing, revealing  # type: ignore[method-assign]
    if way is not fold:
        way(desk)
        assert min(abs(noise) for noise in seen) > 1000
    desk.close()
    return wanted | set(seen)


@WAYS
def test_the_search_finds_what_a_frame_holds(ledger: Ledger, way: Callable[..., None]) -> None:
    def careless() -> None:
        held = np.array(SUMS)
        raise KeyboardInterrupt(len(held))

    careless.__code__ = careless.__code__.replace(co_filename=str(Path(VAULT, "careless.py")))
    secrets = secrets_of(ledger, way)
    with pytest.raises(KeyboardInterrupt) as caught:
        careless()
    assert secrets_within([caught.value], secrets) == set(SUMS)
    desk = meter(ledger)
    assert secrets_within([desk], secrets) >= set(SUMS)
    desk.close()


@WAYS
@pytest.mark.parametrize("ending", ["settle", "close"])
def test_a_meter_that_has_ended_holds_nothing(
    ledger: Ledger, way: Callable[[VaultMeter], None], ending: str
) -> None:
    secrets = secrets_of(ledger, way)
    desk = meter(ledger)
    way(desk)
    if ending == "settle":
        desk.settle("answered")
    else:
        desk.close()
    assert secrets_within([desk], secrets) == set()


@WAYS
def test_an_exception_at_many_lines_of_a_draw_takes_nothing_along(
    ledger: Ledger, way: Callable[[VaultMeter], None]
) -> None:
    """Every fourth; all of them take a few seconds longer and find no more."""
    secrets = secrets_of(ledger, way)
    struck = 0
    for at in range(1, 100_000, 4):
        desk = meter(ledger)
        bolt = Bolt(at, VAULT)
        error = bolt.during(partial(way, desk))
        desk.close()
        if not bolt.struck:
            break
        struck += 1
        assert isinstance(error, KeyboardInterrupt)
        assert secrets_within([error, desk], secrets) == set(), at
    assert struck > 10


@WAYS
@pytest.mark.slow
def test_an_exception_at_many_instructions_of_a_draw_takes_nothing_along(
    ledger: Ledger, way: Callable[[VaultMeter], None]
) -> None:
    """Every 97th, which falls on other instructions of each round of a loop."""
    secrets = secrets_of(ledger, way)
    struck = 0
    for at in range(1, 100_000, 97):
        desk = meter(ledger)
        bolt = Bolt(at, VAULT, opcodes=True)
        error = bolt.during(partial(way, desk))
        desk.close()
        if not bolt.struck:
            break
        struck += 1
        assert secrets_within([error, desk], secrets) == set(), at
    assert struck > 10


class FailingWords(SeededWords):
    """Words that end with an exception after the first few requests."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        super().__init__(SEED)
        self.left = left

    def words(self, n: int) -> WordArray:
        self.left -= 1
        if self.left < 0:
            raise OSError
        return super().words(n)


@WAYS
@pytest.mark.parametrize("left", [0, 1, 2, 5, 8])
def test_a_generator_that_fails_takes_nothing_along(
    ledger: Ledger, way: Callable[[VaultMeter], None], left: int
) -> None:
    secrets = secrets_of(ledger, way)
    desk = meter(ledger, FailingWords(left))
    failed: list[OSError] = []
    try:
        way(desk)
    except OSError as error:
        failed.append(error)
    desk.close()
    assert left or failed
    assert secrets_within([*failed, desk], secrets) == set()


@WAYS
def test_arrays_are_overwritten_and_not_only_forgotten(
    ledger: Ledger, way: Callable[[VaultMeter], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has kept a reference to what the vault worked on finds zeros there."""
    kept: list[np.ndarray[Any, Any]] = []
    for name in ("zeros", "clip", "array"):
        made = getattr(np, name)

        def remember(*args: Any, made: Any = made, **kwargs: Any) -> Any:
            kept.append(made(*args, **kwargs))
            return kept[-1]

        monkeypatch.setattr(np, name, remember)
    secrets = secrets_of(ledger, way)

    def strike(name: str) -> None:
        if name == "vault.draw.after":
            raise KeyboardInterrupt

    desk = meter(ledger)
    kept.clear()
    faults.install(strike)
    try:
        with pytest.raises(KeyboardInterrupt):
            way(desk)
    finally:
        faults.install(None)
    desk.close()
    monkeypatch.undo()
    assert kept
    assert secrets_within(kept, secrets) == set()


def test_draws_cut_short_by_real_signals_leave_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.vault.interrupted", str(tmp_path), "30"]
    root = Path(__file__).parent.parent.parent
    ended = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=True, timeout=60
    )
    words = ended.stdout.split()
    assert int(words[1]) >= 10
    assert words[2:] == ["found", "0"]
