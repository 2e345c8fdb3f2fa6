"""A served database from Python: the same calls and answers, over PostgreSQL's protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from probe_sql.remote.address import SCHEME, Address

if TYPE_CHECKING:
    from probe_sql.remote.connection import RemoteConnection, connect
    from probe_sql.remote.told import RemoteExplanation

__all__ = ["SCHEME", "Address", "RemoteConnection", "RemoteExplanation", "connect"]


def __getattr__(name: str) -> Any:
    """Load what speaks to a server when it is first asked for (PEP 562)."""
    if name in ("RemoteConnection", "connect"):
        from probe_sql.remote import connection

        return getattr(connection, name)
    if name == "RemoteExplanation":
        from probe_sql.remote.told import RemoteExplanation

        return RemoteExplanation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
