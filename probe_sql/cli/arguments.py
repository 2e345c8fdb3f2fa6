"""The command line's arguments, with accuracy flags from the table of options, and exit codes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any, NoReturn

from probe_sql.errors import AccuracyError, BudgetExhausted, InterfaceError, Interrupted, ProbeError
from probe_sql.options import OPTIONS, Option
from probe_sql.text import visible_lines

PROGRAM = "probe-sql"
FORMATS = ("table", "json", "csv", "markdown")
COMMANDS = {
    "query": "answer one query, which spends",
    "explain": "show the plan of a query, free of charge, with or without a database",
    "budget": "show what may be spent, what was, and what remains",
    "ledger": "for the owner: show who asked what, when, and what it cost; never a result",
    "report": "for the owner: sum up who asked, at what cost, and how long the budget lasts",
    "user": "for the owner: say who may log in to the server",
    "serve": "let users ask over the network, by PostgreSQL's protocol and in a browser",
    "console": "ask in a browser on this machine",
    "init": "write a policy by your answers, or draft one from the schema; no row is read",
    "check": "check a policy, against its database too, and explain every problem",
    "demo": "build a small clinic and run a private query on it, end to end",
    "completions": "print what completes this command in bash, zsh or fish",
}
EXIT_CODES = "exit codes: 0 answered, 1 error, 2 usage, 3 denied, 4 budget exhausted"
ANSWERED, ERROR, USAGE, DENIED, EXHAUSTED, INTERRUPTED, BROKEN = 0, 1, 2, 3, 4, 130, 141


class UsageError(InterfaceError):
    """The command line itself is wrong: exit code 2."""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Descriptions as written, and flags in one column."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors quote what was typed, and cannot be steered by it."""

    def error(self, message: str) -> NoReturn:
        super().error(visible_lines(message))


def parser_for(command: str | None) -> argparse.ArgumentParser:
    """The parser of one command; None is the shell."""
    if command is None:
        return _shell()
    parser = _Parser(
        f"{PROGRAM} {command}",
        description=COMMANDS[command].capitalize() + ".",
        epilog=EXIT_CODES,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    _BUILDERS[command](parser)
    return parser


def _shell() -> argparse.ArgumentParser:
    commands = "\n".join(f"  {name:<10} {meaning}" for name, meaning in COMMANDS.items())
    parser = _Parser(
        PROGRAM,
        formatter_class=_Help,
        allow_abbrev=False,
        usage=f"{PROGRAM} [options] DB\n       {PROGRAM} COMMAND ...",
        description="SQL GROUP BY ... HAVING over private data, with bounds on missed and on "
        "false groups.\nWith a database alone it opens the shell.\n\n"
        f"commands ({PROGRAM} COMMAND --help says more):\n{commands}",
        epilog=EXIT_CODES,
    )
    _database(parser)
    parser.add_argument(
        "-c",
        "--command",
        metavar="SQL",
        action="append",
        default=[],
        help="run this and exit; may be given several times",
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="run the statements of a file and exit"
    )
    parser.add_argument(
        "--safe",
        action="store_true",
        help="without commands that touch files or programs, for analysts without rights to them",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    _connection(parser)
    _format(parser, FORMATS)
    _accuracy(parser)
    return parser


def _query(parser: argparse.ArgumentParser) -> None:
    _database(parser)
    parser.add_argument(
        "sql", nargs="?", metavar="SQL", help="the query; standard input without it"
    )
    _parameters(parser)
    _connection(parser)
    _format(parser, FORMATS)
    _accuracy(parser)


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="[DB] SQL",
        help="the query, after a database if its types are wanted; standard input without it",
    )
    _parameters(parser)
    _policy(parser)
    _format(parser, ("table", "json"))
    _accuracy(parser)


def _budget(parser: argparse.ArgumentParser) -> None:
    _database(parser)
    _connection(parser)
    _format(parser, FORMATS)


def _report(parser: argparse.ArgumentParser) -> None:
    _database(parser)
    _policy(parser)
    _add_ledger(parser)
    parser.add_argument(
        "--literals",
        action="store_true",
        help="show the values that people typed into queries, which are hidden otherwise",
    )
    _format(parser, ("table", "json", "html", "markdown"))


def _ledger(parser: argparse.ArgumentParser) -> None:
    _budget(parser)
    parser.add_argument(
        "--adopt",
        action="store_true",
        help="for the owner: take over a ledger that was moved or restored",
    )
    parser.add_argument(
        "--budget",
        action="store_true",
        help="for the owner: let the policy's budget hold, after it was raised",
    )
    parser.add_argument(
        "--unlock",
        metavar="NAME",
        help="for the owner: let a user of the machine ask again whose scans had failed",
    )


def _user(parser: argparse.ArgumentParser) -> None:
    _database(parser)
    parser.add_argument("action", choices=("add", "list", "remove", "password"))
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="the user; a password is asked for, or is the first line of standard input",
    )
    parser.add_argument(
        "--owner",
        action="store_true",
        help="with add: the user may also see the whole ledger, and unlock",
    )
    _policy(parser)
    _add_ledger(parser)


def _console(parser: argparse.ArgumentParser) -> None:
    _database(parser)
    _connection(parser)
    parser.add_argument(
        "--port", metavar="N", type=_port, help="(default: 8432, or the next one that is free)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the link, and open no browser"
    )


def _serve(parser: argparse.ArgumentParser) -> None:
    _database(parser)
    _policy(parser)
    _add_ledger(parser)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: 127.0.0.1)")
    parser.add_argument(
        "--port", metavar="N", type=_port, help="(default: 5432, or the next one that is free)"
    )
    parser.add_argument("--console", action="store_true", help="let users ask in a browser, too")
    told = "(default: 8432, or the next one that is free)"
    parser.add_argument("--console-port", metavar="N", type=_port, help=told)
    told = "a name by which browsers reach the console; may be given several times"
    parser.add_argument("--console-name", metavar="NAME", action="append", default=[], help=told)
    parser.add_argument(
        "--no-login",
        action="store_true",
        help="let everybody on this machine ask, under any name and without a password",
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="the certificate to encrypt with (PEM)")
    parser.add_argument("--tls-key", metavar="FILE", help="its key (PEM)")
    parser.add_argument(
        "--tls-self-signed", action="store_true", help="for trials: make a certificate"
    )
    for flag, default, least, meaning in (
        ("--connections", 1000, 1, "most connections at once"),
        ("--idle-seconds", 3600, 1, "after which a session ends in which nothing happens"),
        ("--statement-seconds", 600, 1, "after which a statement is ended, at its price"),
        ("--result-rows", 1_000_000, 1, "most rows of an answer"),
        ("--pace", 0, 0, "answers leave at multiples of so many seconds; 0 for at once"),
    ):
        kind = _number(int if flag in ("--connections", "--result-rows") else float, least)
        parser.add_argument(
            flag, metavar="N", type=kind, default=default, help=f"{meaning} (default: {default:,})"
        )


def _port(text: str) -> int:
    if not text.isdecimal() or not int(text) < 65536:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def _number(kind: Callable[[str], float], least: float) -> Callable[[str], float]:
    """Reads a number of a kind, at least `least`; not a number that is none (nan, inf)."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = -1
        if not least <= value <= 1_000_000_000:
            raise argparse.ArgumentTypeError(f"a number from {least} on is needed")
        return value

    return read


def _init(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "db",
        metavar="SOURCE",
        help="a DuckDB database, a Parquet or a CSV file, postgresql://... or spark:...",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write the draft; - is standard output "
        "(default: SOURCE with the ending .toml)",
    )
    parser.add_argument("--force", action="store_true", help="replace a file that exists")
    parser.add_argument(
        "--draft",
        action="store_true",
        help="ask nothing and mark what is to be decided, as without a terminal",
    )
    parser.add_argument(
        "--header",
        action="store_true",
        help="the first line of a CSV file holds the names of its columns: write them down",
    )


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "db", nargs="?", metavar="DB", help="the database; without it, --policy alone"
    )
    parser.add_argument(
        "--purge",
        action="store_true",
        help="remove the bounded tables that are kept beside the database",
    )
    parser.add_argument(
        "--rows-per-person",
        metavar="N",
        type=_number(float, 1),
        help="show what caps on one person do to counts, if a person has so many rows on average",
    )
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of policies, for editors"
    )
    _policy(parser)
    _format(parser, ("table", "json"))


def _completions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="where to build it (default: a new directory)")


_BUILDERS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "query": _query,
    "explain": _explain,
    "budget": _budget,
    "ledger": _ledger,
    "report": _report,
    "user": _user,
    "serve": _serve,
    "console": _console,
    "init": _init,
    "check": _check,
    "demo": _demo,
    "completions": _completions,
}


# --- parts -----------------------------------------------------------------------------


def _database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "db",
        metavar="DB",
        help="a DuckDB database, Parquet or CSV files, postgresql://... or spark:...",
    )


def _policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policy", metavar="FILE", help="the policy (default: DB with the ending .toml)"
    )


def _connection(parser: argparse.ArgumentParser) -> None:
    _policy(parser)
    parser.add_argument(
        "--analyst", metavar="NAME", help="whose budget pays, as the policy names them"
    )
    _add_ledger(parser)


def _add_ledger(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ledger", metavar="FILE", type=_named, help="the ledger (default: beside the database)"
    )


def _named(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the path of the ledger is empty")
    return text


def _format(parser: argparse.ArgumentParser, formats: tuple[str, ...]) -> None:
    parser.add_argument("--format", choices=formats, default="table", help="(default: table)")


def _parameters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-p",
        "--param",
        metavar="VALUE",
        action="append",
        default=[],
        type=parameter,
        help="value of the next ? in the query: a number, true, false, null, or text",
    )


def _accuracy(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "accuracy", "below the WITH ACCURACY clause of a query, above the policy's defaults"
    )
    for option in OPTIONS.values():
        flag = "--" + option.name.replace("_", "-")
        if option.kind == "flag":
            group.add_argument(flag, action=argparse.BooleanOptionalAction, help=option.meaning)
        elif option.kind == "choice":
            group.add_argument(
                flag,
                choices=option.choices,
                metavar="NAME",
                help=f"{option.meaning}: {', '.join(option.choices)}",
            )
        else:
            group.add_argument(flag, metavar="N", type=_checked(option), help=option.meaning)


def _checked(option: Option) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        try:
            value: float | str = int(text) if option.kind == "integer" else float(text)
        except ValueError:
            if option.kind != "margin":
                raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
            value = text
        try:
            return option.check(value)
        except AccuracyError as error:
            raise argparse.ArgumentTypeError(error.what) from None

    return convert


def accuracy_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The accuracy options that were given as flags."""
    given = {name: getattr(arguments, name) for name in OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


def policy_path(arguments: argparse.Namespace) -> str:
    """The policy that was named, or the one beside the database; of a pattern without its stars."""
    if getattr(arguments, "policy", None) is not None:
        return str(arguments.policy)
    folder, name = os.path.split(os.path.splitext(str(arguments.db))[0])
    if set("*?[") & set(name):
        name = name.strip("*?_-") or "data"
    return os.path.join(folder, name + ".toml")


def parameter(text: str) -> Any:
    """A query parameter from the command line: number, truth value, NULL or text."""
    words = {"true": True, "false": False, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def exit_code(error: ProbeError) -> int:
    """4 where the budget does not suffice, 2 for a wrong command line, 1 for other errors."""
    if isinstance(error, BudgetExhausted):
        return EXHAUSTED
    if isinstance(error, Interrupted):
        return INTERRUPTED
    return USAGE if isinstance(error, UsageError) else ERROR
