"""Repeatable words for benchmarks and tests, outside the package: a wheel has no seeded noise."""

from __future__ import annotations

import numpy as np

from probe_sql.vault.randomness import WordArray


class SeededWords:
    """The same words for the same seed: for tests and benchmarks only, never for a release.

    Privacy: none. Whoever knows the seed can subtract the noise. No module of the package
    imports it, and no SQL, command, policy or public argument leads here; tests hold that.
    """

    __slots__ = ("_generator",)

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)

    def words(self, n: int) -> WordArray:
        """The next `n` words of the stream that the seed names."""
        return np.asarray(self._generator.random_raw(n), dtype=np.uint64)
