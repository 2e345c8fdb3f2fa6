"""Read the URL of a PostgreSQL database, and say why a connection failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from probe_sql.errors import ProbeError
from probe_sql.vault import refusals

_TIMEOUT = "30min"
_SCHEMA = "public"
_DURATION = re.compile(r"(\d{1,9})(ms|s|min|h|d)|(0)")
_UNITS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_URL = re.compile(
    r"postgres(?:ql)?://(?P<login>[^/?#]*)(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?", re.I
)
_HOST = re.compile(r"(\[[0-9a-f:.%]+\]|[^:\[\]@]*)(:\d{0,5})?", re.I)
_CHOOSING = ("host", "hostaddr", "port", "dbname", "service")  # options that name a database
_DEFAULTS = {
    "connect_timeout": "10", "application_name": "probe-sql", "keepalives_idle": "60",
    "keepalives_interval": "10", "keepalives_count": "6",
    "options": "",  # else the variable PGOPTIONS would set what it likes
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
    def server(self) -> str:
        """The server, without credentials."""
        host = self.parameters.get("host") or "localhost"
        return f"{host}:{self.parameters.get('port') or 5432}"


@dataclass(frozen=True, slots=True)
class _Parts:
    """A URL, cut where its parts surely end."""

    login: str = field(repr=False)
    hosts: str
    path: str
    options: tuple[tuple[str, str], ...] = field(repr=False)

    def url(self, options: Sequence[tuple[str, str]]) -> str:
        return f"postgresql://{self.login}{self.hosts}{self.path}?{urlencode(options)}"


def identity(url: str) -> str:
    """The name of a database for its ledger: the server, the database and the schema.

    Privacy: not the role, whose rows are those of every other role (`postgres_checks`): under
    another role the same rows would have a fresh budget.
    Raises `InterfaceError`, without quoting it, for a URL whose parts cannot be told apart.
    """
    parts = _parts(url)
    port = "" if re.search(r":\d+$", parts.hosts) else ":5432"
    chosen = sorted((name, value) for name, value in parts.options if name in _CHOOSING)
    chosen += [("schema", v) for k, v in parts.options if k == "schema" and v not in ("", _SCHEMA)]
    return (
        f"postgresql://{parts.hosts.lower() or 'localhost'}{port}{parts.path}"
        f"{'?' if chosen else ''}{urlencode(chosen)}"
    )


def read_address(url: str) -> Address:
    """Read a URL; raises `InterfaceError`, without quoting it, where that fails."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    parts = _parts(url)
    ours = {k: v for k, v in parts.options if k in ("schema", "statement_timeout")}
    theirs = [(k, v) for k, v in parts.options if k not in ours]
    try:
        parameters = conninfo_to_dict(parts.url(theirs))
    except (ProgrammingError, ValueError):
        parameters = {}
    if not parameters:
        raise refusals.UNREADABLE_URL.error()
    timeout = ours.get("statement_timeout", _TIMEOUT)
    if not _DURATION.fullmatch(timeout):
        raise refusals.BAD_TIMEOUT.error()
    known = {**_DEFAULTS, **{k: v for k, v in parameters.items() if v is not None}}
    if known["options"]:  # a backslash or a quote may hide what libpq makes of it
        raise refusals.SESSION_SETTINGS.error()
    known["client_encoding"] = "UTF8"
    return Address(known, ours.get("schema") or _SCHEMA, timeout)


def shorter(timeout: str, milliseconds: str) -> str:
    """The shorter of two time limits, the second in milliseconds; 0 is none."""
    found = _DURATION.fullmatch(timeout)
    assert found is not None
    mine = int(found[1] or 0) * _UNITS[found[2] or "ms"]
    theirs = int(milliseconds)
    return f"{theirs}ms" if theirs and (not mine or theirs < mine) else timeout


def _parts(url: str) -> _Parts:
    """Cut a URL into its parts.

    Privacy: a character of the password that was not encoded must not end it early, so that
    the rest would be taken for a host and named. Where that can be, the URL is refused.
    """
    found = _URL.fullmatch(url.strip())
    if found is None or any("@" in (part or "") for part in (found["path"], found["query"])):
        raise refusals.UNREADABLE_URL.error()
    login, at, hosts = found["login"].rpartition("@")
    if "@" in login or not all(_HOST.fullmatch(host) for host in hosts.split(",")):
        raise refusals.UNREADABLE_URL.error()
    try:
        options = parse_qsl(found["query"] or "", keep_blank_values=True, strict_parsing=False)
    except ValueError:
        raise refusals.UNREADABLE_URL.error() from None
    return _Parts(login + at, hosts, found["path"] or "", tuple(options))


# Words that a server's text has together, and what they mean; the first row that fits counts.
_MEANT = (
    (("password",), refusals.LOCKED_OUT),
    (("authentication",), refusals.LOCKED_OUT),
    (("pg_hba",), refusals.LOCKED_OUT),
    (("role", "not exist"), refusals.NO_ROLE),
    (("database", "not exist"), refusals.NO_DATABASE),
    (("SSL",), refusals.NO_TLS),
    (("certificate",), refusals.NO_TLS),
)


def unreachable(address: Address, error: Exception) -> ProbeError:
    """What to say where connecting failed: the server's text is looked at, never repeated.

    No row was read by then. Words of the server in another language give the general text.
    """
    text = str(error)
    fitting = (row for words, row in _MEANT if all(word in text for word in words))
    return next(fitting, refusals.UNREACHABLE).error(
        server=address.server,
        database=address.database,
        role=address.parameters.get("user") or "the operating system's user",
        sslmode=address.parameters.get("sslmode") or "prefer",
    )
