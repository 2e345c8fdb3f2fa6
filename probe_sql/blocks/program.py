"""A query of several blocks, planned and bound before anything is charged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from probe_sql.blocks.receipts import Cashier, Part, Receipt
from probe_sql.blocks.shares import arguments_of, check_margins, options_of, shares
from probe_sql.errors import ProbeError
from probe_sql.loss import Loss
from probe_sql.outside import Column, Sandbox
from probe_sql.plan import identity
from probe_sql.plan.identity import Surroundings
from probe_sql.plan.plan import Plan, plan_bound
from probe_sql.plan.tally import Engine
from probe_sql.policy.model import PublicTable
from probe_sql.policy.policy import Policy
from probe_sql.sql.beside import beside
from probe_sql.sql.bind import bind
from probe_sql.sql.bound import Call
from probe_sql.sql.fill import Given, filled, stand_in
from probe_sql.sql.outer import OUTER_FUNCTIONS, check_outer, render_outer
from probe_sql.sql.places import placed
from probe_sql.sql.scalar import HUGEINT
from probe_sql.sql.script import Block, Hole, Script, output_names
from probe_sql.sql.text import Statement, read
from probe_sql.types import BIGINT, DOUBLE, VARCHAR, Kind

Waiting = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Step:
    """One block: its plan, the columns of its table outside, the equal block before it, and the
    receipt that it shares with others.

    The plan of a block with holes has an example in each, until what fills it is released.
    """

    block: Block
    plan: Plan
    columns: tuple[Column, ...]
    same: int | None = None
    receipt: Receipt | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """The names that its SELECT list gives."""
        return tuple(output.name for output in self.plan.query.listed)

    @property
    def single(self) -> bool:
        """Whether it releases one value, in one row."""
        query = self.plan.query
        whole = self.plan.verdict and query.limit is None and query.offset == 0
        return bool(whole) and not query.keys and query.shown == 1

    @property
    def leads(self) -> bool:
        """Whether something is asked for it, and not for an earlier block alone."""
        first = self.receipt is None or self.receipt.numbers[0] == self.block.number
        return self.same is None and first

    @property
    def pays(self) -> bool:
        """Whether it reads private rows."""
        return self.leads and not self.plan.decided_free

    @property
    def asked(self) -> Plan:
        """The plan that is asked: its own, or that of all who share its receipt."""
        return self.plan if self.receipt is None else self.receipt.plan

    @property
    def name(self) -> str:
        """The block's name, or those of all that share its receipt."""
        return self.block.name if self.receipt is None else self.receipt.name

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by which a row of its table is known; empty where they are not all there."""
        outputs = self.plan.query.listed
        shown = {output.key: self.columns[i].name for i, output in enumerate(outputs)}
        keys = range(len(self.plan.query.keys))
        return tuple(shown[key] for key in keys) if all(key in shown for key in keys) else ()


@dataclass(frozen=True, slots=True)
class Program:
    """All steps of a query, and what is done outside, bound against tables without rows."""

    script: Script
    policy: Policy
    engine: Engine | None
    arguments: Mapping[str, Any]
    steps: tuple[Step, ...]
    columns: tuple[Column, ...]
    holes: Mapping[str, tuple[Column, ...]]
    shares: Mapping[int, Loss]

    @property
    def total(self) -> Loss:
        """The most that all blocks may be charged."""
        total = Loss.NOTHING
        for step in self.steps:
            if step.pays or step.block.holes:
                total += Loss.asked(step.asked.accuracy.epsilon)
        return total

    def planned(self, block: Block, given: Mapping[str, Given]) -> Plan:
        """The plan of a block whose holes are filled with these."""
        return planned(
            self.script, block, given, self.shares, self.policy, self.engine, self.arguments
        )


def prepare(
    script: Script,
    policy: Policy,
    engine: Engine | None,
    arguments: Mapping[str, Any],
    progress: Waiting | None = None,
    kept: Callable[[Plan], bool] = lambda _: False,
) -> tuple[Program, Sandbox]:
    """Plan every block and bind what is outside, in the process where it is going to run.

    Free of charge; reads no row. The caller closes the sandbox. A block whose answer is `kept`
    shares no charge: it has none.
    """
    for query in [script.outer, *(hole.query for b in script.blocks for hole in b.holes)]:
        check_outer(query, script.source, script.public)
    sandbox = Sandbox(sorted(OUTER_FUNCTIONS), policy.engine, progress)
    try:
        for name in script.public:
            sandbox.table(name, public_columns(policy.public[name]))
        return _Preparation(script, policy, engine, arguments, sandbox, kept).program(), sandbox
    except ProbeError as error:
        sandbox.close()
        raise error.located(script.source.sql)  # noqa: B904 - the same error, with its text
    except BaseException:
        sandbox.close()
        raise


def public_columns(table: PublicTable) -> tuple[Column, ...]:
    """The columns of a public table as they are outside."""
    types = ((name, column.resolved_type) for name, column in table.columns.items())
    return tuple(
        Column(name, VARCHAR.name if type_ is None or type_.name == "UNKNOWN" else type_.name)
        for name, type_ in types
    )


@dataclass(slots=True)
class _Preparation:
    script: Script
    policy: Policy
    engine: Engine | None
    arguments: Mapping[str, Any]
    sandbox: Sandbox
    kept: Callable[[Plan], bool]
    holes: dict[str, tuple[Column, ...]] = field(default_factory=dict)

    def program(self) -> Program:
        blocks = self.script.blocks
        divided = shares(self.script, blocks, self.policy, self.arguments)
        steps = self._steps(divided, first=True)
        sharing = self._sharing(steps)
        steps = self._shared(steps, sharing)
        paying = [step.block for step in steps if step.pays or step.block.holes]
        if len(paying) < len(blocks):
            divided = shares(self.script, paying, self.policy, self.arguments)
            steps = self._shared(self._steps(divided, first=False), sharing)
        listed = [output for step in steps for output in step.plan.query.listed]
        names = [o.name for o in listed if o.aggregate is not None or o.derived is not None]
        check_margins(self.script, self.arguments, names)
        values = {s.block.table: s.columns[0].name for s in steps if s.single}
        self.script = replace(self.script, outer=beside(self.script.outer, values))
        return Program(
            self.script,
            self.policy,
            self.engine,
            self.arguments,
            tuple(steps),
            self._bound(),
            self.holes,
            divided,
        )

    def _bound(self, hole: Hole | None = None) -> tuple[Column, ...]:
        """The columns of what fills a hole, or of the whole."""
        query, place = (hole.query, hole.span) if hole else (self.script.outer, None)
        try:
            return self.sandbox.bind(render_outer(query))
        except ProbeError as error:
            raise placed(error, query, self.script.source, place)  # noqa: B904 - the same error

    def _sharing(self, steps: Sequence[Step]) -> frozenset[int]:
        """The blocks that may share a charge: those that were answered before have none."""
        able = frozenset(s.block.number for s in steps if s.pays and not s.block.holes)
        found = {step.block.number: step for step in self._shared(steps, able) if step.receipt}
        return frozenset(number for number, step in found.items() if not self.kept(step.plan))

    def _shared(self, steps: Sequence[Step], sharing: Set[int]) -> list[Step]:
        """The steps with the receipts that these blocks share."""
        parts = [
            Part(step.block.number, step.block.name, step.plan)
            for step in steps
            if step.block.number in sharing
        ]
        cashier = Cashier(self.script, self.policy, self.engine, self.arguments)
        found = {number: one for one in cashier.receipts(parts) for number in one.numbers}
        return [replace(step, receipt=found.get(step.block.number)) for step in steps]

    def _steps(self, divided: Mapping[int, Loss], first: bool) -> list[Step]:
        """Plan the blocks in order; the first time, make their tables and bind their holes."""
        steps: list[Step] = []
        for block in self.script.blocks:
            given = {}
            for hole in block.holes:
                if first:
                    self.holes[hole.name] = self._bound(hole)
                columns = [(column.name, column.type) for column in self.holes[hole.name]]
                key = () if hole.block is None else steps[hole.block - 1].key
                given[hole.name] = stand_in(hole, columns, key)
            plan = planned(
                self.script, block, given, divided, self.policy, self.engine, self.arguments
            )
            step = Step(block, plan, _columns(plan, open_=bool(block.holes)))
            if first:
                self.sandbox.table(block.table, step.columns)
            steps.append(replace(step, same=_before(step, steps)))
        return steps


def planned(
    script: Script,
    block: Block,
    given: Mapping[str, Given],
    divided: Mapping[int, Loss],
    policy: Policy,
    engine: Engine | None,
    arguments: Mapping[str, Any],
) -> Plan:
    """The plan of a block, as of a query of its own."""
    select, released = filled(block, given, script.source)
    outputs = output_names(select)
    options = options_of(script, block, divided[block.number], outputs)
    spans = {**script.option_spans, **block.option_spans}
    statement = Statement(script.source, select, options, spans, explain=False)
    query = bind(statement, policy, released)
    plan = plan_bound(query, policy, engine=engine, **arguments_of(arguments, outputs))
    return replace(plan, query=replace(plan.query, sql=typed(script, block)))


def typed(script: Script, block: Block) -> str:
    """What the ledger shows of a block, as the analyst wrote it.

    Its part of the text where that is all of it; where names of WITH, subqueries or what is around
    it have a say, the whole text, with the block's number before it.
    """
    text, span = script.source.sql, block.span
    if span is not None and not block.holes:
        part = text[span.start : span.end]
        while part.startswith("("):
            part = part[1:-1].strip()
        with contextlib.suppress(ProbeError):
            if read(part).tree == block.select:
                return part
    return f"/* block {block.number} */ {text}"


def _columns(plan: Plan, open_: bool) -> tuple[Column, ...]:
    """The columns of a block's table. `open_`: what fills its holes may change how values come."""
    taken: set[str] = set()
    columns = []
    for index, output in enumerate(plan.query.listed):
        scalar = output.expression
        if output.key is not None:
            scalar = plan.query.keys[output.key].scalar
        if scalar is not None:
            known = scalar.type
            type_ = VARCHAR.name if known.kind in (Kind.OTHER, Kind.NULL) else known.name
        else:
            type_ = DOUBLE.name if open_ or not _whole(plan, index) else HUGEINT.name
            counted = isinstance(output.aggregate, Call) and output.aggregate.function
            if type_ == HUGEINT.name and counted in ("count", "count_distinct"):
                type_ = BIGINT.name
        name = output.name
        while name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        columns.append(Column(name, type_))
    return tuple(columns)


def _whole(plan: Plan, output: int) -> bool:
    """Whether the values of an output, as measured, are whole numbers."""
    for figure in plan.figures:
        if figure.output == output:
            [part, *others] = figure.parts
            exact = part.factor.denominator == part.offset.denominator == 1
            return figure.kind == "amount" and not others and exact
    for release in plan.releases.columns:
        if release.output == output:
            top = release.top
            exact = top.factor.denominator == top.offset.denominator == 1
            return release.bottom is None and exact
    return False


# --- equal blocks --------------------------------------------------------------------------------


def _before(step: Step, steps: Sequence[Step]) -> int | None:
    """The number of an earlier block that asks the same and shows it alike."""
    if step.block.holes:
        return None
    mine = _question(step.plan)
    return next(
        (
            other.block.number
            for other in steps
            if not other.block.holes and other.same is None and _question(other.plan) == mine
        ),
        None,
    )


def _question(plan: Plan) -> tuple[Any, ...]:
    """What a block asks and shows, but for names; public tables by the order they are joined in."""
    scan = plan.scan
    joined = tuple(
        (join.table.name, join.outer, tuple((key, value.identity) for key, value in join.on))
        for join in scan.relation.joins
    )
    shown = tuple(
        (o.kind, o.key, None if o.expression is None else o.expression.identity, o.derived)
        for o in plan.query.outputs
    )
    figures = tuple(replace(figure, name="") for figure in plan.figures)
    here = Surroundings("", "", "", "", dict.fromkeys(identity.tables(scan), ""))
    return (
        plan.identity(here),
        joined,
        tuple(each.identity for each in scan.tallies),
        scan.measures,
        shown,
        plan.query.shown,
        figures,
        plan.releases,
        plan.accuracy,
        plan.query.order,
        plan.query.limit,
        plan.query.offset,
    )
