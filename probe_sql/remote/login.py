"""Log in to a served database, whose certificate and host are verified by default."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Mapping
from typing import Any

from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.remote.connection import Address, RemoteConnection


def connect(text: str, password: str | None = None) -> RemoteConnection:
    """Log in to a served database.

    Without `password` it comes from where libpq finds it (PGPASSWORD, ~/.pgpass), or it is asked
    for where somebody can answer.
    """
    address = Address.read(text)
    try:
        import psycopg
    except ImportError:
        raise InterfaceError(
            "psycopg is not installed", fix='pip install "probe-sql[postgres]"'
        ) from None
    settings = address.settings
    if password is not None:
        settings["password"] = password
    try:
        link = _linked(settings)
    except psycopg.OperationalError as error:
        if password is not None or "no password supplied" not in str(error) or not _somebody():
            raise _not_let_in(address, str(error)) from None
        settings["password"] = getpass.getpass(f"Password of {address.user} at {address.host}: ")
        try:
            link = _linked(settings)
        except psycopg.OperationalError as again:
            raise _not_let_in(address, str(again)) from None
    return RemoteConnection(address, link)


def _linked(settings: Mapping[str, str]) -> Any:
    import psycopg

    return psycopg.connect(autocommit=True, cursor_factory=psycopg.RawCursor, **settings)  # type: ignore[arg-type]


def _somebody() -> bool:
    """Whether there is somebody who can type a password: at a terminal or in a notebook."""
    return sys.stdin.isatty() or "ipykernel" in sys.modules


def _not_let_in(address: Address, said: str) -> OperationalError:
    """Why the server did not let us in; what libpq says is not repeated, it may hold settings."""
    lower = said.lower()
    if "certificate" in lower or "ssl" in lower:
        return OperationalError(
            f"the server at {address.host} could not be verified",
            why="its certificate is not signed by whom this machine trusts, is for another host,"
            " or it has none",
            fix="add ?sslrootcert=/path/to/ca.pem to the address, or on your own machine alone"
            " ?sslmode=disable",
        )
    if "password" in lower or "authentication" in lower or "28p01" in lower:
        return OperationalError(
            f"{address.user} was not let in at {address.host}",
            why="the name or the password is wrong, or none was given",
            fix="pass password=..., or set PGPASSWORD",
        )
    return OperationalError(
        f"no server was reached at {address.host}:{address.port}",
        fix="look whether it runs (probe-sql serve), and at its address",
    )
