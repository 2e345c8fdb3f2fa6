"""Check a policy as a whole: the file itself, then against its database."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from probe_sql.database import ledger_place
from probe_sql.errors import InterfaceError, OperationalError, PolicyError, Problem
from probe_sql.policy import Policy, load_policy, with_lines
from probe_sql.vault.shelf import purge as purge_shelves
from probe_sql.vault.sources import elsewhere, layout, open_backend


@dataclass(frozen=True, slots=True)
class Report:
    """What was found: the problems in the order of the file, and the policy if it has none.

    `purged` are the directories of bounded tables that were removed.
    """

    source: str
    problems: tuple[Problem, ...]
    policy: Policy | None
    warnings: tuple[str, ...] = ()
    purged: tuple[Path, ...] = ()


def check(path: str | os.PathLike[str], source: Any = None, *, purge: bool = False) -> Report:
    """Everything that is wrong with a policy file, with lines.

    Reads no private row but to see whether all of them can be read at all, and whether there are
    rows without a person that the policy refuses. `purge` removes what is kept beside the source.
    """
    report = _check(os.fspath(path), source)
    return replace(report, purged=tuple(_purge(source, report.policy))) if purge else report


def _purge(source: Any, policy: Policy | None) -> list[Path]:
    try:
        return [] if elsewhere(source) else purge_shelves(layout(source, policy))
    except OSError as error:
        raise OperationalError(
            f"What is kept beside the source could not be removed: {error.strerror}.",
            fix="Remove the directory NAME.bounded by hand.",
        ) from None


def _check(name: str, source: Any) -> Report:
    try:
        policy = load_policy(name)
    except PolicyError as error:
        return Report(name, error.problems, None)
    if source is None:
        return Report(name, (), policy)
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
        text = Path(name).read_text(encoding="utf-8-sig")
        return Report(name, with_lines(dict.fromkeys(problems), text), None)
    return Report(name, (), policy.with_types(schemas), _open_to_others(source, policy))


def _open_to_others(source: Any, policy: Policy) -> tuple[str, ...]:
    """Who may write the ledger's directory can remove it, and begin a fresh budget with it."""
    try:
        place, _ = ledger_place(source, policy, None)
    except InterfaceError:  # whoever connects names one
        return ()
    folder = Path(os.path.realpath(place)).parent
    mode = folder.stat().st_mode if folder.exists() else 0
    whom = [
        who for bit, who in ((stat.S_IWGRP, "its group"), (stat.S_IWOTH, "everybody")) if mode & bit
    ]
    if not whom:
        return ()
    return (
        f"{folder} may be written by {' and '.join(whom)}: they can take the ledger away and, from"
        " another state directory, begin with a fresh budget. Let only trusted accounts write it.",
    )
