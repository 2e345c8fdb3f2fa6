"""Who may log in: names and SCRAM-SHA-256 verifiers, in a file beside the ledger.

A verifier proves a password and does not tell it. The file also holds a secret of the server's
own, from which unknown names get the salt that a known one would have.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import shlex
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from probe_sql.database import ledger_path
from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.policy import load_policy
from probe_sql.serve.private_files import alone, require_private, write_atomically
from probe_sql.text import seen, visible

ITERATIONS = 32_768  # of the password's hash: each login costs the client as many
LEAST_PASSWORD = 8
MOST_PASSWORD = 1000  # characters: longer ones take long to prepare
LONGEST_NAME = 63  # bytes, as in PostgreSQL
_FORMAT = 1
_SALT = 16


@dataclass(frozen=True, slots=True)
class Verifier:
    """What is kept of a password: its salt, and two keys that prove it without telling it."""

    salt: bytes
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    @classmethod
    def of(cls, password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> Self:
        """Make the verifier of a password, with a fresh salt unless one is given."""
        scramp = _scramp()
        try:
            made = scramp.ScramMechanism().make_auth_info(
                password, iteration_count=iterations, salt=salt or os.urandom(_SALT)
            )
        except scramp.ScramException:
            raise InterfaceError(
                "the password holds characters that no client could send alike",
                fix="use letters, digits and punctuation",
            ) from None
        return cls(*made)

    def fits(self, password: str) -> bool:
        """Whether this is the password; it takes as long for one that is not."""
        if len(password) > MOST_PASSWORD:
            return False
        try:
            given = Verifier.of(password, self.salt, self.iterations)
        except InterfaceError:  # no client could send it, so nobody has it
            return False
        return hmac.compare_digest(given.stored_key, self.stored_key)

    def dump(self) -> list[Any]:
        """The verifier as JSON."""
        keys = (self.salt, self.stored_key, self.server_key)
        return [self.iterations, *(base64.b64encode(key).decode() for key in keys)]

    @classmethod
    def load(cls, value: Any) -> Self:
        """Read what `dump` wrote; raises `ValueError` for anything else."""
        match value:
            case [int(iterations), str(salt), str(stored), str(server)] if iterations >= 4096:
                first, second, third = (
                    base64.b64decode(text, validate=True) for text in (salt, stored, server)
                )
                if (len(first), len(second), len(third)) == (_SALT, 32, 32):
                    return cls(first, second, third, iterations)
        raise ValueError


@dataclass(frozen=True, slots=True)
class Users:
    """The names that may log in, each with its verifier, and the server's secret.

    `owners` are those of them who may see the whole ledger and unlock; in the console they manage
    users too.
    """

    verifiers: Mapping[str, Verifier]
    secret: bytes = field(repr=False)
    owners: frozenset[str] = frozenset()

    def verifier(self, name: str) -> Verifier:
        """The verifier of a name; for an unknown one, one that no password fits.

        Privacy: an unknown name always gets the same salt, and as many iterations as a known
        one, so that asking does not tell who may log in.
        """
        text = normal(name).encode("utf-8", "surrogateescape")

        def derived(purpose: bytes) -> bytes:
            return hmac.digest(self.secret, purpose + text, hashlib.sha256)

        # Made for known names too, so that it takes as long.
        none = Verifier(
            derived(b"salt")[:_SALT], derived(b"stored"), derived(b"server"), ITERATIONS
        )
        return self.verifiers.get(normal(name), none)

    def knows(self, name: str) -> bool:
        """Whether a name may log in at all."""
        return normal(name) in self.verifiers

    def dump(self) -> bytes:
        """The users as a file."""
        content = {
            "format": _FORMAT,
            "secret": base64.b64encode(self.secret).decode(),
            "users": {name: one.dump() for name, one in sorted(self.verifiers.items())},
            "owners": sorted(self.owners),
        }
        return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()

    @classmethod
    def load(cls, text: bytes) -> Self:
        """Read what `dump` wrote; raises `ValueError` for anything else."""
        try:
            content = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError
            secret = base64.b64decode(content["secret"], validate=True)
            found = {name: Verifier.load(value) for name, value in content["users"].items()}
            owners = frozenset(content.get("owners", ()))  # none in older files
        except (KeyError, TypeError, AttributeError, binascii.Error, UnicodeDecodeError):
            raise ValueError from None
        if len(secret) < 32 or any(normal(name) != name for name in found) or owners - set(found):
            raise ValueError
        return cls(found, secret, owners)


def normal(name: str) -> str:
    """A name in the one form in which it is kept and looked up."""
    return unicodedata.normalize("NFKC", name)


def users_file(
    source: str, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> Path:
    """Where the users of a database are kept: beside its ledger."""
    path, _ = ledger_path(source, load_policy(policy), ledger)
    return beside(path)


def beside(ledger: Path) -> Path:
    """The users' file of a ledger."""
    whole = Path(os.path.realpath(ledger))
    return whole.with_name(whole.name + ".users")


def read_users(path: Path) -> Users:
    """Read the users of a file that nobody else can read or write; none where there is no file."""
    try:
        require_private(path)
        return Users.load(path.read_bytes())
    except FileNotFoundError:
        return Users({}, os.urandom(32))
    except OSError as error:
        raise OperationalError(
            f"{path} cannot be read: {error.strerror}", fix="run this as the server's account"
        ) from None
    except ValueError:
        raise OperationalError(
            f"{path} is not a file of users, or is damaged",
            why="nobody can log in before it is whole",
            fix="restore it from a backup, or remove it and add the users again",
        ) from None


def add_user(path: Path, name: str, password: str, *, owner: bool = False) -> str:
    """Let a name log in, as an owner or not; returns it in the form in which it is kept."""
    name = _checked(name)
    verifier = _verifier(password)
    with alone(path.parent):
        users = read_users(path)
        alike = [one for one in users.verifiers if one.casefold() == name.casefold()]
        if alike:
            raise InterfaceError(
                f"there is a user {visible(alike[0])} already",
                why="names that differ in case only would be taken for one another",
                fix=f"probe-sql user DB password {shlex.quote(visible(alike[0]))} changes the"
                " password",
            )
        owners = users.owners | {name} if owner else users.owners
        verifiers = {**users.verifiers, name: verifier}
        _write(path, replace(users, verifiers=verifiers, owners=owners))
    return name


def change_password(path: Path, name: str, password: str) -> None:
    """Give a user another password, which ends their sessions."""
    verifier = _verifier(password)
    with alone(path.parent):
        users = read_users(path)
        known = _known(users, name)
        _write(path, replace(users, verifiers={**users.verifiers, known: verifier}))


def remove_user(path: Path, name: str) -> None:
    """Take a user away, which ends their sessions."""
    with alone(path.parent):
        users = read_users(path)
        known = _known(users, name)
        left = {one: kept for one, kept in users.verifiers.items() if one != known}
        _write(path, replace(users, verifiers=left, owners=users.owners - {known}))


def _known(users: Users, name: str) -> str:
    if not users.knows(name):
        listed = ", ".join(map(visible, users.verifiers)) or "there are none"
        raise InterfaceError(f"there is no user {visible(name)}", fix=f"users: {listed}")
    return normal(name)


def _checked(name: str) -> str:
    name = normal(name)
    if not name or name != name.strip() or not all(map(seen, name)):
        raise InterfaceError(
            "a user's name must show itself: no control or invisible characters, no blank ends",
            fix="probe-sql user DB add maria",
        )
    if len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise InterfaceError(
            f"a user's name has at most {LONGEST_NAME} bytes", fix="choose a shorter one"
        )
    return name


def _verifier(password: str) -> Verifier:
    if len(password) < LEAST_PASSWORD:
        raise InterfaceError(
            f"the password has fewer than {LEAST_PASSWORD} characters",
            why="short passwords can be guessed",
            fix="use a longer one; words in a row will do",
        )
    if len(password) > MOST_PASSWORD:
        raise InterfaceError(
            f"the password has more than {MOST_PASSWORD} characters", fix="use a shorter one"
        )
    if "\0" in password:
        raise InterfaceError("the password holds a zero byte", fix="leave it out")
    return Verifier.of(password)


def _write(path: Path, users: Users) -> None:
    try:
        write_atomically(path, users.dump())
    except OSError as error:
        raise OperationalError(
            f"{path} cannot be written: {error.strerror}", fix="run this as the server's account"
        ) from None


def _scramp() -> Any:
    try:
        import scramp
    except ImportError:
        raise InterfaceError(
            "passwords need the library scramp", fix="pip install 'probe-sql[serve]'"
        ) from None
    return scramp
