"""Where random words come from: the operating system's generator, and nothing in between."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

WordArray = NDArray[np.uint64]


class Words(Protocol):
    """A source of independent, uniformly distributed 64-bit words."""

    def words(self, n: int) -> WordArray:
        """`n` fresh words; no word is ever handed out twice."""
        ...


class SecureWords:
    """Words from the kernel's cryptographic generator; holds no state of its own.

    Privacy: nothing is buffered, so a forked child, a thread or a pickled copy cannot
    repeat words that another process has drawn, and used words do not linger in memory.
    """

    __slots__ = ()

    def words(self, n: int) -> WordArray:
        """`n` fresh words from the operating system; blocks until it has been seeded."""
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
