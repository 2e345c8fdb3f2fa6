"""Check a policy as a whole: the file itself, then against its database."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from probe_sql.database import ledger_path
from probe_sql.errors import InterfaceError, OperationalError, PolicyError, Problem
from probe_sql.ledger import Ledger
from probe_sql.ledger.locks import owns
from probe_sql.owner.access import OpenFile, refused_by_server
from probe_sql.owner.judge import Advice, judge
from probe_sql.policy import Policy, load_policy, with_lines
from probe_sql.policy.locate import Lines
from probe_sql.policy.names import dotted
from probe_sql.vault.backends import open_backend
from probe_sql.vault.bounded_store import purge as purge_stores
from probe_sql.vault.bounded_store import source_marks
from probe_sql.vault.remarks import remarks
from probe_sql.vault.sources import is_remote, layout


@dataclass(frozen=True, slots=True)
class Report:
    """What was found: the problems in the order of the file, and the policy if it has none.

    `advice` is what a sound policy says that its owner may not mean. `shared` is what the server
    would refuse, since other accounts have rights to it. `purged` are the directories
    of bounded tables that were removed. `audited`: there is a ledger of the caller's, and it was
    verified.
    """

    source: str
    problems: tuple[Problem, ...]
    policy: Policy | None
    warnings: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()
    shared: tuple[OpenFile, ...] = ()
    purged: tuple[Path, ...] = ()
    audited: bool = False


def check(path: str | os.PathLike[str], source: Any = None, *, purge: bool = False) -> Report:
    """Everything that is wrong with a policy file, with lines.

    Reads no private row but to see whether all of them can be read at all, and whether there are
    rows without a person that the policy refuses. `purge` removes what is kept beside the source.
    Raises `LedgerError` where the ledger does not hold from its first row on.
    """
    report = _check(os.fspath(path), source)
    return replace(report, purged=tuple(_purge(source, report.policy))) if purge else report


def _purge(source: Any, policy: Policy | None) -> list[Path]:
    try:
        return [] if is_remote(source) else purge_stores(layout(source, policy))
    except OSError as error:
        raise OperationalError(
            f"what is kept beside the source could not be removed: {error.strerror}",
            fix="remove the directory NAME.bounded by hand",
        ) from None


def _check(name: str, source: Any) -> Report:
    try:
        policy = load_policy(name)
    except PolicyError as error:
        return Report(name, error.problems, None)
    text = Path(name).read_text(encoding="utf-8-sig")
    if source is None:
        return Report(name, (), policy, advice=judge(policy, None, text))
    problems: list[Problem] = []
    backend = open_backend(source, policy, checked=False)
    try:
        schemas = backend.schemas()
        problems += policy.check_schema(schemas)
        for examine in (backend.check_public_keys, backend.check_people):
            try:
                examine(policy)
            except PolicyError as error:
                problems += error.problems
    finally:
        backend.close()
    if problems:
        return Report(name, with_lines(dict.fromkeys(problems), text), None)
    report = Report(name, (), policy.with_types(schemas))
    advice = [*judge(policy.with_types(schemas), schemas, text), *_remarked(source, policy, text)]
    report = replace(report, advice=tuple(sorted(advice, key=lambda one: one.line or 0)))
    try:
        path, identity = ledger_path(source, policy, None)
    except InterfaceError:  # whoever connects names one
        return report
    database = "DB" if is_remote(source) else shlex.quote(str(source))
    command = f"probe-sql ledger {database} --policy {shlex.quote(name)} --budget"
    audited, withheld = _audit(path, identity, policy, command)
    warnings = (*_open_to_others(path), *withheld)
    shared = refused_by_server(guarded_files(source, name)) if isinstance(source, str) else ()
    return replace(report, warnings=warnings, shared=shared, audited=audited)


def _remarked(source: Any, policy: Policy, text: str) -> Iterator[Advice]:
    """What is worth a second look in the database itself."""
    lines = Lines(text)
    for one in remarks(source, policy):
        path = "tables" if one.table is None else dotted("tables", one.table)
        yield Advice(path, one.what, one.why, "", line=lines.find(path), run=one.run)


def _audit(path: Path, identity: str, policy: Policy, command: str) -> tuple[bool, tuple[str, ...]]:
    """Verify the ledger from its first row, where the caller owns one; what it withholds.

    Privacy: a connection verifies from the last snapshot that the anchors vouch for. That is
    enough for every total; that no entry before it was changed is seen here.
    """
    if not path.exists() or not owns(path):
        return False, ()
    with Ledger.open(path, budget=policy.prices(), identity=identity, create=False) as book:
        book.audit()
        withheld = book.withheld()
    if withheld is None:
        return True, ()
    return True, (
        f"The policy allows {withheld}, which is more than the ledger's entry does, and the smaller"
        f" of the two holds. To let the policy's hold: {command}",
    )


def _open_to_others(path: Path) -> tuple[str, ...]:
    """Warn where others may write the ledger's directory, or move it away: they could begin a
    fresh budget. In a directory above with the sticky bit nobody moves what is another's."""
    folder = Path(os.path.realpath(path)).parent
    found = []
    for place in (folder, *folder.parents):
        mode = place.stat().st_mode if place.exists() else 0
        whom = [
            who
            for bit, who in ((stat.S_IWGRP, "its group"), (stat.S_IWOTH, "everybody"))
            if mode & bit and (place == folder or not mode & stat.S_ISVTX)
        ]
        if whom:
            take = "take the ledger away" if place == folder else f"move {folder} away"
            modes = "g-w,o-w" if len(whom) == 2 else "g-w" if whom[0] == "its group" else "o-w"
            found.append(
                f"{place} may be written by {' and '.join(whom)}: they can {take}"
                " and, from another state directory, begin with a fresh budget. Let only trusted"
                f" accounts write it: chmod {modes} {shlex.quote(str(place))}"
            )
    return tuple(found)


def guarded_files(
    source: str, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> tuple[Path, ...]:
    """The data, bounded tables, policy, ledger and users of a database, as far as there are such
    files."""
    rules = load_policy(policy)
    book, _ = ledger_path(source, rules, ledger)
    data = [] if is_remote(source) else [*source_marks(layout(source, rules))]
    found = [Path(policy), *data, *(path.with_name(path.name + ".bounded") for path in data)]
    ends = ("", ".anchor", ".bounded", ".content", ".users")
    books = dict.fromkeys((book, Path(os.path.realpath(book))))  # its files lie where a link leads
    found += [one.with_name(one.name + end) for one in books for end in ends]
    return tuple(path for path in found if path.exists())
