"""Golden files of the dialect: one query a file, with what must come of it in comments.

    python -m tests.sql.golden                 show where files and engine differ
    python -m tests.sql.golden --write FILE... rewrite the expectations of these files

A file is a comment that says what it shows, the SQL, and a block of comments that begins
with `-- expect:`. Lines `-- parameters: [...]` and `-- options: {...}` above the SQL supply
the values of `?` and the arguments of the call.
"""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from probe_sql.errors import ProbeError
from probe_sql.logic.formula import And, Constant, Formula, Leaf
from probe_sql.plan.plan import Plan, make_plan, plan_bound
from probe_sql.plan.tally import Threshold
from probe_sql.sql.bind import bind
from probe_sql.sql.blocks import take_apart
from probe_sql.sql.outer import check_outer, render_outer
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.script import Script
from probe_sql.sql.text import Statement
from probe_sql.sql.text import read as read_text
from tests.examples.hospital import policy

FOLDER = Path(__file__).parent.parent.parent / "grammar"
MARK = "-- expect:"


@dataclass(frozen=True, slots=True)
class Golden:
    """One file: the text before its expectations, what it gives, and what it expects."""

    path: Path
    body: str
    parameters: list[Any]
    options: dict[str, Any]
    expected: list[str]


def files(folder: str) -> list[Path]:
    """The golden files of `accept`, `around` or `refuse`, in order."""
    return sorted((FOLDER / folder).glob("*.sql"))


def read(path: Path) -> Golden:
    """Read one file."""
    body, mark, block = path.read_text(encoding="utf-8").partition(MARK)
    given: dict[str, Any] = {"parameters": [], "options": {}}
    for line in body.splitlines():
        name, colon, value = line.removeprefix("--").strip().partition(":")
        if line.startswith("--") and colon and name in given:
            given[name] = ast.literal_eval(value.strip())
    expected = [line.removeprefix("--").strip() for line in block.strip().splitlines()]
    return Golden(path, body, given["parameters"], given["options"], expected if mark else [])


def outcome(golden: Golden) -> list[str]:
    """What the engine makes of the query: the lines of an expectation."""
    try:
        text = reshaped(read_text(golden.body, golden.parameters), policy())
        script = take_apart(text, policy())
        if script is not None:
            return list(_script(script))
        plan = make_plan(golden.body, policy(), golden.parameters, **golden.options)
    except ProbeError as error:
        return list(_refusal(error, golden.body))
    return list(_plan(plan))


def difference(golden: Golden) -> str:
    """A readable difference between what is expected and what came out; empty if none."""
    lines = difflib.unified_diff(
        golden.expected, outcome(golden), "expected", "came out", lineterm="", n=20
    )
    return "\n".join(lines)


def _refusal(error: ProbeError, sql: str) -> Iterable[str]:
    yield f"error: {type(error).__name__}"
    yield f"what: {error.what}"
    if error.span is not None:
        yield f"at: {' '.join(sql[error.span.start : error.span.end].split())}"
    if error.fix:
        yield f"fix: {error.fix}"
    if error.instead is not None and error.fix != f"write {error.instead}":
        yield f"instead: {error.instead or 'nothing'}"


def _script(script: Script) -> Iterable[str]:
    """Blocks as they are planned, as far as nothing must be released before, and what is around."""
    check_outer(script.outer, script.source, script.public)
    for block in script.blocks:
        if not block.holes:
            spans = block.option_spans
            statement = Statement(script.source, block.select, block.options, spans, explain=False)
            plan_bound(bind(statement, policy()), policy())
        yield f"{block.name}: {render_outer(block.select)}"
        yield from (f"{hole.kind} {hole.name}: {render_outer(hole.query)}" for hole in block.holes)
    yield f"around: {render_outer(script.outer)}"


def _plan(plan: Plan) -> Iterable[str]:
    yield f"group by: {', '.join(key.name for key in plan.query.keys) or 'nothing'}"
    for number, (atom, origin) in enumerate(zip(plan.atoms, plan.origins, strict=True)):
        yield f"{atom.name}: {origin.text}"
        yield f"= {_normal(number, plan)}"
    yield f"formula: {_formula(plan.formula)}"
    for figure in plan.figures:
        deltas = ", ".join(
            f"{plan.text_of(part.measure)} | delta {part.delta}" for part in figure.parts
        )
        yield f"{figure.kind} {figure.name}: {deltas}"
    if plan.figures:
        yield f"all at epsilon 1: {plan.unit_loss([1.0] * len(plan.deltas)).epsilon:.4g}"
    for measure, epsilon in plan.releases.extra:
        yield f"also drawn: {plan.measures[measure].text} | epsilon {epsilon:.4g}"


def _normal(number: int, plan: Plan) -> str:
    atom, public = plan.atoms[number], plan.origins[number].threshold
    measure = plan.measures[atom.measure]
    text, where, guard = measure.text.partition(", where ")
    minus = "-1 * " if atom.sign < 0 else ""
    body = f"({text})" if minus and " " in text else text
    bound = str(atom.threshold) if public is None else _threshold(public)
    return f"{minus}{body} > {bound}{where}{guard} | delta {atom.delta}"


def _threshold(threshold: Threshold) -> str:
    parts = [
        str(scalar.ast.name) if factor == 1 else f"{factor} * {scalar.ast.name}"
        for factor, scalar in threshold.parts
        if factor
    ]
    if threshold.constant or not parts:
        parts.append(str(threshold.constant))
    inner = " + ".join(parts)
    if threshold.unit != 1:
        inner = f"({inner}) * {Fraction(1) / threshold.unit}"
    text = f"{'floor' if threshold.floor else 'ceil'}({inner})"
    return text if not threshold.shift else f"{text} - {-threshold.shift}"


def _formula(formula: Formula) -> str:
    if isinstance(formula, Constant):
        return "every group" if formula.value else "no group"
    if isinstance(formula, Leaf):
        return f"Q{formula.atom + 1}"
    word = " AND " if isinstance(formula, And) else " OR "
    return "(" + word.join(_formula(part) for part in formula.parts) + ")"


def main(arguments: Sequence[str]) -> int:
    """Show differences; with --write, make the named files expect what comes out."""
    write = "--write" in arguments
    named = [Path(argument) for argument in arguments if argument != "--write"]
    if write and not named:
        print("name the files to rewrite, and review each of them")
        return 2
    differing = 0
    for path in named or [*files("accept"), *files("around"), *files("refuse")]:
        golden = read(path)
        text = difference(golden)
        if not text:
            continue
        differing += 1
        print(f"{path}\n{text}\n")
        if write:
            lines = "".join(f"--   {line}\n" for line in outcome(golden))
            path.write_text(f"{golden.body.rstrip()}\n\n{MARK}\n{lines}", encoding="utf-8")
    print(f"{differing} file(s) differ")
    return 1 if differing and not write else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
