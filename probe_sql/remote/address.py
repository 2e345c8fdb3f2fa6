"""Where a served database is, and who asks: an address that never holds a password."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from probe_sql.errors import InterfaceError

SCHEME = "probe://"
_PORT = 5432
_FIX = 'connect("probe://maria@host/clinic"), with password=... or when you are asked'
_SETTINGS = ("sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "hostaddr")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a served database is, and who asks; it holds no password."""

    user: str
    host: str
    port: int
    database: str
    more: Mapping[str, str]

    @classmethod
    def read(cls, text: str) -> Self:
        """The parts of `probe://user@host:port/database?sslmode=...`; nothing of it is repeated."""
        try:
            parts = urlsplit(text)
            port = parts.port or _PORT
        except ValueError:
            raise InterfaceError("the address of the server cannot be read", fix=_FIX) from None
        if parts.password is not None:
            raise InterfaceError(
                "an address with a password would stay in histories and outputs",
                fix="leave it out: it is asked for, or pass password=os.environ['CLINIC_PASSWORD']",
            )
        name = unquote(parts.path.lstrip("/"))
        more = dict(parse_qsl(parts.query, keep_blank_values=True))
        if not parts.username or not parts.hostname or not name or parts.fragment:
            raise InterfaceError("the address needs a user, a host and a database", fix=_FIX)
        unknown = [key for key in more if key not in _SETTINGS]
        if unknown:
            raise InterfaceError(
                "the address has a setting that is not known",
                fix=f"the settings are {', '.join(_SETTINGS)}",
            )
        return cls(unquote(parts.username), parts.hostname, port, name, more)

    def __str__(self) -> str:
        return f"{SCHEME}{self.user}@{self.host}:{self.port}/{self.database}"

    @property
    def settings(self) -> dict[str, str]:
        """Settings of libpq: the certificate and the host's name are verified by default."""
        secure = {"sslmode": "verify-full"}
        root = os.path.expanduser("~/.postgresql/root.crt")
        if self.more.get("sslmode", "verify-full") == "verify-full" and not os.path.exists(root):
            secure["sslrootcert"] = "system"
        return {
            "user": self.user, "host": self.host, "port": str(self.port),
            "dbname": self.database, "application_name": "probe_sql", **secure, **self.more,
        }  # fmt: skip
