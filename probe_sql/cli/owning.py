"""`init` and `check`: how an owner writes a policy, and what is said of it."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from probe_sql.cli.arguments import PROGRAM, UsageError, policy_path
from probe_sql.cli.show import to_json
from probe_sql.cli.terminal import is_terminal, paint, show_note
from probe_sql.errors import InterfaceError, OperationalError, PolicyError
from probe_sql.text import limit, visible, visible_lines

if TYPE_CHECKING:
    from probe_sql.owner import Advice, Report, TableCaps


def write_policy(arguments: Namespace, shown: str, source: str) -> int:
    """Write a policy: by the owner's answers at a terminal, as a draft elsewhere."""
    from probe_sql.session import is_remote

    if arguments.output == "-":
        sys.stdout.write(visible_lines(_draft(arguments, shown)))
        return 0
    if arguments.output is None and is_remote(arguments.db):
        raise UsageError("a server has no place for its policy", fix="name one with --output FILE")
    path = Path(arguments.output or policy_path(arguments))
    answered = not arguments.draft and is_terminal(sys.stdin) and is_terminal(sys.stdout)
    if answered and path.exists() and not arguments.force:  # before anything is asked
        raise _in_the_way(path)
    text = _asked(arguments, shown, source) if answered else _draft(arguments, shown)
    try:
        with path.open("w" if arguments.force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _in_the_way(path) from None
    except OSError as error:
        raise OperationalError(
            f"{path} cannot be written: {error.strerror}", fix="name another place with --output"
        ) from None
    told = "by your answers" if answered else "from the schema alone"
    print(visible(f"wrote {path}, {told}"))
    print("next: run" if answered else 'next: decide what is marked "decide", then run')
    named = [] if arguments.output is None else ["--policy", str(path)]
    print(visible(f"  {shlex.join([PROGRAM, 'check', source, *named])}"))
    return 0


def _in_the_way(path: Path) -> InterfaceError:
    return InterfaceError(
        f"{path} exists already",
        why="a draft would replace decisions that were made",
        fix="write elsewhere with --output FILE, or replace it with --force",
    )


def _draft(arguments: Namespace, shown: str) -> str:
    from probe_sql.owner import draft

    return draft(arguments.db, shown, header=arguments.header)


def _asked(arguments: Namespace, shown: str, source: str) -> str:
    """The policy by the owner's answers."""
    from probe_sql.owner import interview

    def ask(question: str) -> str:
        try:
            return input(question)
        except EOFError:
            print()
            raise InterfaceError(
                "the questions were not answered to the end",
                why="nothing was written",
                fix=f"a draft needs no answers: {PROGRAM} init {shlex.quote(source)} --draft",
            ) from None

    return interview(arguments.db, shown, ask, print, header=arguments.header)


def check_policy(arguments: Namespace, policy: str | None, source: str | None) -> int:
    """Explain every problem of a policy, together and with lines; 1 if there are any."""
    from probe_sql.owner import check
    from probe_sql.policy import json_schema

    if arguments.schema:
        to_json(json_schema(), sys.stdout)
        return 0
    if policy is None:
        raise UsageError(
            "neither a database nor a policy is named", fix=f"{PROGRAM} check DB --policy FILE"
        )
    if arguments.purge and arguments.db is None:
        raise UsageError("--purge needs the database", fix=f"{PROGRAM} check DB --purge")
    report = check(policy, arguments.db, purge=arguments.purge)
    guess = arguments.rows_per_person
    for folder in report.purged:
        show_note(f"Removed {visible(str(folder))}.")
    if arguments.format == "json":
        to_json(_report_dict(report, guess), sys.stdout)
    elif report.policy is None:
        raise PolicyError(report.problems, report.source)
    else:
        _show_sound(report, source)
        found = _caps(report, guess)
        for line in (line for table in found for line in table.lines()):
            print(visible(line))
        if guess is not None and not found:
            show_note("--rows-per-person shows nothing: no table caps the rows of a person.")
        for warning in report.warnings:
            show_note(warning)
    return 1 if report.problems else 0


def _caps(report: Report, guess: float | None) -> tuple[TableCaps, ...]:
    from probe_sql.owner import caps

    return () if guess is None or report.policy is None else caps(report.policy, guess)


def _report_dict(report: Report, guess: float | None) -> dict[str, object]:
    from probe_sql.owner import periods_promise

    promise = None if report.policy is None else periods_promise(report.policy)
    return {
        "policy": report.source,
        "status": "problems" if report.problems else "sound",
        "problems": [
            {"line": p.line, "path": p.path, "what": p.what, "fix": p.fix} for p in report.problems
        ],
        "warnings": list(report.warnings),
        "advice": [asdict(one) for one in report.advice],
        "shared": [{"path": str(o.path), "what": o.problem, "fix": o.fix} for o in report.shared],
        "ledger_audited": report.audited,
        "periods": None if promise is None else asdict(promise),
        "caps": [asdict(one) for one in _caps(report, guess)],
    }


def _show_sound(report: Report, database: str | None) -> None:
    from probe_sql.owner import periods_promise

    policy = report.policy
    assert policy is not None
    against = "" if database is None else f" and fits {database}"
    print(paint(visible(f"{report.source} is sound{against}"), "green", sys.stdout))
    whole, each = policy.budget.epsilon, policy.accuracy().epsilon
    print(f"  epsilon {limit(whole)} in all, {limit(each)} a query")
    promise = periods_promise(policy)
    for line in () if promise is None else promise.lines():
        print(visible(f"  {line}"))
    for table in policy.tables.values():
        who = "one row" if table.unit.column is None else f"all rows of one {table.unit.column}"
        grouped = [column.name for column in table.columns.values() if column.keys is not None]
        by = ", ".join(grouped) or "nothing yet"
        print(visible(f"  private {table.name}: protects {who}; groups by {by}"))
    for public in policy.public.values():
        print(visible(f"  public {public.name}: exact, joined on {', '.join(public.key)}"))
    if report.audited:
        print("  the ledger holds, from its first entry on")
    _show_advice(report.advice)
    for number, one in enumerate(report.shared):
        if number == 0:
            print("`probe-sql serve` would refuse what other accounts may use:")
        print(visible(f"  {one}: {one.fix}"))


def _show_advice(advice: Iterable[Advice]) -> None:
    for number, one in enumerate(advice):
        if number == 0:
            print("worth a second look:")
        at = one.path if one.line is None else f"line {one.line}, {one.path}"
        print(visible(f"  {at}: {one.what}"))
        print(visible(f"    why: {one.why}"))
        if one.write:
            print(visible(f"    write: {one.write}"))
        for statement in one.run:
            print(visible(f"    run: {statement};"))
        if one.add is not None:
            print(visible(f"    and below {one.add[0]}: {one.add[1]}"))
