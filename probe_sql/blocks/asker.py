"""A session's side of a query with private blocks: how it is admitted, and how a block is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probe_sql.again import Again
from probe_sql.answer.values import Answer
from probe_sql.blocks.explain import Outline
from probe_sql.blocks.program import prepare, public_columns
from probe_sql.blocks.run import answer, summable, tables
from probe_sql.database import Database
from probe_sql.errors import Refused
from probe_sql.loss import Loss
from probe_sql.plan.explain import Explanation
from probe_sql.plan.plan import Plan
from probe_sql.plan.tally import Engine
from probe_sql.policy.policy import Policy
from probe_sql.sql.lineage import lineage
from probe_sql.sql.script import Script
from probe_sql.walk import denied_unread


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks the blocks of one query for one analyst; `ask` answers a planned one, which spends."""

    database: Database
    analyst: str | None
    ask: Callable[[Plan], Answer]

    def run(
        self, script: Script, accuracy: Mapping[str, Any], waiting: Callable[[float], None]
    ) -> Answer:
        """Answer a query with private blocks."""
        engine = self.database.backend.engine
        program, sandbox = prepare(
            script, self.database.policy, engine, accuracy, waiting, self._kept
        )
        with sandbox:
            return answer(program, sandbox, self)

    def admit(self, plans: Sequence[Plan]) -> None:
        """Raise what the ledger would raise where all of these are asked now.

        Those whose answers are kept cost nothing.
        """
        asked = [(Loss.asked(p.accuracy.epsilon), p.paid.pays) for p in plans if not self._kept(p)]
        if asked:
            self.database.ledger.admit_all(self.analyst, asked)

    def _kept(self, plan: Plan) -> bool:
        """Whether the answer would be given again, free."""
        groups = self.database.backend.groups(plan.scan)
        return Again(self.database, self.analyst).told(plan, groups) is not None

    def denied(self, plan: Plan) -> str | None:
        """Why public facts alone deny a query, if they do; free."""
        if self._kept(plan):
            return None
        groups = self.database.backend.groups(plan.scan)
        starts = Again(self.database, self.analyst).keeping(plan, groups).starts
        outcome = denied_unread(plan, self.database.task(plan, groups), starts)
        return None if outcome is None else outcome.denial or ""

    def public(self, table: str) -> Sequence[Sequence[str | None]]:
        """The rows of a public table: a list of texts for each column."""
        columns = [column.name for column in public_columns(self.database.policy.public[table])]
        most = self.database.policy.engine.around_rows
        found = self.database.backend.public_rows(table, columns, most + 1)
        if found and len(found[0]) > most:
            raise Refused(
                f"the public table {table} has more than {most:,} rows",
                why="it would be copied to where SQL around private blocks runs; the limit is the "
                "data owner's: [engine] around_rows of the policy",
                fix="join it inside of a block, on its key",
            )
        return found

    @property
    def remaining(self) -> float:
        """What is left of the budget."""
        return self.database.ledger.state(self.analyst).remaining


def outline(
    script: Script,
    policy: Policy,
    engine: Engine | None,
    accuracy: Mapping[str, Any],
    explained: Callable[[Plan], Explanation],
) -> Outline:
    """EXPLAIN a query with private blocks; free of charge, reads no row."""
    program, sandbox = prepare(
        script, policy, engine, accuracy, kept=lambda plan: explained(plan).free is not None
    )
    sandbox.close()
    blocks = tuple((step.name, explained(step.asked)) for step in program.steps if step.leads)
    lines = lineage(program.script.outer, tables(program), summable(program))
    return Outline(program, blocks, lines)
