"""The ledger: what was spent, durably, before anything is released.

`Ledger.reserve` charges and hands out the `Receipt` that the vault asks for; `settle`
lowers the charge to what was drawn. Beside the ledger's file lie anchors that remember how
far it had come, so that a missing, copied or rolled-back ledger is an error.
"""

from probe_sql.ledger.dated import PeriodState
from probe_sql.ledger.heads import MovedError, Taken
from probe_sql.ledger.kept import Kept, Saving
from probe_sql.ledger.ledger import STOPPED, Ledger
from probe_sql.ledger.values import BudgetState, Entries, Entry, Receipt

__all__ = [
    "STOPPED",
    "BudgetState",
    "Entries",
    "Entry",
    "Kept",
    "Ledger",
    "MovedError",
    "PeriodState",
    "Receipt",
    "Saving",
    "Taken",
]
