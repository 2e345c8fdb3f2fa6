"""Named instants of a query at which a test may stop the process; silent otherwise.

Crash safety is a claim about every instant between two durable steps, so the code names
those instants. A test installs a hook in its own process (one that sends SIGKILL, say).
No environment variable, option, policy or SQL text reaches this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

POINTS: Mapping[str, str] = MappingProxyType(
    {
        "ledger.create.before": "no file exists yet",
        "ledger.create.begun": "the first anchor says that a ledger is being created",
        "ledger.create.inserted": "schema and first row written, not committed",
        "ledger.create.committed": "the first row is durable, its anchors are not written",
        "ledger.create.anchoring": "there is room for new anchors, the old ones are in place",
        "ledger.create.anchored": "file and anchors agree",
        "ledger.reserve.before": "nothing has begun",
        "ledger.reserve.inserted": "the reservation is written, not committed",
        "ledger.reserve.committed": "the reservation is durable, its anchors are not written",
        "ledger.reserve.anchoring": "there is room for new anchors, the old ones are in place",
        "ledger.reserve.anchored": "ledger and anchors agree, the receipt is not yet returned",
        "ledger.draw.before": "the scan is over, the hold cannot draw",
        "ledger.draw.inserted": "that it draws is written, not committed",
        "ledger.draw.committed": "that it draws is durable, its anchors are not written",
        "ledger.draw.anchoring": "there is room for new anchors, the old ones are in place",
        "ledger.draw.anchored": "ledger and anchors agree, the receipt may draw",
        "ledger.settle.before": "nothing has begun, the whole reservation is charged",
        "ledger.settle.kept": "the answer is written, not committed, and its settlement is not",
        "ledger.settle.inserted": "the settlement is written, not committed",
        "ledger.settle.committed": "the settlement outlives the process, no anchor knows it",
        "vault.scan.before": "no private row has been read",
        "vault.scan.after": "the exact sums are in the vault, nothing is drawn",
        "vault.draw.before": "the meter has counted the spend, no noise exists yet",
        "vault.draw.after": "noisy values exist and have not left the vault",
        "session.reserved": "the whole epsilon is held, nothing is read",
        "session.scanned": "the scan is over, the hold cannot draw yet",
        "session.drawing": "the ledger says that it draws, nothing is drawn",
        "session.decided": "all draws are made, the whole epsilon is still charged",
        "session.settled": "the charge is the realised loss, nothing has been shown",
    }
)
"""Every point of the walk and what is true when a query stands there."""

_hook: Callable[[str], None] | None = None


def point(name: str) -> None:
    """Do nothing, unless a test has installed a hook: then call it with `name`."""
    if _hook is not None:
        if name not in POINTS:
            raise KeyError(name)
        _hook(name)


def install(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every point of this process from now on; None removes it."""
    global _hook
    _hook = hook
