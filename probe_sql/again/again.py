"""`Again`: find the answer that a question was given before, and keep the one it is given now."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from probe_sql.again.following import followed
from probe_sql.again.keeping import Keeping, Start, usable
from probe_sql.again.matching import outcome_for
from probe_sql.again.record import Record
from probe_sql.again.subset import larger, subset
from probe_sql.algorithms.record import up
from probe_sql.algorithms.values import prices
from probe_sql.answer.content import Replayed
from probe_sql.database import Database
from probe_sql.errors import OperationalError, ProbeError
from probe_sql.ledger import Kept, Saving
from probe_sql.measuring import Outcome
from probe_sql.plan.explain_costs import Offer, Sharper, sharper_loss
from probe_sql.plan.identity import Surroundings
from probe_sql.plan.plan import Plan, replanned
from probe_sql.text import normal_name
from probe_sql.vault.gradual import next_level
from probe_sql.vault.sources import FRAMES

_WIDEST = 1e15  # a margin that is none: wider than any that noise needs


@dataclass(frozen=True, slots=True)
class Replay:
    """An answer that is given again: what was decided, in the numbers of `plan`.

    The plan is the one that asks now, with the confidence that was promised then; `kept` are the
    answers that it is, or follows from.
    """

    kept: tuple[Kept, ...]
    plan: Plan
    outcome: Outcome
    told: Replayed


class Again:
    """What one analyst may be given again, of one database.

    Privacy: what is given again was released and charged before, so it is post-processing. Whether
    there is something to give again is decided by public facts, by what was released, and, where
    the owner says `on_change = "ask"` without a `version`, by whether a file has changed.
    """

    def __init__(self, database: Database, analyst: str | None) -> None:
        self._database = database
        self._analyst = analyst
        self._reuse = database.policy.reuse

    def find(self, plan: Plan, groups: int) -> Replay | None:
        """The kept answer that answers this plan; None where there is none, or it is to be fresh.

        Raises what asking would, but for the budget: what today's policy or a lock refuses is not
        given again.
        """
        known = []
        for kept, was in self._kept(plan):
            outcome = outcome_for(plan, groups, was)
            if outcome is not None:
                return self._replay(plan, kept, was, outcome)
            known.append((kept, was))
        found = self._follow(plan, groups, known)
        return self._part(plan, groups) if found is None else found[0]

    def _part(self, plan: Plan, groups: int) -> Replay | None:
        """The values of a plan as a part of those of all groups."""
        database = self._database
        whole = larger(plan, database.policy)
        if whole is None or not any(self._kept(whole.plan)):
            return None
        part = subset(plan, groups, whole, database.backend)
        replay = None if part is None else self.find(part.plan, part.groups)
        if part is None or replay is None or replay.outcome.status != "answered":
            return None
        if replay.outcome.peeled is not None:
            return None
        accuracy, figures = replay.plan.accuracy, replay.plan.figures
        made = replace(plan, figures=figures, accuracy=accuracy)
        outcome = part.outcome(replay.outcome, figures)
        return Replay(replay.kept, made, outcome, replace(replay.told, made=True))

    def _kept(self, plan: Plan) -> Iterator[tuple[Kept, Record]]:
        """What is kept of a question, as far as it may be given again; answers before denials."""
        question = None if plan.accuracy.fresh else self._question(plan)
        if question is None:
            return
        answers = self._database.ledger.answers
        found = [kept for kept in answers.find(question, self._analyst) if self._current(kept)]
        for kept in sorted(found, key=lambda one: one.outcome == "denied"):
            body = answers.read(kept)
            was = None if body is None else Record.load(body)
            if was is not None:
                yield kept, was

    def _follow(
        self, plan: Plan, groups: int, known: Sequence[tuple[Kept, Record]]
    ) -> tuple[Replay, Mapping[str, float]] | None:
        """The values of a plan as they follow from kept answers about the same data, and the
        margins of its columns.

        Privacy: whether the data are the same is said by public facts, and no more than a replay is
        told: to compare what was kept of their bytes would tell whether a row changed.
        """
        about: dict[tuple[str, str], list[tuple[Kept, Record]]] = {}
        for kept, was in known if plan.figures else ():
            about.setdefault(self._about(kept, was), []).append((kept, was))
        for same in about.values():
            follows = followed(plan, groups, [was for _, was in same])
            if follows is not None:
                used = tuple(same[number][0] for number in follows.numbers)
                on = " and ".join(sorted({kept.time[:10] for kept in used}))
                told = Replayed(on, used[0].version, self._reuse.version, made=True)
                return Replay(used, follows.plan, follows.outcome, told), follows.margins
        return None

    def _about(self, kept: Kept, was: Record) -> tuple[str, str]:
        """What public facts say of the data of an answer: equal where they are the same."""
        if kept.version is not None:
            return "version", kept.version
        if self._reuse.on_change == "ask" and kept.state is not None:
            return "state", kept.state
        if was.opening is not None:
            return "opening", was.opening
        return "answer", str(kept.number)

    def _replay(self, plan: Plan, kept: Kept, was: Record, outcome: Outcome) -> Replay:
        if plan.figures:
            accuracy = replace(plan.accuracy, confidence=was.asked["confidence"])
            plan = replace(plan, accuracy=accuracy)
        return Replay((kept,), plan, outcome, self._told(kept))

    def named(self, name: str) -> tuple[Kept, Record] | None:
        """A kept answer by the name that links have for it, where this analyst may be given it.

        None where it is not kept, or not given any more by the owner's rules. Raises what asking
        would, but for the budget.
        """
        number, _, _ = name.partition("-")
        if self._reuse.answers == "none" or not number.isascii() or not number.isdigit():
            return None
        answers = self._database.ledger.answers
        kept = answers.numbered(int(number[:18]), self._analyst)
        if kept is None or not hmac.compare_digest(kept.name.encode(), name.encode()):
            return None
        if self._reuse.answers != "shared" and not answers.owns(kept, self._analyst):
            return None
        body = answers.read(kept) if self._current(kept) else None
        was = None if body is None else Record.load(body)
        return None if was is None else (kept, was)

    def replay(self, plan: Plan, groups: int, kept: Kept, was: Record) -> Replay | None:
        """Number that answer as a plan of its own question does; None where it is another's."""
        if self._question(plan) != kept.question:
            return None
        outcome = outcome_for(plan, groups, was)
        return None if outcome is None else self._replay(plan, kept, was, outcome)

    def told(self, plan: Plan, groups: int) -> str | None:
        """Tell of when the answer is that would be given again; None where there is none, or
        whoever asks may not know."""
        if plan.decided_free:
            return None
        try:
            replay = self.find(plan, groups)
        except OperationalError:
            return None
        return None if replay is None else replay.told.words

    def count(self, replay: Replay) -> None:
        """Have the ledger count that an answer was given again, or what followed from it."""
        for kept in replay.kept:
            self._database.ledger.answers.count(kept, self._analyst)

    def keeping(self, plan: Plan, groups: int) -> Keeping:
        """What this query goes on from, and what will be kept of it; to be made before a scan."""
        around = self._surroundings(plan)
        if around is None:
            return Keeping(self._database, plan, None, self._state, {}, ())
        question = self._own(plan.identity(around))
        chains: dict[int, str] = {}
        if plan.figures and self._reuse.sharpen == "on":
            task = plan.outline(groups)
            whole = sorted(prices(task).whole(task))
            chains = {measure: self._own(plan.chain(measure, around)) for measure in whole}
        saving = Saving(question, "", self._reuse.version)
        starts = () if plan.accuracy.fresh else self._starts(plan, chains, groups)
        return Keeping(self._database, plan, saving, self._state, chains, starts)

    def sharper(self, plan: Plan, groups: int) -> Sharper | None:
        """Which values a query would go on from, and what it costs then; None where there are none
        that make it cheaper, or whoever asks may not know."""
        if not plan.figures:
            return None
        try:
            keeping = self.keeping(plan, groups)
        except OperationalError:
            return None
        loss = sharper_loss(plan, groups, keeping.steps)
        if not keeping.starts or loss >= sharper_loss(plan, groups, {}):
            return None
        return Sharper(max(start.on for start in keeping.starts), loss)

    def offer(self, plan: Plan, groups: int) -> Offer | None:
        """Wider margins at which what is kept answers a plan, free.

        None where there are none, or whoever asks may not know. Utility: what is offered was
        tried: asked so, it is free, unless the owner or the room of answers intervene.
        """
        names = [normal_name(figure.name) for figure in plan.figures]
        if not names or plan.accuracy.fresh:
            return None
        try:
            wide = self._with_margins(plan, dict.fromkeys(names, _WIDEST))
            found = self._follow(wide, groups, list(self._kept(plan)))
            if found is None:
                return None
            margins = {normal_name(name): float(up(m)) for name, m in found[1].items()}
            if not all(0 < each < _WIDEST for each in margins.values()):
                return None
            replay = self.find(self._with_margins(plan, margins), groups)
        except ProbeError:
            return None
        return None if replay is None else Offer(margins, replay.told.words)

    def _with_margins(self, plan: Plan, margins: Mapping[str, float]) -> Plan:
        """The same query with these margins alone."""
        accuracy = replace(plan.accuracy, margin=None, margins=MappingProxyType(dict(margins)))
        return replace(replanned(plan, accuracy, self._database.policy), told=plan.told)

    def _starts(self, plan: Plan, chains: Mapping[int, str], groups: int) -> Iterator[Start]:
        """The heads of chains that were drawn of the same data, as far as that is public, and that
        can become as fine as the plan asks.

        Privacy: neither price nor EXPLAIN may tell whether a row changed. So that the data are the
        same is the owner's word, or that the source was not opened anew, or, where the owner says
        `on_change = "ask"` without a `version`, what the files look like. Their bytes decide later,
        for safety alone (`Keeping.resume`).
        """
        answers = self._database.ledger.answers
        found = answers.find_heads(chains.values(), self._analyst) if chains else {}
        asked = prices(plan.outline(groups)).drawn if found else {}
        known: dict[int, Record | None] = {}
        for measure, chain in chains.items():
            kept = found.get(chain)
            if kept is None:
                continue
            if kept.number not in known:
                body = answers.read(kept)
                known[kept.number] = None if body is None else Record.load(body)
            was = known[kept.number]
            head = None if was is None else was.head(chain)
            if was is None or head is None or was.content is None or was.groups != groups:
                continue
            values, before = head
            level = next_level(Fraction(before), asked[measure], plan.deltas[measure])
            if level is not None and usable(values) and self._same_data(kept, was):
                step, number, on = level - before, kept.number, kept.time[:10]
                yield Start(measure, chain, number, values, before, step, was.content, on)

    def _same_data(self, kept: Kept, was: Record) -> bool:
        """Whether public facts say that an answer is about the data that are read now."""
        if not self._current(kept):
            return False
        if self._reuse.version is not None or kept.version is not None:
            return self._reuse.version == kept.version
        return self._reuse.on_change == "ask" or was.opening == self._database.backend.opening

    def _question(self, plan: Plan) -> str | None:
        """The digest by which an answer is found; None where nothing can be found again."""
        around = self._surroundings(plan)
        return None if around is None else self._own(plan.identity(around))

    def _surroundings(self, plan: Plan) -> Surroundings | None:
        """Where the question is asked; None where nothing can be found again."""
        database, ledger = self._database, self._database.ledger
        if self._reuse.answers == "none" or ledger.identity == FRAMES:
            return None
        around = database.backend.surroundings(plan.scan)
        return None if around is None else replace(around, source=ledger.identity)

    def _own(self, digest: str) -> str:
        """A digest as it is, or where answers are not shared, the analyst's own: neither cost nor
        time nor EXPLAIN then tells what others asked."""
        if self._reuse.answers == "shared":
            return digest
        own = json.dumps([digest, self._analyst, self._database.ledger.user])
        return hashlib.sha256(own.encode()).hexdigest()

    def _state(self) -> str | None:
        """What the files are now, where that decides something."""
        by_files = self._reuse.on_change == "ask" and self._reuse.version is None
        return self._database.backend.state() if by_files else None

    def _current(self, kept: Kept) -> bool:
        """Whether the owner lets an answer be given again, by its age and its data."""
        if self._database.ledger.answers.age(kept) > self._reuse.seconds:
            return False
        if self._reuse.on_change == "replay":
            return True
        if self._reuse.version is not None or kept.version is not None:
            return self._reuse.version == kept.version
        state = self._state()
        return self._reuse.keep is not None if state is None else state == kept.state

    def _told(self, kept: Kept) -> Replayed:
        """What is said of an answer that is given again: the owner's words, or its date."""
        denied = kept.outcome == "denied"
        return Replayed(kept.time[:10], kept.version, self._reuse.version, denied=denied)
