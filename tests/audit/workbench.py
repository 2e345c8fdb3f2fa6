"""What every audit needs: no noise, and a connection with a chosen sampler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.seeded import SeededWords
from probe_sql.database import Database
from probe_sql.ledger import Ledger
from probe_sql.measuring import Ints, Mask
from probe_sql.policy import Reuse, load_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Coins, Epsilon, Sampler


class QuietSampler(Sampler):
    """No noise at all: what the engine decides is then what it measured."""

    def __init__(self) -> None:
        super().__init__(SeededWords(0))

    def discrete_laplace(self, n: int, epsilon: Epsilon, delta: int) -> Ints:  # noqa: ARG002
        return np.zeros(n, dtype=np.int64)

    def bernoulli(self, n: int, coin: Coins) -> Mask:  # noqa: ARG002
        return np.zeros(n, dtype=np.bool_)

    def _geometric(self, n: int, digits: Coins) -> Ints:  # noqa: ARG002
        return np.zeros(n, dtype=np.int64)


def opened(
    source: Any,
    policy: Path,
    sampler: Sampler,
    analyst: str | None = None,
    ledger: Path | None = None,
    connection: type[Connection] = Connection,
) -> Connection:
    """A connection with the given sampler; the constructor is the only way to choose one.

    No answer is given again: whoever asks the same many times wants to see as many draws.
    """
    rules = replace(load_policy(policy), reuse=Reuse(answers="none"))
    backend = open_backend(source, rules, threads=1)
    typed = rules.with_types(backend.schemas())
    path = ledger or Path(source).with_suffix(".ledger")
    book = Ledger.open(path, budget=typed.budget, identity=str(path))
    return connection(Database(backend, typed, book, sampler), analyst)
