"""Read a policy file: TOML in, a sound `Policy` or all of its problems out.

`section` reads each part of the file into its object, by the rows of `fields`.
"""

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
from probe_sql.policy.fields import POLICY
from probe_sql.policy.kinds import Findings
from probe_sql.policy.locate import Lines
from probe_sql.policy.policy import Policy


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
            "the policy has changed since this connection was opened",
            why="the rules in force are the owner's present ones; nothing was read or charged",
            fix="connect again",
        )


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Read a policy from TOML text; raise `PolicyError` with everything wrong in it."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError([_syntax(error, text)], source) from None
    policy, problems = _read(document, source)
    if problems:
        raise PolicyError(with_lines(problems, text), source)
    return policy


def with_lines(problems: Iterable[Problem], text: str) -> tuple[Problem, ...]:
    """The problems with their lines in the policy's text, in the order of the file."""
    lines = Lines(text)
    found = [replace(problem, line=lines.find(problem.path)) for problem in problems]
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


def _read(document: dict[str, Any], source: str) -> tuple[Policy, list[Problem]]:
    """The policy that a TOML document says, and what is wrong with it.

    Privacy: a policy with problems has stand-ins in it and is never used.
    """
    found = Findings("")
    policy = POLICY.read(found, "", document, source=source)
    assert isinstance(policy, Policy)
    return policy, list(found.problems)
