"""Tell the address of a server from the path of a file, and keep its secrets.

Privacy: an address may hold a password wherever it was mistyped. So what looks like one and
cannot be read is refused without being repeated, and never taken for a path, which messages name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from probe_sql.vault import refusals

POSTGRES, SPARK = "postgresql", "spark"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{0,30}):/", re.I)
_WORD = re.compile(r"(jdbc|(?:postgres|postgresql|pgsql|psql|pg)(?:\+\w+)?):", re.I)
_KEY = re.compile(
    r"(host|hostaddr|port|dbname|user|password|passfile|service|options|target_session_attrs"
    r"|connect_timeout|client_encoding|application_name|channel_binding|require_auth"
    r"|ssl\w*|gss\w*|krbsrvname|keepalives\w*|load_balance_hosts)\s*=",
    re.I,
)
_SECRET = re.compile(r"(password|passwd|pwd|secret|token|sig|accountkey|accesskey)\s*=\s*\S", re.I)
_USER = re.compile(r":[^@]+@|^[^/\\\s@]+/[^@]+@[^/@\s]")  # user:password@, Oracle's user/password@
_LOGIN = re.compile(r"://[^/?:@\[]*:(?!//|\d*(?:[/?,]|$))")  # a name, and no port after its colon


def server(text: str) -> str | None:
    """Which kind of server a text is the address of: POSTGRES, SPARK, or None for a path.

    Raises `InterfaceError`, without the text, for an address of another kind.
    """
    address = text.strip()
    lower = address.lower()
    if lower.startswith("spark:"):
        return SPARK
    if lower.startswith(("postgresql://", "postgres://")):
        return POSTGRES
    scheme = _SCHEME.match(address) or _WORD.match(address)
    if scheme is None and os.path.exists(text):
        return None
    if scheme is not None and len(scheme[1]) > 1:  # not a drive of Windows
        what = "the address of a server or of a storage elsewhere"
    elif _KEY.match(address) or _SECRET.search(address):
        what = "a list of libpq's key=value pairs"
    elif _USER.search(address):
        what = "an address with a user and a password"
    else:
        return None
    raise refusals.OTHER_ADDRESS.error(thing=what)


def holds_secret(text: str) -> bool:
    """Whether a password or the like may be written in a text that names a source."""
    if os.path.exists(text):
        return False
    return bool(_SECRET.search(text) or _USER.search(text.partition("://")[2] or text))


def refuse_secrets(paths: Iterable[str]) -> None:
    """Raise `InterfaceError` for a path of Spark's with credentials in it: paths are shown."""
    for path in paths:
        if _SECRET.search(str(path)) or _LOGIN.search(str(path)):
            raise refusals.SPARK_SECRETS.error()
