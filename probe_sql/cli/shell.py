"""The shell: statements and dot commands, typed, piped or from files."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe_sql import __version__
from probe_sql.cli.arguments import ANSWERED, DENIED, ERROR, INTERRUPTED, accuracy_of, exit_code
from probe_sql.cli.commands import displayed, open_connection, read_stdin
from probe_sql.cli.dots import DOTS, HABITS, run_dot
from probe_sql.cli.output import Output, usual_pager
from probe_sql.cli.show import show_explanation
from probe_sql.cli.statements import Statement, read_script, split
from probe_sql.cli.terminal import (
    ScanProgress,
    is_terminal,
    ready,
    show_error,
    show_note,
    show_surprise,
)
from probe_sql.errors import ProbeError
from probe_sql.text import limit, price, visible, visible_lines

if TYPE_CHECKING:
    from probe_sql.answer import Answer
    from probe_sql.session import Connection

CONFIRM = 0.25  # share of the remaining budget from which a query is confirmed first


def run_shell(arguments: Namespace) -> int:
    """Open the shell, or run what -c, -f or a pipe gives and stop at the first error."""
    texts = [(None, text) for text in arguments.command]
    if arguments.file is not None:
        texts.append((arguments.file, read_script(arguments.file)))
    with open_connection(arguments) as connection, ExitStack() as stack:
        source = displayed(arguments.db, whole=True)
        shell = Shell(connection, source, accuracy_of(arguments), arguments.format)
        shell.safe = arguments.safe
        stack.callback(shell.close)
        if not texts and is_terminal(sys.stdin) and is_terminal(sys.stdout):
            return _interact(shell)
        if not texts:
            texts = [(None, read_stdin())]
        for name, text in texts:
            code = shell.run_script(text, name)
            if code != ANSWERED or shell.finished:
                return code
        return DENIED if shell.denied else ANSWERED


def _interact(shell: Shell) -> int:
    from probe_sql.catalogue import Catalogue
    from probe_sql.cli.prompt import Line

    shell.interactive = True
    shell.output.pager = None if shell.safe else usual_pager()
    connection = shell.connection
    keys: dict[tuple[str, str], tuple[Any, ...]] = {}

    def key_values(table: str, column: str) -> tuple[Any, ...]:
        if (table, column) not in keys:
            keys[table, column] = connection.key_values(table, column)
        return keys[table, column]

    names = sorted({*DOTS, *HABITS})
    line = Line(Catalogue.of(connection.policy, key_values), names, shell.bar)
    print(f"probe-sql {__version__}. End a query with ; and type .help for help, .quit to leave.")
    while not shell.finished:
        try:
            text = line.read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        shell.run_script(text)
    return ANSWERED


class Shell:
    """A connection and what the user has set; runs one statement after another."""

    def __init__(
        self, connection: Connection, name: str, accuracy: dict[str, Any], mode: str = "table"
    ) -> None:
        self.connection = connection
        self.name = name
        self.accuracy = accuracy
        self.mode = mode
        self.confirm = CONFIRM
        self.safe = False
        self.interactive = False
        self.finished = False
        self.denied = False
        self.last: Answer | None = None
        self.echo = False
        self.depth = 0
        self.output = Output()
        self._budget = connection.budget

    @property
    def form(self) -> str:
        """The format of the next result: that of the file it goes to, else the mode."""
        return self.output.form(self.mode)

    def close(self) -> None:
        """Close the file that results go to."""
        self.output.redirect(None)

    def bar(self) -> str:
        """The line below the prompt: the database, who asks, and what remains."""
        state = self._budget
        whole = state.total if state.analyst_total is None else state.analyst_total
        who = f" | {self.connection.analyst}" if self.connection.analyst else ""
        name = Path(self.name).name
        left = f"epsilon {price(state.unspent)} of {limit(whole)} left"
        return visible(f" {name}{who} | {left}")

    # --- running -------------------------------------------------------------------------

    def run_script(self, text: str, name: str | None = None) -> int:
        """Run all statements of a text and stop at the first error; its exit code, or 0."""
        for statement in split(text):
            if self.echo:
                print(visible_lines(statement.text), file=self.output.stream)
            code = self._attempt(statement, name)
            if code != ANSWERED or self.finished:
                return code
        return ANSWERED

    def _attempt(self, statement: Statement, name: str | None) -> int:
        """Run one statement; whatever goes wrong is told without a traceback."""
        spent = self.connection.budget.spent
        try:
            with ExitStack() as stack:
                if not statement.text.startswith(".read"):  # each of its statements by itself
                    stack.enter_context(self.output.gathered())
                if statement.dotted:
                    return run_dot(self, statement.text)
                self.run_sql(statement.text)
        except ProbeError as error:
            sys.stdout.flush()
            where = "" if name is None else f"{name}, line {statement.line}: "
            show_error(error, prefix=where)
            return exit_code(error)
        except KeyboardInterrupt:
            charged = self.connection.budget.spent - spent
            cost = f"epsilon {price(charged)} was charged" if charged else "nothing was charged"
            print(f"cancelled; {cost}", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            raise
        except Exception as error:
            sys.stdout.flush()
            show_surprise(error)
            return ERROR
        finally:
            self._budget = self.connection.budget
        return ANSWERED

    def run_sql(self, sql: str) -> None:
        """Answer or explain one query and show the result."""
        habit = habitual(sql)
        if habit is not None:
            run_dot(self, habit)
            return
        if self.interactive and not self._confirmed(sql):
            show_note("not run; nothing was charged")
            return
        from probe_sql.answer import Answer

        ready(self.output.stream)
        with ScanProgress() as progress:
            result = self.connection.sql(sql, progress=progress, **self.accuracy)
        if isinstance(result, Answer):
            self.last = result
            self.denied |= result.status == "denied"
            self.output.deliver(result, self.mode)
        else:
            show_explanation(result, self.form, self.output.stream, self._budget.remaining)
            self.output.end_once()

    def _confirmed(self, sql: str) -> bool:
        """Ask first where a query may cost more than the set share of what remains."""
        if self.connection.question(sql, **self.accuracy).explain:
            return True
        plan = self.connection.explain(sql, **self.accuracy)
        dues = [
            one.dues.left
            for one in plan.explanations
            if one.dues is not None and one.dues.left is not None
        ]
        worst, remaining = plan.epsilon_worst, min([self._budget.remaining, *dues])
        if all(one.free is not None for one in plan.explanations):
            return True
        if not self.confirm * remaining < worst <= remaining:
            return True
        doubts = [one.doubt for one in plan.explanations if one.doubt is not None]
        for doubt in doubts:
            print("\n".join(doubt.lines()))
        print(f"This query may cost epsilon {price(worst)} of the {price(remaining)} that remain.")
        try:
            return input("Run it? [y/N] ").strip().lower() in ("y", "yes")
        except EOFError:
            print()
            return False


def habitual(sql: str) -> str | None:
    """The dot command that does what SHOW TABLES or DESCRIBE would, or None."""
    plain = " ".join(re.sub(r'["`]', "", sql).split()).lower()
    if plain in ("show tables", "show all tables", "from duckdb_tables()"):
        return ".tables"
    if match := re.fullmatch(r"(?:describe|desc|show|pragma table_info\()\s*(\w+)\)?", plain):
        return f".schema {match[1]}"
    return None
