"""Read a policy file: TOML in, a sound `Policy` or all of its problems out."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from probe_sql import arguments
from probe_sql.errors import OperationalError, PolicyError, Problem
from probe_sql.policy import cross
from probe_sql.policy.locate import Lines
from probe_sql.policy.model import Budget, Policy, PublicTable, Table
from probe_sql.policy.parts import Reader
from probe_sql.policy.resources import Resources

_TOP = ("budget", "defaults", "tables", "public", "ledger", "engine")
_BUDGET = ("epsilon", "per_query", "analysts", "least", "failure", "failures", "holds")
_ENGINE = ("memory", "threads", "spill")
_STAND_IN = Budget(1e6)  # where the real one is broken, so that the rest is still checked


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file; raise `PolicyError` with everything that is wrong in it."""
    source = arguments.path(path, "policy", "load_policy('clinic.toml'), or pass a Policy")
    try:
        data = Path(source).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
        problem = Problem("file", f"cannot read it: {reason}", "give the path of a policy file")
        raise PolicyError([problem], source) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = Problem("file", "it is not UTF-8 text", "save the file as UTF-8", line)
        raise PolicyError([problem], source) from None
    return replace(parse_policy(text, source), digest=hashlib.sha256(data).hexdigest())


def check_unchanged(path: str | os.PathLike[str], digest: str | None) -> None:
    """Raise unless the file still is the one that was read, by its digest.

    Privacy: an owner who lowers a budget or takes a column away means open connections too.
    """
    try:
        now = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        now = None
    if now != digest:
        raise OperationalError(
            "The policy has changed since this connection was opened.",
            why="The rules in force are the owner's present ones; nothing was read or charged.",
            fix="Connect again.",
        )


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Read a policy from TOML text; raise `PolicyError` with everything wrong in it."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError([_syntax(error, text)], source) from None
    reader = Reader()
    policy = _read(reader, document, source)
    if policy is None:
        raise PolicyError(with_lines(dict.fromkeys(reader.problems), text), source)
    return policy


def with_lines(problems: Iterable[Problem], text: str) -> tuple[Problem, ...]:
    """The problems with their lines in the policy's text, in the order of the file."""
    lines = Lines(text)
    found = [replace(problem, line=lines.find(problem.place)) for problem in problems]
    return tuple(sorted(found, key=lambda problem: problem.line or 0))


def _syntax(error: Exception, text: str) -> Problem:
    if isinstance(error, RecursionError):
        return Problem("file", "lists are nested too deeply", "write a flat list")
    if not isinstance(error, tomllib.TOMLDecodeError):
        return Problem("file", "a number has too many digits", "write a shorter number")
    message = str(error)
    line: int | None = None
    if match := re.search(r" \(at line (\d+), column \d+\)$", message):
        line = int(match[1])
        message = message[: match.start()]
    elif message.endswith(" (at end of document)"):
        line = text.count("\n") + 1
        message = message.removesuffix(" (at end of document)")
    fix = "correct this line: strings need quotes, lists commas, a table one header"
    return Problem("file", f"it is not valid TOML: {message}", fix, line)


def _read(reader: Reader, document: dict[str, Any], source: str) -> Policy | None:
    """The policy, or None once the reader has noted a problem."""
    top = reader.fields("", document, _TOP)
    budget = _budget(reader, top)
    tables: dict[str, Table] = {}
    for name, raw in reader.named("tables", top.get("tables", {})):
        table = reader.table(name, raw)
        if table is not None:
            tables[name] = table
    public: dict[str, PublicTable] = {}
    for name, raw in reader.named("public", top.get("public", {})):
        shared = reader.public(name, raw)
        if shared is not None:
            public[name] = shared
    defaults, ledger = top.get("defaults", {}), top.get("ledger")
    raw = reader.fields("engine", top.get("engine", {}), _ENGINE)
    engine = reader.build("engine", "engine", lambda: Resources(**raw)) or Resources()
    policy = reader.build(
        "", "", lambda: Policy(budget, tables, public, defaults, ledger, source, engine)
    )
    if top.get("tables"):
        # Then tables that could not be built are the reason, and reported.
        reader.problems = [p for p in reader.problems if p != Problem(*cross.NO_TABLE)]
    return policy if not reader.problems else None


def _budget(reader: Reader, top: dict[str, Any]) -> Budget:
    if "budget" not in top:
        reader.report("budget", "the budget is missing", "add [budget] with epsilon = 10.0")
        return _STAND_IN
    raw = reader.fields("budget", top["budget"], _BUDGET)
    if not isinstance(top["budget"], dict):
        return _STAND_IN
    if "epsilon" not in raw:
        what = "the whole database's epsilon is missing"
        reader.report("budget.epsilon", what, "write epsilon = 10.0")
        raw["epsilon"] = _STAND_IN.epsilon
    budget = reader.build("budget", "budget", lambda: Budget(**raw))
    return budget or _STAND_IN
