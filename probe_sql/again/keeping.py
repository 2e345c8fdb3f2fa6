"""What one query goes on from, and what is kept of it.

Privacy: a value is gone on from only if all of this is so (docs/proofs/sharpening.md). It is the
head of its chain, and the reservation took it. The owner's public words, or that the source was not
opened anew, say that the data are the same. Every byte of their files, read after the charge and
before the scan, says so too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from probe_sql.again.record import Head, Measured, record
from probe_sql.algorithms.values import prices
from probe_sql.database import Database
from probe_sql.ledger import Saving, Taken
from probe_sql.measuring import Ints, Outcome
from probe_sql.plan.plan import Plan
from probe_sql.vault.backend import Progress
from probe_sql.vault.content import Content
from probe_sql.vault.meter import VaultMeter
from probe_sql.vault.noise import NOISE_LIMIT


@dataclass(frozen=True, slots=True)
class Start:
    """A released value of every group from which a measure can go on: the head of its chain.

    `step` is what it costs to go on. `content` is the keyed digest of the data that it is of,
    `on` its date.
    """

    measure: int
    chain: str
    number: int  # of the answer that has it
    values: Ints
    level: float
    step: float
    content: str
    on: str


def usable(values: Ints) -> bool:
    """Whether released values are whole sums: noise cannot be recomputed from saturated ones."""
    return bool((np.abs(values) < NOISE_LIMIT).all())


class Keeping:
    """One query's dealings with what is kept; made before its reservation.

    `chains` has the chain of each measure that is drawn once for all groups; empty where values
    do not sharpen.
    """

    def __init__(
        self,
        database: Database,
        plan: Plan,
        saving: Saving | None,
        state: Callable[[], str | None],
        chains: Mapping[int, str],
        starts: Iterable[Start],
    ) -> None:
        self._database = database
        self._plan = plan
        self._saving = saving
        self._state = state
        self._before = state()
        self._chains = chains
        self.starts = tuple(starts)
        self._content: Content | None = None

    @property
    def taken(self) -> Taken:
        """The heads that the reservation is to take."""
        return tuple((start.chain, start.number) for start in self.starts)

    @property
    def steps(self) -> dict[int, float]:
        """What going on costs, by measure."""
        return {start.measure: start.step for start in self.starts}

    def prove(self, progress: Progress | None) -> None:
        """Take the digest of the data that the scan is about to read."""
        if self._chains:
            database, scan = self._database, self._plan.scan
            ledger, anew = database.ledger.path, bool(self.starts)
            self._content = database.backend.content(scan, ledger, anew, progress)

    def resume(self, meter: VaultMeter) -> None:
        """Have the meter go on from the values of the same data, once the scan is over."""
        if self._content is not None and not self._content.stands:
            self._content = None
        for start in self.starts:
            if self._content is not None and self._content.digest == start.content:
                meter.resume(start.measure, start.chain, start.values, start.level)

    def saving(self, outcome: Outcome, meter: VaultMeter) -> Saving | None:
        """What is kept of an outcome.

        A denial of values is not kept: public numbers decide it, before anything is drawn. Files
        that changed while they were read have no state.
        """
        plan, saving = self._plan, self._saving
        if saving is None or (outcome.status == "denied" and plan.figures):
            return None
        said = replace(record(plan, outcome), measured=tuple(self._measured(outcome, meter)))
        if self._content is not None and outcome.status == "answered":
            heads = self._heads(outcome, meter)
            content, opening = self._content.digest, self._content.opening
            said = replace(said, heads=heads, content=content, opening=opening)
        state = self._before if self._state() == self._before else None
        return replace(saving, body=said.dump(), state=state, heads=tuple(said.heads))

    def _measured(self, outcome: Outcome, meter: VaultMeter) -> Iterator[Measured]:
        """Where the record has each measure that was drawn once for all groups, and its level."""
        plan = self._plan
        task = plan.outline(outcome.returned.size)
        whole = prices(task).whole(task) if outcome.shown else frozenset()
        for figure in plan.figures if whole else ():
            for index, part in enumerate(figure.parts):
                level, form = meter.level(part.measure), plan.form(part.measure)
                values = outcome.shown[figure.output].parts[index]
                if part.measure not in whole or level is None or form is None:
                    continue
                if usable(values):
                    digest = plan.figure_identity(figure)
                    yield Measured(form, part.delta, digest, index, level)

    def _heads(self, outcome: Outcome, meter: VaultMeter) -> dict[str, Head]:
        """Where the record has the value of each chain, and at which level it was drawn."""
        heads: dict[str, Head] = {}
        for figure in self._plan.figures:
            for index, part in enumerate(figure.parts):
                chain, level = self._chains.get(part.measure), meter.level(part.measure)
                values = outcome.shown[figure.output].parts[index]
                if chain is not None and level is not None and usable(values):
                    heads[chain] = Head(self._plan.figure_identity(figure), index, level)
        return heads
