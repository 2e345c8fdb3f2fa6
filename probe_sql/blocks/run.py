"""A prepared query, asked: block by block in order, then what is around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from probe_sql.answer.values import Answer, Denied
from probe_sql.blocks.compose import composed, denied, whole
from probe_sql.blocks.program import Program, Step, public_columns
from probe_sql.errors import ProbeError
from probe_sql.loss import Loss
from probe_sql.outside import Sandbox
from probe_sql.outside.process import as_text
from probe_sql.plan.plan import Plan
from probe_sql.sql.fill import Given
from probe_sql.sql.lineage import lineage, with_rows
from probe_sql.sql.outer import render_outer
from probe_sql.sql.script import Hole, shows


class Asks(Protocol):
    """What a session does for a query with blocks."""

    def admit(self, plans: Sequence[Plan]) -> None:
        """Raise what the ledger would raise where all of these are asked now."""
        ...

    def denied(self, plan: Plan) -> str | None:
        """Why public facts alone deny a query, if they do; free."""
        ...

    def ask(self, plan: Plan) -> Answer:
        """Answer one planned query, which spends."""
        ...

    def public(self, table: str) -> Sequence[Sequence[str | None]]:
        """The rows of a public table: a list of texts for each column."""
        ...

    @property
    def remaining(self) -> float:
        """What is left of the budget."""
        ...


def answer(program: Program, sandbox: Sandbox, asker: Asks) -> Answer:
    """Ask every block and run what is around them.

    Privacy: private rows are read by `ask` alone, which charges each block before. The sum of all
    is admitted first, and what public facts deny is denied first, so that no block is charged
    for an answer that cannot come. What goes wrong after a block was charged carries the answers
    so far: they were paid for.
    """
    for step in program.steps:
        reason = asker.denied(step.asked) if step.pays and not step.block.holes else None
        if reason is not None:
            return denied(program, {}, step, reason, Loss.NOTHING, asker.remaining)
    asker.admit([step.asked for step in program.steps if step.pays or step.block.holes])
    blocks: dict[int, Answer] = {}
    try:
        return _asked(program, sandbox, asker, blocks)
    except ProbeError as error:
        names = {step.block.number: step.block.name for step in program.steps}
        error.released = {names[number]: one for number, one in blocks.items()}
        if blocks and any(one.privacy.loss > Loss.NOTHING for one in blocks.values()):
            told = "What private blocks released before is not lost: error.released has it."
            error.why = f"{error.why}. {told}" if error.why else told
        raise error.located(program.script.source.sql)  # noqa: B904 - the same error, with its text


def _asked(program: Program, sandbox: Sandbox, asker: Asks, blocks: dict[int, Answer]) -> Answer:
    for name in program.script.public:
        columns = public_columns(program.policy.public[name])
        sandbox.fill(name, columns, asker.public(name))
    for step in program.steps:
        found = blocks.get(step.block.number if step.same is None else step.same)
        if found is None:
            given = {hole.name: _given(program, sandbox, hole) for hole in step.block.holes}
            found = asker.ask(program.planned(step.block, given) if given else step.asked)
        if isinstance(found, Denied):
            return denied(program, blocks, step, found.reason, found.privacy.loss, asker.remaining)
        blocks.update(_parted(program, step, found))
        data = [[as_text(row[i]) for row in found.raw] for i in range(len(step.columns))]
        sandbox.fill(step.block.table, step.columns, data)
    if program.script.bare:
        return whole(program, blocks, asker.remaining)
    lines = lineage(program.script.outer, tables(program), summable(program))
    sql = render_outer(with_rows(program.script.outer, lines))
    found_ = sandbox.run(sql, sandbox.bind(sql))
    return composed(program, blocks, found_, lines, asker.remaining)


def _parted(program: Program, step: Step, found: Answer) -> dict[int, Answer]:
    """What was released, by the blocks that it is of."""
    number, receipt = step.block.number, step.receipt
    if receipt is None or not step.leads:
        return {number: found}
    sharing = [one for one in program.steps if one.receipt is receipt]
    return {one.block.number: receipt.answer(one.block.number, found, one.named) for one in sharing}


def _given(program: Program, sandbox: Sandbox, hole: Hole) -> Given:
    """What fills a hole, from what was released by now."""
    columns = program.holes[hole.name]
    found = sandbox.run(render_outer(hole.query), columns)
    rows = found.rows
    if hole.kind == "value" and len(rows) == 1:
        rows = ((_within(program, hole, rows[0][0]),),)
    key = () if hole.block is None else program.steps[hole.block - 1].key
    return Given(tuple((c.name, c.type) for c in columns), rows, key)


def _within(program: Program, hole: Hole, value: Any) -> Any:
    """A mean that a block released, moved into the bounds of its column, where the exact one is."""
    table = shows(hole.query)
    step = next((step for step in program.steps if step.block.table == table), None)
    if step is None or value is None:
        return value
    means = [f for f in step.plan.figures if f.output == 0 and f.kind == "mean"]
    return means[0].possible(value) if means else value


def tables(program: Program) -> dict[str, list[tuple[str, bool]]]:
    """The columns of all tables outside, and whether each is noisy."""
    found = {step.block.table: _noisy(step) for step in program.steps}
    for name in program.script.public:
        columns = public_columns(program.policy.public[name])
        found[name] = [(column.name, False) for column in columns]
    return found


def summable(program: Program) -> dict[str, frozenset[int]]:
    """The columns of blocks that have every group, each with noise of its own at one level.

    So are counts and sums without HAVING and LIMIT, but for margins that are a share. A block that
    other released values were put into is none: noise had a say in what it asked.
    """
    return {
        step.block.table: frozenset() if step.block.holes else summable_columns(step.plan)
        for step in program.steps
    }


def summable_columns(plan: Plan) -> frozenset[int]:
    """The columns of one block that have every group, each with noise of its own at one level."""
    query = plan.query
    if query.limit is not None or query.offset > 0 or plan.peel is not None:
        return frozenset()
    return frozenset(
        figure.output
        for figure in plan.figures
        if figure.kind == "amount"
        and figure.output < query.shown
        and query.outputs[figure.output].kind == "aggregate"
        and not isinstance(figure.margin, str)
    )


def _noisy(step: Step) -> list[tuple[str, bool]]:
    outputs = step.plan.query.listed
    return [
        (column.name, output.kind in ("aggregate", "derived"))
        for column, output in zip(step.columns, outputs, strict=True)
    ]
