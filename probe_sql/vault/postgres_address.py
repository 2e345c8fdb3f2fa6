"""The URL of a PostgreSQL database, and what may be said where it leads nowhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from probe_sql.errors import InterfaceError, OperationalError

_TIMEOUT = "30min"
_DURATION = re.compile(r"\d{1,9}(ms|s|min|h|d)|0")
_DEFAULTS = {
    "connect_timeout": "10", "application_name": "probe-sql", "keepalives_idle": "60",
    "keepalives_interval": "10", "keepalives_count": "6",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is: what libpq is given, and our own options."""

    parameters: dict[str, Any] = field(repr=False)  # with the password
    schema: str
    timeout: str

    @property
    def database(self) -> str:
        return str(self.parameters.get("dbname") or "of the role's name")

    @property
    def place(self) -> str:
        """The server, without credentials."""
        host = self.parameters.get("host") or "localhost"
        return f"{host}:{self.parameters.get('port') or 5432}"


def read_address(url: str) -> Address:
    """Read a URL; raises `InterfaceError`, without quoting it, where that fails."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = urlsplit(url)
        options = parse_qsl(parts.query, keep_blank_values=True)
        ours = {k: v for k, v in options if k in ("schema", "statement_timeout")}
        theirs = urlencode([(k, v) for k, v in options if k not in ours])
        parameters = conninfo_to_dict(urlunsplit(parts._replace(query=theirs)))
    except (ProgrammingError, ValueError):
        parameters, ours = {}, {}
    if not parameters:
        raise InterfaceError(
            "The URL of the PostgreSQL database cannot be read.",
            why="It is not repeated here, since it may hold a password.",
            fix="postgresql://user@host:5432/database?schema=public, with %40 for @ in a password",
        )
    timeout = ours.get("statement_timeout", _TIMEOUT)
    if not _DURATION.fullmatch(timeout):
        raise InterfaceError(
            "statement_timeout is a number with a unit.",
            fix="statement_timeout=90s, 30min or 2h; 0 for no limit",
        )
    known = {**_DEFAULTS, **{k: v for k, v in parameters.items() if v is not None}}
    known["client_encoding"] = "UTF8"
    return Address(known, ours.get("schema") or "public", timeout)


def unreachable(address: Address, error: Exception) -> OperationalError:
    """What to say where connecting failed: the server's text is looked at, never repeated.

    No row was read by then. Words of the server in another language give the general text.
    """
    words = str(error)
    role = address.parameters.get("user") or "the operating system's user"
    if "password" in words or "authentication" in words or "pg_hba" in words:
        return OperationalError(
            f"The server at {address.place} did not let {role} in.",
            why="The password is missing or wrong, or pg_hba.conf has no rule for this client.",
            fix="Put it into ~/.pgpass or PGPASSWORD, or into the URL; %40 stands for @.",
        )
    if "role" in words and "not exist" in words:
        return OperationalError(
            f"The server at {address.place} has no role {role}.",
            fix="Ask its administrator for a role that may SELECT from the tables.",
        )
    if "database" in words and "not exist" in words:
        return OperationalError(
            f"The server at {address.place} has no database {address.database}.",
            fix="Check the name after the last / of the URL.",
        )
    return OperationalError(
        f"The PostgreSQL server at {address.place} could not be reached.",
        why="Nothing answers there, or it does not accept connections now.",
        fix="Check host and port, that the server runs, and that sslmode is what it wants.",
    )
