"""What is opened once for one database: its rows, its rules, its ledger and the noise."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from probe_sql import arguments
from probe_sql.errors import InterfaceError
from probe_sql.ledger import Ledger
from probe_sql.ledger.anchors import of as anchors_of
from probe_sql.ledger.anchors import state_directory
from probe_sql.ledger.links import known_as, remember
from probe_sql.measuring import Task
from probe_sql.plan.plan import Plan, make_plan, plan_bound
from probe_sql.policy import Policy, load_policy
from probe_sql.policy.read import check_unchanged
from probe_sql.sql.bind import bind
from probe_sql.sql.blocks import take_apart
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.script import Script
from probe_sql.sql.text import read, text_statement
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler
from probe_sql.vault.randomness import SecureWords
from probe_sql.vault.sources import Database as DatabaseFile
from probe_sql.vault.sources import (
    Files,
    as_spark,
    identity,
    is_remote,
    layout,
    public_files,
)

_BESIDE = (".wal", ".bounded")  # of DuckDB's, and of bounded tables


@dataclass(frozen=True, slots=True)
class Database:
    """An open database under a policy, whose columns have the database's types."""

    backend: Backend
    policy: Policy
    ledger: Ledger
    sampler: Sampler
    files: tuple[Path, ...] = ()  # of its rows, rules and ledger, and folders of such
    shared: bool = False  # a session's: closing it leaves the rest open

    def session(self, login: str | None = None) -> Database:
        """The same database for one session, which ends its own scans and nobody else's.

        `login` is who was let in by a password: failures then count for them alone.
        """
        ledger = self.ledger if login is None else self.ledger.login(login)
        return replace(self, backend=self.backend.session(), ledger=ledger, shared=True)

    def question(
        self, query: str, parameters: Sequence[Any] = (), **accuracy: Any
    ) -> Plan | Script:
        """Plan a query of one block, or take it apart; free of charge, reads no private row."""
        text = reshaped(read(query, parameters), self.policy)
        script = take_apart(text, self.policy)
        if script is not None:
            return script
        bound = bind(text_statement(text), self.policy)
        return plan_bound(bound, self.policy, engine=self.backend.engine, **accuracy)

    def plan(self, query: str, parameters: Sequence[Any] = (), **accuracy: Any) -> Plan:
        """Plan a query of one block; free of charge, reads no private row."""
        engine = self.backend.engine
        return make_plan(query, self.policy, parameters, engine=engine, **accuracy)

    def task(self, plan: Plan, groups: int) -> Task:
        """The question as an algorithm sees it; reads public tables only."""
        return plan.task(groups, self.backend.thresholds(plan.scan))

    def owns(self, path: str) -> bool:
        """Whether a path leads to a file of this database, by whatever name or link."""
        target = Path(os.path.realpath(path))
        ledger = self.ledger.path
        if target.parent == ledger.parent and target.name.startswith(ledger.name):
            return True  # SQLite's files and the anchor begin with its name
        own = (*self.files, *ledger.parent.glob(glob.escape(ledger.name) + "*"))
        return any(target == one or one in target.parents or _same(target, one) for one in own)

    def close(self) -> None:
        """End what runs, and close the source and the ledger where they are not shared; safe to
        call twice."""
        try:
            self.backend.close()
        finally:
            if not self.shared:
                self.ledger.close()


def open_database(
    source: Any,
    policy: Policy | str | os.PathLike[str],
    ledger: str | os.PathLike[str] | None = None,
) -> Database:
    """Open a source under a policy, with its ledger.

    Where the policy is a file and its owner changes it, the ledger admits no more.
    """
    arguments.source(source)
    rules = policy if isinstance(policy, Policy) else load_policy(policy)
    in_force: Callable[[], None] = (
        (lambda: None)
        if isinstance(policy, Policy)
        else partial(check_unchanged, os.path.abspath(policy), rules.digest)
    )
    path, identity = ledger_path(source, rules, ledger)
    backend = open_backend(source, rules, beside=path)
    try:
        typed = rules.with_types(backend.schemas())
        book = Ledger.open(
            path, budget=typed.prices(), identity=identity, in_force=in_force, reuse=typed.reuse
        )
        if path == Path(identity + ".ledger"):
            remember(identity)
    except BaseException:
        backend.close()
        raise
    files = _files(source, rules, book.path, identity)
    return Database(backend, typed, book, Sampler(SecureWords()), files)


def _files(source: Any, policy: Policy, ledger: Path, name: str) -> tuple[Path, ...]:
    """The files of a database, those that may come beside it, and folders that hold more."""
    if is_remote(source):
        sources: list[Any] = [*public_files(policy).values()]
        spark = name.startswith("spark:")
        named = [Path(path) for path in as_spark(source).tables.values()] if spark else []
    else:
        found = layout(source, policy)
        sources, named = [found.database, *found.private.values(), *found.public.values()], []
    for one in sources:
        paths = one.paths if isinstance(one, Files) else ()
        for path in (one.path,) if isinstance(one, DatabaseFile) else paths:
            named += [path, *(path.with_name(path.name + end) for end in _BESIDE)]
    own = [Path(policy.source)] if policy.source is not None else []
    state = state_directory()
    kept = [] if state is None else [state, *(anchor.path for anchor in anchors_of(ledger))]
    return tuple(Path(os.path.realpath(one)) for one in (*named, *own, *kept))


def _same(one: Path, other: Path) -> bool:
    """Whether two names are of one file, as hard links are."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def ledger_path(
    source: Any, policy: Policy, ledger: str | os.PathLike[str] | None
) -> tuple[Path, str]:
    """Where the ledger lies, and the name of the database it belongs to."""
    name = identity(source)
    if ledger is not None:
        arguments.file_name(ledger, "ledger", "connect(..., ledger='name.ledger')")
        return Path(ledger), name
    if policy.ledger is not None:
        return policy.beside(policy.ledger), name
    server = is_remote(source)
    if server or not isinstance(source, str | os.PathLike):
        raise InterfaceError(
            f"a {'server' if server else 'frame'} has no place of its own for the ledger",
            why="what was spent must outlive this process",
            fix="connect(..., ledger='name.ledger'), or ledger = '...' in the policy",
        )
    if glob.has_magic(os.fspath(source)) and not Path(source).exists():
        raise InterfaceError(
            "a pattern has no place of its own for the ledger",
            why="many patterns name the same files, and each would begin a budget of its own",
            fix="name one with ledger='name.ledger' (--ledger), or ledger = '...' in the policy",
        )
    # Not beside a link, symbolic or hard: the same data under another name has the same budget.
    name = known_as(name)
    return Path(name + ".ledger"), name
