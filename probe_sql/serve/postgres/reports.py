"""Errors and notices as a client reads them: SQLSTATE, position, why (detail) and fix (hint)."""

from __future__ import annotations

from probe_sql.errors import ProbeError
from probe_sql.serve.complaints import sqlstate
from probe_sql.serve.postgres.messages import ProtocolError, report
from probe_sql.text import visible


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
