"""Whether the server may open at all, and where: files, users, addresses, certificates."""

from __future__ import annotations

import ipaddress
import os
import shlex
import shutil
import ssl
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.owner import guarded_files, refused_by_server
from probe_sql.serve.private_files import refuse, require_private
from probe_sql.serve.users import read_users, users_file
from probe_sql.session import is_remote


@dataclass(frozen=True, slots=True)
class Opening:
    """How a server is started: chosen once, by whoever starts it."""

    source: str
    policy: str
    ledger: str | None = None
    host: str = "127.0.0.1"
    port: int | None = None  # None: 5432 or the next one that is free
    login: bool = True
    certificate: str | None = None
    key: str | None = None
    self_signed: bool = False
    personal: bool = False  # one person on their own machine, whose files are theirs to guard

    @property
    def loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def encrypts(self) -> bool:
        """Whether there is a certificate to encrypt with."""
        return self.self_signed or self.certificate is not None


def check_opening(opening: Opening) -> None:
    """Refuse to open where others could read or write what is guarded, or listen in.

    Privacy: whoever can read the data needs no query; whoever can write the policy, the ledger or
    the users decides what may be asked and by whom.
    """
    if os.name == "nt":
        raise OperationalError(
            "the server does not run on Windows",
            why="it could not tell there who else can read its files",
            fix="run it on Linux or macOS; clients may be anywhere",
        )
    if not opening.login and not opening.loopback:
        raise InterfaceError(
            "--no-login is for this machine alone",
            why=f"whoever reaches {opening.host} could ask under any name",
            fix="leave --host out, or add users and leave --no-login out",
        )
    if (opening.certificate is None) != (opening.key is None):
        raise InterfaceError(
            "a certificate and its key go together", fix="--tls-cert FILE --tls-key FILE"
        )
    if opening.certificate is not None and opening.self_signed:
        raise InterfaceError("there is a certificate already", fix="leave --tls-self-signed out")
    if not opening.loopback and not opening.encrypts:
        raise InterfaceError(
            f"connections to {opening.host} would not be encrypted",
            why="others on the way could read answers and change questions",
            fix="--tls-cert FILE --tls-key FILE; for trials --tls-self-signed",
        )
    guarded = guarded_files(opening.source, opening.policy, opening.ledger)
    for found in refused_by_server(guarded):
        refuse(found)
    if opening.key is not None and Path(opening.key).exists():
        require_private(Path(opening.key))
    if opening.login:
        users = users_file(opening.source, opening.policy, opening.ledger)
        if not read_users(users).verifiers:
            raise OperationalError(
                "nobody may log in yet",
                why="the door is shut unless it is opened",
                fix=_first_user(opening),
            )


def _first_user(opening: Opening) -> str:
    """The command that adds a user; an address, which may hold a password, is not repeated."""
    source = "DB" if is_remote(opening.source) else shlex.quote(opening.source)
    places = {"--policy": opening.policy, "--ledger": opening.ledger}
    if Path(opening.policy) == Path(opening.source).with_suffix(".toml"):
        del places["--policy"]  # it is found there
    named = [f" {option} {shlex.quote(path)}" for option, path in places.items() if path]
    return f"probe-sql user {source} add NAME{''.join(named)}"


def tls_context(opening: Opening) -> ssl.SSLContext | None:
    """The certificate as Python's ssl wants it; None where there is none."""
    if not opening.encrypts:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not opening.self_signed:
        assert opening.certificate is not None
        try:
            context.load_cert_chain(opening.certificate, opening.key)
        except (OSError, ssl.SSLError):
            raise OperationalError(
                "the certificate or its key cannot be read, or they do not belong together",
                fix="name PEM files with --tls-cert and --tls-key",
            ) from None
        return context
    with tempfile.TemporaryDirectory(prefix="probe-sql-tls-") as folder:  # of mode 0700
        names = [str(Path(folder, name)) for name in ("cert.pem", "key.pem")]
        _sign_oneself(opening.host, *names)
        context.load_cert_chain(*names)
    return context


def _sign_oneself(host: str, certificate: str, key: str) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise OperationalError(
            "--tls-self-signed needs the program openssl", fix="install it, or name a certificate"
        )
    subprocess.run(
        [
            program,
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "30",
            "-subj",
            "/CN=probe-sql",
            "-addext",
            f"subjectAltName={_alternative(host)}",
            "-keyout",
            key,
            "-out",
            certificate,
        ],
        check=True,
        capture_output=True,
    )


def _alternative(host: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"
