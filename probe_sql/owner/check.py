"""Check a policy as a whole: the file itself, then against its database."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe_sql.errors import InterfaceError, PolicyError, Problem
from probe_sql.policy import Policy, load_policy, with_lines
from probe_sql.session import ledger_place
from probe_sql.vault.sources import open_backend


@dataclass(frozen=True, slots=True)
class Report:
    """What was found: the problems in the order of the file, and the policy if it has none."""

    source: str
    problems: tuple[Problem, ...]
    policy: Policy | None
    warnings: tuple[str, ...] = ()


def check(path: str | os.PathLike[str], source: Any = None) -> Report:
    """Everything that is wrong with a policy file, with lines.

    Reads no private row, but to see whether there are rows without a person that it refuses.
    """
    name = os.fspath(path)
    try:
        policy = load_policy(path)
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
