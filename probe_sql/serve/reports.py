"""Errors and notices as a client reads them: SQLSTATE, position, why (detail) and fix (hint)."""

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
from probe_sql.serve.messages import ProtocolError, report
from probe_sql.text import visible

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


def error_report(error: BaseException, *, fatal: bool = False) -> bytes:
    """An error for the client; its span is one of the client's text.

    Privacy: the text of an error that is not ours may hold a private value, and is not sent.
    """
    severity = "FATAL" if fatal else "ERROR"
    if isinstance(error, ProtocolError):
        return report(b"E", "FATAL", "08P01", str(error))
    if not isinstance(error, ProbeError):
        return report(
            b"E",
            severity,
            "XX000",
            f"something unforeseen happened ({type(error).__name__})",
            detail="its details are not shown, because they could hold private values",
            hint="report it to the owner of the server, with the query",
        )
    return report(
        b"E",
        severity,
        sqlstate(error),
        visible(error.what),
        detail=_shown(error.why),
        hint=_shown(error.fix),
        position=None if error.span is None else error.span.start + 1,
    )


def notice(text: str, severity: str = "NOTICE") -> bytes:
    """A remark beside a result."""
    code = "01000" if severity == "WARNING" else "00000"
    return report(b"N", severity, code, visible(text))


def _shown(text: str | None) -> str | None:
    return None if text is None else visible(text)
