"""The commands for scripts: one function each, from arguments to an exit code."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from probe_sql.cli.arguments import PROGRAM, UsageError, accuracy_of, policy_path
from probe_sql.cli.show import (
    deliver,
    show_budget,
    show_explanation,
    show_grid,
    show_ledger,
    to_json,
)
from probe_sql.cli.terminal import ScanProgress, paint, ready, show_note
from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.text import visible, visible_lines

if TYPE_CHECKING:
    from probe_sql.answer import Answer
    from probe_sql.session import Connection

DEMO_ANALYST = "maria"


def open_connection(arguments: Namespace) -> Connection:
    """Connect as the arguments say; a note tells when this made a new ledger."""
    from probe_sql.session import connect

    warn_of_secret(arguments.db)
    connection = connect(
        arguments.db,
        find_policy(arguments),
        analyst=arguments.analyst,
        ledger=arguments.ledger,
    )
    if connection.new_ledger:
        show_note("A new ledger was created: nothing had been spent on this database.")
    return connection


def warn_of_secret(source: str | None) -> None:
    """Say where a password is safe, if one was written on the command line."""
    from probe_sql.session import holds_secret

    if source is not None and holds_secret(source):
        show_note(
            "Warning: every user of this machine can read a password on the command line in the "
            "process list, and the shell keeps it in its history. Leave it out of the address, "
            "put it into ~/.pgpass (PGPASSFILE), PGPASSWORD or a service file, and change it."
        )


def find_policy(arguments: Namespace) -> str:
    """The policy's path; where it is the default and missing, the error says how to get one."""
    from probe_sql.session import is_remote

    path = policy_path(arguments)
    if arguments.policy is None and is_remote(arguments.db):
        raise UsageError(
            "a server has no policy beside it", fix="name the owner's policy with --policy FILE"
        )
    if arguments.policy is None and not Path(path).exists():
        if not Path(arguments.db).exists() and not set("*?[") & set(arguments.db):
            raise OperationalError(f"there is no file {arguments.db}", fix="check the path")
        draft = shlex.join([PROGRAM, "init", arguments.db])
        raise OperationalError(
            f"there is no policy {path}",
            why="nothing can be asked before its owner has said what is public",
            fix=f"name it with --policy FILE, or draft one: {draft}",
        )
    return path


def displayed(source: str, whole: bool = False) -> str:
    """A source as people may see it: a file's name, or its path; a server without credentials."""
    from probe_sql.session import identity, is_remote

    if is_remote(source):
        return identity(source)
    return source if whole else Path(source).name


def query(arguments: Namespace) -> int:
    """Answer one query, which spends."""
    sql = _text(arguments.sql)
    ready(sys.stdout)
    with open_connection(arguments) as connection, ScanProgress() as progress:
        result = connection.sql(sql, arguments.param, progress=progress, **accuracy_of(arguments))
    return show_result(result, arguments.format)


def show_result(result: Answer | object, form: str) -> int:
    """Print an answer or a plan on standard output; 3 for a denial."""
    from probe_sql.answer import Answer
    from probe_sql.session import Explanation, Outline

    if isinstance(result, Answer):
        deliver(result, form, sys.stdout)
        return 3 if result.status == "denied" else 0
    assert isinstance(result, Explanation | Outline)
    show_explanation(result, form, sys.stdout)
    return 0


def explain(arguments: Namespace) -> int:
    """Show the plan of a query, by the policy alone or with the database's types."""
    from probe_sql.session import explain_only

    words = list(arguments.words)
    if len(words) > 2:
        raise UsageError("there are too many arguments", fix='put the query into quotes: ".."')
    database_alone = len(words) == 1 and arguments.policy is None
    arguments.db = words.pop(0) if len(words) == 2 or database_alone else None
    if arguments.db is None and arguments.policy is None:
        raise UsageError(
            "neither a database nor a policy is named",
            fix=f'{PROGRAM} explain --policy FILE "SELECT ...", or put DB before the query',
        )
    if database_alone and " " in arguments.db.strip():
        raise UsageError(
            "the query comes without a database or a policy",
            fix=f'{PROGRAM} explain --policy FILE "SELECT .."',
        )
    warn_of_secret(arguments.db)
    explanation = explain_only(
        _text(words[0] if words else None),
        find_policy(arguments),
        arguments.param,
        source=arguments.db,
        **accuracy_of(arguments),
    )
    show_explanation(explanation, arguments.format, sys.stdout)
    return 0


def budget(arguments: Namespace) -> int:
    """Show what may be spent, what was, and what remains."""
    with open_connection(arguments) as connection:
        state = connection.budget
    show_budget(state, arguments.analyst, arguments.format, sys.stdout)
    return 0


def ledger(arguments: Namespace) -> int:
    """Show who asked what, when, and what it cost; take it over or unlock first if asked to."""
    from probe_sql.owner import adopt, allow, record, unlock

    files = (arguments.db, find_policy(arguments), arguments.ledger)
    if arguments.adopt:
        adopt(*files)
        show_note("The ledger was taken over.")
    if arguments.budget:
        show_note(f"This holds from now on: {visible(allow(*files))}.")
    if arguments.unlock is not None:
        unlock(arguments.unlock, *files)
        show_note(f"{visible(arguments.unlock)} may ask again.")
    entries = record(*files)
    if arguments.analyst is not None:
        entries = tuple(entry for entry in entries if entry.analyst == arguments.analyst)
    show_ledger(entries, arguments.format, sys.stdout)
    return 0


def report(arguments: Namespace) -> int:
    """Sum up who asked what, when and at what cost, and how long the budget lasts."""
    from probe_sql.owner import (
        lead,
        people_grid,
        periods_grid,
        questions_grid,
        report_page,
        spending_report,
    )

    found = spending_report(
        arguments.db,
        find_policy(arguments),
        arguments.ledger,
        name=displayed(arguments.db),
        literals=arguments.literals,
    )
    if arguments.format == "json":
        first = found.next_to_end
        next_to_end = None if first is None else asdict(first)
        to_json({**asdict(found), "next_to_end": next_to_end}, sys.stdout)
    elif arguments.format == "html":
        sys.stdout.write(report_page(found))
    else:
        print(lead(found) + "\n")
        if found.periods:
            show_grid(periods_grid(found.periods), arguments.format, sys.stdout)
            print()
        show_grid(people_grid(found.people), arguments.format, sys.stdout)
        print()
        show_grid(questions_grid(found.questions), arguments.format, sys.stdout)
    return 0


def user(arguments: Namespace) -> int:
    """Say who may log in to the server."""
    from probe_sql.cli.serving import manage_users

    return manage_users(arguments, find_policy(arguments))


def serve(arguments: Namespace) -> int:
    """Let users ask over the network."""
    from probe_sql.cli.serving import run_server

    warn_of_secret(arguments.db)
    return run_server(arguments, find_policy(arguments))


def console(arguments: Namespace) -> int:
    """Ask in a browser on this machine."""
    from probe_sql.cli.serving import run_console

    return run_console(arguments, find_policy(arguments))


def completions(arguments: Namespace) -> int:
    """Print what a shell reads to complete this command."""
    from probe_sql.cli.completions import completions as written

    print(written(arguments.shell), end="")
    return 0


def init(arguments: Namespace) -> int:
    """Write a policy, by the owner's answers or as a draft."""
    from probe_sql.cli.owning import write_policy

    warn_of_secret(arguments.db)
    return write_policy(arguments, displayed(arguments.db), displayed(arguments.db, whole=True))


def check(arguments: Namespace) -> int:
    """Explain every problem of a policy, together and with lines; 1 if there are any."""
    from probe_sql.cli.owning import check_policy

    warn_of_secret(arguments.db)
    named = arguments.db is not None or arguments.policy is not None
    shown = None if arguments.db is None else displayed(arguments.db, whole=True)
    return check_policy(arguments, find_policy(arguments) if named else None, shown)


def demo(arguments: Namespace) -> int:
    """Build the demo; show values, a condition by the paper's way and ours, and what remains."""
    from probe_sql.owner import DEMO_PAPER, DEMO_QUERY, DEMO_SAME, DEMO_VALUES, build_demo
    from probe_sql.session import connect

    folder = Path(arguments.dir or tempfile.mkdtemp(prefix="probe-sql-demo-"))
    try:
        built = build_demo(folder)
    except OSError as error:
        raise OperationalError(
            f"the demo cannot be built in {folder}: {error.strerror}", fix="name another --dir"
        ) from None
    _say("A clinic of invented patients, and the policy that says what is public about them")
    print(visible_lines(f"{built.database}\n{built.policy}"))
    with connect(built.database, built.policy, analyst=DEMO_ANALYST) as connection:
        _say("A plain question: how many patients has each ward, and how old are they?")
        print(DEMO_VALUES.rstrip())
        _asked(connection, DEMO_VALUES)
        _say("A line to cross: which viral diseases are common among the old, or small children?")
        print(DEMO_QUERY.rstrip())
        _say("Its plan, free of charge: no private row is read")
        show_explanation(connection.explain(DEMO_QUERY), "table", sys.stdout)
        answers = {}
        for name, title, sql in (
            ("paper", "The paper's way, which bounds the share of all other groups", DEMO_PAPER),
            ("ours, fpr", "Ours, with the same bound", DEMO_SAME),
            ("ours, fdr", "Ours, which bounds the share of the list instead", DEMO_QUERY),
        ):
            _say(title)
            answers[name] = _asked(connection, sql)
        _say("Side by side" if built.truth is None else "Beside the truth, which is known here")
        _side_by_side(answers, built.truth)
        print("fpr: of all groups that do not satisfy the condition, at most 1 in 10 is listed.")
        print("fdr: of the groups that are listed, at most 1 in 10 is wrong: fewer, for more.")
        _say("The same question again is free: what was released is given once more")
        _asked(connection, DEMO_QUERY)
        _say(f"What remains for {DEMO_ANALYST}, by the ledger beside the database")
        show_budget(connection.budget, DEMO_ANALYST, "table", sys.stdout)
    _say("To go on in the shell")
    command = shlex.join([*_this_program(), str(built.database), "--analyst", DEMO_ANALYST])
    print(visible(command))
    return 0


def _this_program() -> list[str]:
    """Words that start this program again from the same place, whatever the search path holds."""
    if shutil.which(PROGRAM) is not None:
        return [PROGRAM]
    named = Path(sys.argv[0])
    return [sys.argv[0]] if named.name == PROGRAM else [sys.executable, "-m", "probe_sql"]


def _asked(connection: Connection, sql: str) -> Answer:
    """Ask, and show the answer."""
    from probe_sql.answer import Answer

    ready(sys.stdout)
    answer = connection.sql(sql)
    assert isinstance(answer, Answer)
    deliver(answer, "table", sys.stdout)
    return answer


def _side_by_side(answers: Mapping[str, Answer], truth: Sequence[str] | None) -> None:
    """Which groups each way lists and what it cost, beside those that satisfy the condition."""
    from probe_sql.grid import Grid

    lists = {name: {row[0] for row in answer.rows} for name, answer in answers.items()}
    if truth is not None:
        lists = {"exact": set(truth), **lists}
    names = sorted(set().union(*lists.values()))
    rows = [(name, *("x" if name in found else "" for found in lists.values())) for name in names]
    cost = [
        f"{answer.privacy.epsilon:.3f}" + (", denied" if answer.status == "denied" else "")
        for answer in answers.values()
    ]
    rows.append(("epsilon", *([] if truth is None else [""]), *cost))
    show_grid(Grid.of(("disease", *lists), rows), "table", sys.stdout)


def _say(text: str) -> None:
    print("\n" + paint(f"-- {text}", "cyan", sys.stdout))


def _text(sql: str | None) -> str:
    """The query, from the arguments or from standard input."""
    if sql is not None and sql != "-":
        return sql
    if sys.stdin.isatty():
        raise UsageError("there is no query", fix="give it in quotes, or on standard input")
    text = read_stdin()
    if not text.strip():
        raise UsageError(
            "standard input has no query", fix="give it in quotes, or on standard input"
        )
    return text


def read_stdin() -> str:
    """All of standard input, as text."""
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise InterfaceError(
            "standard input is not UTF-8 text", fix="convert it, with iconv for instance"
        ) from None
    except OSError as error:
        raise InterfaceError(
            f"standard input cannot be read: {error.strerror}", fix="give the query in quotes"
        ) from None


RUN: dict[str, Callable[[Namespace], int]] = {
    "query": query,
    "explain": explain,
    "budget": budget,
    "ledger": ledger,
    "report": report,
    "user": user,
    "serve": serve,
    "console": console,
    "completions": completions,
    "init": init,
    "check": check,
    "demo": demo,
}
