"""Take over a ledger that its owner has moved, copied or restored."""

from __future__ import annotations

import os
from typing import Any

from probe_sql.database import ledger_place
from probe_sql.ledger import Ledger
from probe_sql.policy import load_policy


def adopt(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> None:
    """Make the ledger at its place the one of this database; its chain must be intact.

    Privacy: what the original or an anchor remembers and the ledger has forgotten is charged, to
    each analyst their own, so adopting an older copy never gives budget back. An original that
    is still at its place is retired.
    """
    rules = load_policy(policy)
    place, identity = ledger_place(source, rules, ledger)
    Ledger.adopt(place, budget=rules.prices(), identity=identity).close()
