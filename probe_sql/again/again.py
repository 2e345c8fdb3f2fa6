"""`Again`: find the answer that a question was given before, and keep the one it is given now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from probe_sql.again.matching import outcome_for
from probe_sql.again.record import Record, record
from probe_sql.answer.content import Replayed
from probe_sql.database import Database
from probe_sql.errors import OperationalError
from probe_sql.ledger import Kept, Saving
from probe_sql.measuring import Outcome
from probe_sql.plan.plan import Plan
from probe_sql.vault.sources import FRAMES


@dataclass(frozen=True, slots=True)
class Replay:
    """An answer that is given again: what was decided, in the numbers of `plan`.

    The plan is the one that asks now, with the confidence that was promised then.
    """

    kept: Kept
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
        question = None if plan.accuracy.fresh else self._question(plan)
        if question is None:
            return None
        answers = self._database.ledger.answers
        found = answers.find(question, self._analyst)
        for kept in sorted(found, key=lambda one: one.outcome == "denied"):
            if not self._current(kept):
                continue
            body = answers.read(kept)
            was = None if body is None else Record.load(body)
            outcome = None if was is None else outcome_for(plan, groups, was)
            if was is None or outcome is None:
                continue
            if plan.figures:
                accuracy = replace(plan.accuracy, confidence=was.asked["confidence"])
                plan = replace(plan, accuracy=accuracy)
            return Replay(kept, plan, outcome, self._told(kept))
        return None

    def told(self, plan: Plan, groups: int) -> str | None:
        """Of when the answer is that would be given again; None where there is none, or whoever
        asks may not know."""
        if plan.decided_free:
            return None
        try:
            replay = self.find(plan, groups)
        except OperationalError:
            return None
        return None if replay is None else replay.told.words

    def count(self, replay: Replay) -> None:
        """Have the ledger count that an answer was given again."""
        self._database.ledger.answers.count(replay.kept, self._analyst)

    def saving(self, plan: Plan) -> Callable[[Outcome], Saving | None]:
        """A function that writes down what is to be kept of an outcome; to be made before a scan.

        A denial of values is not kept: public numbers decide it, before anything is drawn.
        """
        question = self._question(plan)
        before = self._state()

        def saved(outcome: Outcome) -> Saving | None:
            if question is None or (outcome.status == "denied" and plan.figures):
                return None
            state = before if self._state() == before else None  # read while it changed
            return Saving(question, record(plan, outcome).dump(), self._reuse.version, state)

        return saved

    def _question(self, plan: Plan) -> str | None:
        """The digest by which an answer is found; None where nothing can be found again.

        Where answers are not shared it is the analyst's own, so that neither cost nor time nor
        EXPLAIN tells what others asked.
        """
        database, ledger = self._database, self._database.ledger
        if self._reuse.answers == "none" or ledger.identity == FRAMES:
            return None
        around = database.backend.surroundings(plan.scan)
        if around is None:
            return None
        digest = plan.identity(replace(around, source=ledger.identity))
        if self._reuse.answers == "shared":
            return digest
        own = json.dumps([digest, self._analyst, ledger.user])
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
        return Replayed(kept.time[:10], kept.version, self._reuse.version)
