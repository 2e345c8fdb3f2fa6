"""`probe-sql user` and `probe-sql serve`: who may log in, and the server itself."""

from __future__ import annotations

import getpass
import html
import shlex
import sys
import tempfile
import threading
import webbrowser
from argparse import Namespace
from functools import partial
from pathlib import Path

from probe_sql.cli.arguments import PROGRAM, UsageError
from probe_sql.cli.terminal import is_terminal, show_note
from probe_sql.errors import InterfaceError
from probe_sql.policy import load_policy
from probe_sql.text import visible


def manage_users(arguments: Namespace, policy: str) -> int:
    """Add, list or remove users, or change a password."""
    from probe_sql.serve import users

    action, name = arguments.action, arguments.name
    if (name is None) != (action == "list"):
        needed = "no name" if action == "list" else "the user's name"
        raise UsageError(
            f"{action} takes {needed}",
            fix=f"{PROGRAM} user DB {action}{'' if action == 'list' else ' NAME'}",
        )
    path = users.users_file(arguments.db, policy, arguments.ledger)
    if arguments.owner and action != "add":
        raise UsageError("--owner goes with add", fix=f"{PROGRAM} user DB add NAME --owner")
    if action == "list":
        known = users.read_users(path)
        for one in known.verifiers:
            print(visible(one) + (" (owner)" if one in known.owners else ""))
        return 0
    if action == "add":
        kept = users.add_user(path, name, _password(name, action), owner=arguments.owner)
        show_note(f"{visible(kept)} may log in.")
    elif action == "password":
        users.change_password(path, name, _password(name, action))
        show_note(f"The password of {visible(name)} was changed; their sessions end.")
    else:
        users.remove_user(path, name)
        show_note(f"{visible(name)} may not log in any more; their sessions end.")
        if not users.read_users(path).verifiers:
            show_note("Nobody is left: the server lets nobody in.")
    return 0


def run_server(arguments: Namespace, policy: str) -> int:
    """Serve until the process is told to end."""
    import asyncio

    try:
        from probe_sql.serve.limits import Limits
        from probe_sql.serve.opening import Opening
        from probe_sql.serve.server import Console, serve
    except ImportError:
        raise _missing() from None
    named = arguments.console_port is not None or arguments.console_name
    if named and not arguments.console:
        raise UsageError(
            "--console-port and --console-name are about the console", fix="add --console"
        )
    if arguments.console:
        _check_console()
        if arguments.no_login:
            raise InterfaceError(
                "the console needs users who log in",
                why="a browser shows every page the same cookie, and --no-login asks for nothing",
                fix=f"{PROGRAM} user DB add NAME, and leave --no-login out; for yourself alone:"
                f" {PROGRAM} console DB",
            )
    opening = Opening(
        arguments.db,
        policy,
        arguments.ledger,
        arguments.host,
        arguments.port,
        not arguments.no_login,
        arguments.tls_cert,
        arguments.tls_key,
        arguments.tls_self_signed,
    )
    limits = Limits(
        connections=arguments.connections,
        idle_seconds=arguments.idle_seconds,
        statement_seconds=arguments.statement_seconds,
        result_rows=arguments.result_rows,
        pace=arguments.pace,
    )
    console = None
    if arguments.console:
        console = Console(arguments.console_port, tuple(arguments.console_name))
    asyncio.run(serve(opening, limits, _listening, console, _console_at))
    return 0


def run_console(arguments: Namespace, policy: str) -> int:
    """The console for one person, until the process is told to end."""
    import asyncio

    try:
        from probe_sql.serve.limits import Limits
        from probe_sql.serve.opening import Opening
        from probe_sql.serve.server import alone
    except ImportError:
        raise _missing() from None
    _check_console()
    listed = load_policy(policy).budget.analysts
    analyst = arguments.analyst or ""
    if listed and analyst not in listed:
        raise InterfaceError(
            "the policy gives each analyst a budget, so the console needs to know who asks",
            fix=f"--analyst {shlex.quote(next(iter(listed)))}",
        )
    opening = Opening(
        arguments.db, policy, arguments.ledger, port=arguments.port, login=False, personal=True
    )
    browser = not arguments.no_browser and is_terminal(sys.stdout)
    with tempfile.TemporaryDirectory(prefix="probe-sql-") as folder:  # of mode 0700
        show = partial(_come_in, folder=Path(folder) if browser else None)
        asyncio.run(alone(opening, Limits(idle_seconds=float("inf")), analyst, show))
    return 0


def _missing() -> InterfaceError:
    return InterfaceError(
        "the server needs the library scramp", fix="pip install 'probe-sql[serve]'"
    )


def _check_console() -> None:
    try:
        import probe_sql.serve.console.door  # noqa: F401 - to see whether it can be
    except ImportError:
        raise InterfaceError(
            "the console needs the libraries Starlette and uvicorn",
            fix="pip install 'probe-sql[serve]'",
        ) from None


def _come_in(link: str, *, folder: Path | None) -> None:
    """Show the link to who is at the terminal; where there is a folder, open a browser, too.

    Privacy: a browser gets the name of a file that only this account can read, and goes on from
    there by itself. Its command line can be read by every account of the machine.
    """
    print(f"open {link}", flush=True)
    show_note("The link works once. Ctrl-C ends the console.")
    if folder is not None:
        page = folder / "open.html"
        page.touch(0o600)
        target = html.escape(link)
        page.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={target}">'
            f'<title>probe_sql</title><a href="{target}">Open the console</a>\n'
        )
        # Beside the console, which answers meanwhile: a browser may run until it is left.
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()


def _console_at(url: str) -> None:
    print(visible(f"console at {url}"), flush=True)


def _listening(host: str, port: int, name: str) -> None:
    print(visible(f"listening on {host}:{port}, database {name}"), flush=True)


def _password(name: str, action: str) -> str:
    """A password typed twice without being shown, or the first line of standard input."""
    if not is_terminal(sys.stdin):
        line = sys.stdin.readline()
        if not line.strip():
            raise UsageError(
                "standard input has no password", fix=f"{PROGRAM} user DB {action} NAME < FILE"
            )
        return line.rstrip("\r\n")
    try:
        first = getpass.getpass(f"Password for {visible(name)}: ")
        second = getpass.getpass("The same again: ")
    except EOFError:
        raise UsageError("no password was given", fix="type one, or pipe it in") from None
    if first != second:
        raise InterfaceError("the two passwords differ", fix="try again")
    return first
