"""Dot commands: what DuckDB's users type by habit, and what privacy adds."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from probe_sql import __version__
from probe_sql.catalogue import use_of
from probe_sql.cli.arguments import FORMATS, PROGRAM, parameter
from probe_sql.cli.output import Output, usual_pager
from probe_sql.cli.show import (
    show_budget,
    show_explanation,
    show_grid,
    show_ledger,
    show_saved,
)
from probe_sql.cli.statements import read_script
from probe_sql.cli.terminal import wrap
from probe_sql.errors import InterfaceError, Refused
from probe_sql.grid import Grid
from probe_sql.options import OPTIONS
from probe_sql.policy import dump_policy
from probe_sql.text import suggest, visible, visible_lines

if TYPE_CHECKING:
    from probe_sql.answer import Answer
    from probe_sql.policy import PublicTable, Table
    from probe_sql.session import Connection

MAX_DEPTH = 20


class Shell(Protocol):
    """What dot commands see of the shell, and change."""

    connection: Connection
    name: str
    accuracy: dict[str, Any]
    mode: str
    confirm: float
    safe: bool
    finished: bool
    last: Answer | None
    echo: bool
    depth: int
    output: Output

    @property
    def form(self) -> str:
        """The format of the next result."""
        ...

    def run_script(self, text: str, name: str | None = None) -> int:
        """Run statements and dot commands; returns an exit code."""
        ...


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot command: what it takes, what it does in a line, and the function."""

    usage: str
    meaning: str
    run: Callable[[Shell, str], int]


def run_dot(shell: Shell, text: str) -> int:
    """Run one dot command; returns an exit code, 0 unless a script that it read failed."""
    if not text.startswith("."):
        text = ".quit"
    name, _, rest = text.partition(" ")
    known = HABITS.get(name, name)
    if known in REFUSED:
        why, fix = REFUSED[known]
        raise Refused(f"{name} is not available", why=why, fix=fix)
    if shell.safe and known in TOUCH_FILES:
        raise Refused(
            f"{name} is not available",
            why="this shell was started with --safe, and the command touches files or programs",
            fix="copy the results from the screen",
        )
    if known not in DOTS:
        near = suggest(name, [*DOTS, *HABITS])
        fix = f"did you mean {near}?" if near else ".help lists the commands"
        raise InterfaceError(f"there is no command {name}", fix=fix)
    return DOTS[known].run(shell, rest.strip().rstrip(";").strip())


# --- the commands ------------------------------------------------------------------------


def _help(shell: Shell, rest: str) -> int:
    name = "." + rest.lstrip(".") if rest else ""
    chosen = {name: DOTS[name]} if name in DOTS else DOTS
    size = max(len(dot.usage) for dot in chosen.values())
    for dot in chosen.values():
        print(f"{dot.usage:<{size}}  {dot.meaning}", file=shell.output.stream)
    if not rest:
        print(
            "Anything else is SQL, up to a ; and over several lines if you like.\n"
            "EXPLAIN before a query shows its plan, free of charge.",
            file=shell.output.stream,
        )
    return 0


def _tables(shell: Shell, rest: str) -> int:  # noqa: ARG001 - all commands take both
    policy = shell.connection.policy
    rows = [(name, "private") for name in policy.tables]
    rows += [(name, "public") for name in policy.public]
    show_grid(Grid.of(("table", "kind"), rows), shell.form, shell.output.stream)
    return 0


def _schema(shell: Shell, rest: str) -> int:
    policy = shell.connection.policy
    wanted = rest.strip('"')
    tables: dict[str, Table | PublicTable] = {**policy.tables, **policy.public}
    if wanted:
        found = policy.find_table(wanted) or policy.find_public(wanted)
        if found is None:
            near = suggest(wanted, tables)
            fix = f"did you mean {near}?" if near else ".tables lists them"
            raise InterfaceError(f"there is no table {wanted}", fix=fix)
        tables = {found.name: found}
    rows = []
    for name, table in tables.items():
        public = name in policy.public
        for column in table.columns.values():
            use = use_of(column, public)
            rows.append((name, column.name, str(column.type or ""), use, column.about or ""))
    width = 5 if any(row[4] for row in rows) else 4
    head = ("table", "column", "type", "use", "about")[:width]
    show_grid(Grid.of(head, [row[:width] for row in rows]), shell.form, shell.output.stream)
    return 0


def _policy(shell: Shell, rest: str) -> int:  # noqa: ARG001
    shell.output.stream.write(visible_lines(dump_policy(shell.connection.policy)))
    return 0


def _budget(shell: Shell, rest: str) -> int:  # noqa: ARG001
    show_budget(shell.connection.budget, shell.connection.analyst, shell.form, shell.output.stream)
    return 0


def _ledger(shell: Shell, rest: str) -> int:  # noqa: ARG001
    show_ledger(shell.connection.ledger(), shell.form, shell.output.stream)
    return 0


def _saved(shell: Shell, rest: str) -> int:  # noqa: ARG001
    show_saved(shell.connection.saved(), shell.form, shell.output.stream)
    return 0


def _explain(shell: Shell, rest: str) -> int:
    if not rest:
        raise InterfaceError("there is no query to explain", fix=".explain SELECT ...")
    explained = shell.connection.explain(rest, **shell.accuracy)
    show_explanation(explained, shell.form, shell.output.stream, shell.connection.budget.remaining)
    return 0


def _last(shell: Shell, rest: str) -> int:  # noqa: ARG001
    if shell.last is None:
        raise InterfaceError("nothing was answered yet", fix="ask with SELECT ...;")
    shell.output.deliver(shell.last, shell.mode)
    return 0


def _promise(shell: Shell, rest: str) -> int:  # noqa: ARG001
    if shell.last is None:
        raise InterfaceError("nothing was answered yet", fix="ask with SELECT ...;")
    stream = shell.output.stream
    for line in shell.last.privacy.guarantee.split("\n"):  # one for each block
        print(wrap(visible(line), stream), file=stream)
    return 0


def _mode(shell: Shell, rest: str) -> int:
    modes = {"duckbox": "table", "box": "table", "column": "table", "md": "markdown"}
    mode = modes.get(rest, rest)
    if not mode:
        print(f"mode: {shell.mode}", file=shell.output.stream)
    elif mode in FORMATS:
        shell.mode = mode
    else:
        raise InterfaceError(f"there is no mode {rest}", fix=f"use one of {', '.join(FORMATS)}")
    return 0


def _output(shell: Shell, rest: str) -> int:
    shell.output.redirect(None if rest in ("", "stdout") else _target(shell, rest))
    return 0


def _once(shell: Shell, rest: str) -> int:
    if not rest:
        raise InterfaceError("there is no file to write to", fix=".once answer.csv")
    shell.output.redirect(_target(shell, rest), once=True)
    return 0


def _pager(shell: Shell, rest: str) -> int:
    output = shell.output
    if not rest:
        print(visible(f"pager: {output.pager or 'off'}"), file=output.stream)
    elif rest == "off":
        output.pager = None
    elif rest == "on":
        output.pager = usual_pager()
        if output.pager is None:
            raise InterfaceError("there is no pager", fix=".pager COMMAND, or set PAGER")
    else:
        output.pager = rest
    return 0


def _read(shell: Shell, rest: str) -> int:
    if not rest:
        raise InterfaceError("there is no file to read", fix=".read queries.sql")
    if shell.depth >= MAX_DEPTH:
        raise InterfaceError("files read one another without end", fix="remove a .read")
    shell.depth += 1
    try:
        return shell.run_script(read_script(_path(rest)), rest)
    finally:
        shell.depth -= 1


def _set(shell: Shell, rest: str) -> int:
    name, _, value = (part.strip() for part in rest.replace("=", " ", 1).partition(" "))
    name = name.replace("-", "_")
    if not name:
        settings: list[tuple[str, Any, str]] = [
            ("confirm", shell.confirm, "share of the rest above which a query is confirmed"),
            ("mode", shell.mode, "format of results"),
        ]
        held = {**shell.connection.policy.accuracy().as_dict(), **shell.accuracy}
        for option in OPTIONS.values():
            if option.inner and option.name not in shell.accuracy:
                continue
            own = held.get(option.name, "-")
            told = str(own).lower() if isinstance(own, bool) else own
            settings.append((option.name, told, option.meaning))
        show_grid(
            Grid.of(("setting", "value", "meaning"), settings), shell.form, shell.output.stream
        )
        return 0
    if name == "confirm":
        shell.confirm = _share(value)
    elif name == "mode":
        return _mode(shell, value)
    elif name not in OPTIONS:
        near = suggest(name, [*OPTIONS, "confirm"])
        fix = f"did you mean {near}?" if near else ".set lists them"
        raise InterfaceError(f"there is no setting {name}", fix=fix)
    elif not value:
        raise InterfaceError(f"there is no value for {name}", fix=f".set {name} VALUE")
    else:
        shell.accuracy[name] = OPTIONS[name].check(parameter(value.strip("'\"")))
    return 0


def _share(text: str) -> float:
    value = parameter(text)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InterfaceError("confirm is a share from 0 to 1", fix=".set confirm 0.25")
    return float(value)


def _unset(shell: Shell, rest: str) -> int:
    if shell.accuracy.pop(rest.replace("-", "_"), None) is None:
        raise InterfaceError(f"{rest or 'nothing'} is not set", fix=".set lists the settings")
    return 0


def _print(shell: Shell, rest: str) -> int:
    print(visible(rest.strip("'\"")), file=shell.output.stream)
    return 0


def _echo(shell: Shell, rest: str) -> int:
    shell.echo = rest.lower() in ("on", "true", "1", "yes")
    return 0


def _databases(shell: Shell, rest: str) -> int:  # noqa: ARG001
    print(visible(shell.name), file=shell.output.stream)
    return 0


def _version(shell: Shell, rest: str) -> int:  # noqa: ARG001
    print(f"{PROGRAM} {__version__}, Python {sys.version.split()[0]}", file=shell.output.stream)
    return 0


def _quit(shell: Shell, rest: str) -> int:  # noqa: ARG001
    shell.finished = True
    return 0


def _target(shell: Shell, text: str) -> str:
    """A path to write to, which is none of the open database's own."""
    path = _path(text)
    if shell.connection.owns(path):
        raise Refused(
            f"{path} is part of the database that is open",
            why="writing there would destroy its rows, its policy or what was spent",
            fix="name a file that is not part of it",
        )
    return path


def _path(text: str) -> str:
    """A path as it was typed, with or without quotes."""
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    return words[0] if len(words) == 1 else text


DOTS = {
    ".help": Dot(".help [COMMAND]", "this list", _help),
    ".tables": Dot(".tables", "tables that can be asked about", _tables),
    ".schema": Dot(
        ".schema [TABLE]", "columns, their types and what each can be used for", _schema
    ),
    ".policy": Dot(".policy", "the policy: everything that is public", _policy),
    ".budget": Dot(".budget", "what may be spent, what was, and what remains", _budget),
    ".ledger": Dot(".ledger", "what you asked, when, and what it cost", _ledger),
    ".saved": Dot(".saved", "what you asked and may ask again, free of charge", _saved),
    ".explain": Dot(".explain QUERY", "the plan of a query, free of charge", _explain),
    ".last": Dot(".last", "the last answer once more, free of charge, in any mode", _last),
    ".promise": Dot(".promise", "what the last answer promises, exactly and in full", _promise),
    ".mode": Dot(".mode [MODE]", f"how results are shown: {', '.join(FORMATS)}", _mode),
    ".output": Dot(".output [FILE]", "send results to a file, or back to the screen", _output),
    ".once": Dot(".once FILE", "send the next result to a file; .parquet too", _once),
    ".pager": Dot(".pager [off|on|COMMAND]", "show long results by screenfuls", _pager),
    ".read": Dot(".read FILE", "run the statements of a file", _read),
    ".set": Dot(".set [NAME VALUE]", "accuracy of the next queries, and when to confirm", _set),
    ".unset": Dot(".unset NAME", "back to the policy's value", _unset),
    ".print": Dot(".print TEXT", "print the text", _print),
    ".echo": Dot(".echo on|off", "print each statement before it runs", _echo),
    ".databases": Dot(".databases", "the database that is open", _databases),
    ".version": Dot(".version", "the version", _version),
    ".quit": Dot(".quit", "leave; so do .exit, quit and Ctrl-D", _quit),
}
HABITS = {
    ".exit": ".quit", ".q": ".quit", ".columns": ".schema", ".show": ".set", ".h": ".help",
    ".fullschema": ".schema", ".indexes": ".tables", ".d": ".tables",
}  # fmt: skip
# What the process may read, its analyst may not: an error would quote a file's line.
TOUCH_FILES = frozenset({".read", ".output", ".once", ".pager"})
_ONLY_READS = ("the database is read, never written", "use DuckDB itself on the database")
REFUSED = {
    ".timer": ("how long a scan takes can tell something about the data", "leave it off"),
    ".import": _ONLY_READS,
    ".dump": ("exact rows never leave the vault", "ask with GROUP BY ... HAVING"),
    ".open": ("a shell belongs to one database and its ledger", f"start {PROGRAM} OTHER"),
    ".shell": ("the shell runs queries alone", "use another terminal"),
    ".system": ("the shell runs queries alone", "use another terminal"),
    ".maxrows": ("every group of an answer was paid for and is shown", "use LIMIT"),
    ".headers": ("columns always have their names", ".mode json leaves the table away"),
    ".bail": ("scripts always stop at the first error", "leave it out"),
}
