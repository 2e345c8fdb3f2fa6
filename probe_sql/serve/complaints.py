"""What a door says no with: an error of the session itself, and the SQLSTATE of every error."""

from __future__ import annotations

from probe_sql.errors import (
    AccuracyError,
    BudgetExhausted,
    DataError,
    InterfaceError,
    Interrupted,
    LedgerError,
    NotSupportedError,
    OperationalError,
    PolicyError,
    ProbeError,
    ScanError,
    SqlError,
    Stopped,
)

DENIED = "PS001"  # in no class of PostgreSQL's: the query was denied within its limits
_STATES: tuple[tuple[type[ProbeError], str], ...] = (
    (BudgetExhausted, "53400"),
    (Interrupted, "57014"),
    (Stopped, "55000"),
    (ScanError, "58000"),
    (LedgerError, "58030"),
    (AccuracyError, "22023"),
    (SqlError, "42601"),
    (PolicyError, "F0000"),
    (NotSupportedError, "0A000"),
    (DataError, "22000"),
    (InterfaceError, "22023"),
    (OperationalError, "58000"),
)


class Complaint(ProbeError):
    """An error of the session itself, with its SQLSTATE."""

    def __init__(
        self, code: str, what: str, *, why: str | None = None, fix: str | None = None
    ) -> None:
        super().__init__(what, why=why, fix=fix)
        self.code = code


def sqlstate(error: ProbeError) -> str:
    """The SQLSTATE of one of our errors."""
    if isinstance(error, Complaint):
        return error.code
    return next((code for kind, code in _STATES if isinstance(error, kind)), "XX000")
