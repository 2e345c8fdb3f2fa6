"""Answers that the ledger keeps: put in with their settlement, found by their question.

Giving an answer again is post-processing of what was charged when it was drawn: free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from probe_sql import faults
from probe_sql.ledger.kept import Kept, Note, Saving
from probe_sql.ledger.log import Log, storable
from probe_sql.policy.kinds import Size
from probe_sql.policy.model import Reuse


class Answers:
    """The answers of one ledger, for one of the operating system's users.

    `may_ask` raises where today's policy or a lock refuses an analyst.

    Privacy: an answer goes in by one transaction with its settlement, which is durable before
    anybody sees it, so that what was shown is charged and kept, and what a crash took is neither.
    Its text is believed only where its digest is the one in the chain.
    """

    def __init__(
        self,
        log: Log,
        reuse: Reuse,
        user: str,
        may_ask: Callable[[str | None], None],
        now: Callable[[], str],
    ) -> None:
        self._log = log
        self._reuse = reuse
        self._user = user
        self._may_ask = may_ask
        self._now = now

    def find(self, question: str, analyst: str | None) -> tuple[Kept, ...]:
        """What is kept of a question, the latest first; raises what asking it would, but for the
        budget: an answer that is given again costs nothing."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            self._may_ask(analyst)
            kept = self._log.book.answers.values()
            return tuple(one for one in reversed(kept) if one.question == question)

    def find_heads(self, chains: Iterable[str], analyst: str | None) -> dict[str, Kept]:
        """The answers that are the heads of chains, by chain; raises as `find` does."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            self._may_ask(analyst)
            book = self._log.book
            numbers = {chain: book.heads.found.get(chain) for chain in chains}
            return {c: book.answers[n] for c, n in numbers.items() if n is not None}

    def numbered(self, number: int, analyst: str | None) -> Kept | None:
        """The answer of one query; None where it is not kept. Raises as `find` does."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            self._may_ask(analyst)
            return self._log.book.answers.get(number)

    def names(self, analyst: str | None) -> dict[int, str]:
        """The names of what is kept of this analyst, by the numbers of the queries."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            kept = self._log.book.answers.values()
            return {one.number: one.name for one in kept if self.owns(one, analyst)}

    def owns(self, kept: Kept, analyst: str | None) -> bool:
        """Whether an answer was given to this analyst, at this account or login."""
        return kept.belongs_to(analyst, self._user)

    def read(self, kept: Kept) -> str | None:
        """The text of an answer; None where it has made room meanwhile."""
        with self._log.store.transaction("DEFERRED"):
            self._log.catch_up()
            return self._log.body(kept) if kept.number in self._log.book.answers else None

    def age(self, kept: Kept) -> float:
        """The seconds since an answer was drawn."""
        then, now = map(datetime.fromisoformat, (kept.time, self._now()))
        return (now - then).total_seconds()

    def count(self, kept: Kept, analyst: str | None) -> None:
        """Count, for the owner, that an answer was given again."""
        with self._log.store.transaction("IMMEDIATE", durable=False):
            self._log.catch_up()
            self._log.store.count_replay(kept.number, storable(analyst or ""), self._now())
            self._log.store.commit()

    # --- inside a transaction --------------------------------------------------------

    def keep(self, number: int, analyst: str | None, saving: Saving | None) -> Note | None:
        """Put an answer in, if there is one; what its settlement says of it, None where nothing is
        kept, for want of room for it.

        Room is made by the oldest answers of the same analyst, never by another's.
        """
        if saving is None:
            return None
        size = len(saving.body.encode())
        answers = self._log.book.answers.values()
        own = [one for one in answers if one.belongs_to(analyst, self._user)]
        over = max(
            sum(one.size for one in own) + size - Size.bytes(self._reuse.quota),
            sum(one.size for one in answers) + size - Size.bytes(self._reuse.size),
        )
        evicted: list[int] = []
        for one in own:
            if over <= 0:
                break
            evicted.append(one.number)
            over -= one.size
        if over > 0:
            return None
        self._log.store.keep(number, saving.body, evicted)
        faults.point("ledger.settle.kept")
        return Note.of(saving, evicted)
