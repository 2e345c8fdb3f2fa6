"""Questions asked by pressing the button: each is asked once, however often it is sent."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from functools import partial

from probe_sql.answer import Answer
from probe_sql.errors import InternalError, ProbeError
from probe_sql.reopening import kept, kept_names
from probe_sql.serve.analyst import MOST_BYTES, size_of
from probe_sql.serve.console.visitors import MOST_FRESH, Visitor
from probe_sql.serve.guest import Guest
from probe_sql.serve.house import House
from probe_sql.serve.turns import Stop

MOST_KEPT = 100  # questions of one user that are remembered
MOST_HELD = 10  # of those that have their answer here alone
MOST_KEY = 100  # characters


@dataclass(slots=True)
class Question:
    """One press of the button: what was asked, and what came of it.

    `name` is that of the kept answer; where there is none, the answer lives here alone.
    """

    sql: str
    price: float
    began: float
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    answer: Answer | None = None
    name: str | None = None
    error: ProbeError | None = None
    task: asyncio.Task[None] | None = None
    stop: Stop | None = None

    @property
    def done(self) -> bool:
        """Whether it is answered, denied, cancelled or failed."""
        return self.task is not None and self.task.done()

    def cancel(self) -> None:
        """Stop it; once the scan has begun, that has the price of a failure."""
        if self.stop is not None:
            self.stop.now("the query was cancelled")

    async def wait(self, seconds: float) -> bool:
        """Wait for it for a while; whether it is done."""
        if self.task is not None and not self.task.done():
            await asyncio.wait([self.task], timeout=seconds)
        return self.done


class Asked:
    """The questions of all users, by their tokens and by the keys of the forms they came from."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._of: dict[str, OrderedDict[str, Question]] = {}
        self._keys: dict[tuple[str, str, str], str] = {}

    def find(self, user: str, token: str) -> Question | None:
        """A question of this user."""
        return self._of.get(user, OrderedDict()).get(token)

    def again(self, user: str, key: str, sql: str) -> Question | None:
        """The question that this form has asked already, or that is being asked word for word.

        So a double click, a reload and a second window ask once, and pay once.
        """
        token = self._keys.get((user, key[:MOST_KEY], sql))
        found = None if token is None else self.find(user, token)
        if found is not None:
            return found
        own = self._of.get(user, OrderedDict()).values()
        return next((one for one in own if one.sql == sql and not one.done), None)

    def ask(self, visitor: Visitor, key: str, sql: str, price: float) -> Question:
        """Begin to ask; `again` has said that nobody does."""
        began = asyncio.get_running_loop().time()
        question = Question(sql, price, began)
        own = self._of.setdefault(visitor.name, OrderedDict())
        own[question.token] = question
        self._keys[visitor.name, key[:MOST_KEY], sql] = question.token
        done = [token for token, one in own.items() if one.done]
        for token in done[: max(0, len(own) - MOST_KEPT)]:
            del own[token]
        self._make_room()
        question.task = asyncio.create_task(_answered(self._house, visitor, question))
        question.task.add_done_callback(lambda _: self._make_room())
        return question

    def _make_room(self) -> None:
        """Forget the oldest answers that are here alone, but the last of all: of each user beyond
        so many, of all together beyond so many bytes."""
        held = [
            (one.began, own, token, one.answer)
            for own in self._of.values()
            for token, one in own.items()
            if one.done and one.answer is not None
        ]
        taken, counts = 0, Counter[int]()
        for place, (_, own, token, answer) in enumerate(sorted(held, key=_began, reverse=True)):
            taken += size_of(answer)
            counts[id(own)] += 1
            if place and (taken > MOST_BYTES or counts[id(own)] > MOST_HELD):
                del own[token]
        left = {token for of in self._of.values() for token in of}
        self._keys = {known: token for known, token in self._keys.items() if token in left}

    def text(self, user: str, name: str) -> str | None:
        """How this user last asked for a kept answer, by its name; None where that is forgotten."""
        own = reversed(self._of.get(user, OrderedDict()).values())
        return next((one.sql for one in own if one.name == name), None)

    def forget(self, user: str) -> None:
        """Forget a user's questions and the answers that are held here; what runs, once it ends."""
        own = self._of.get(user, OrderedDict())
        for token, one in [*own.items()]:
            if one.task is None or one.done:
                del own[token]
            else:
                one.task.add_done_callback(partial(_let_go, own, token))
        self._keys = {known: token for known, token in self._keys.items() if known[0] != user}

    async def close(self) -> None:
        """Wait for what still runs, which its guests were told to end."""
        tasks = [one.task for of in self._of.values() for one in of.values() if one.task]
        if tasks:
            await asyncio.wait(tasks, timeout=1)


def _began(held: tuple[float, object, object, object]) -> float:
    return held[0]


def _let_go(own: OrderedDict[str, Question], token: str, _: asyncio.Task[None]) -> None:
    own.pop(token, None)


async def _answered(house: House, visitor: Visitor, question: Question) -> None:
    """Ask, at this analyst's turn and at the server's pace; whatever comes of it is kept."""
    guest = visitor.guest
    async with guest.in_step(question.began):
        try:
            with guest.busy(), guest.stoppable() as stop:
                question.stop = stop
                await guest.ask(lambda: _ask(guest, question, stop), stop)
        except ProbeError as error:
            question.error = error
        except Exception as error:
            # The text of an exception may hold a private value.
            question.error = InternalError(
                "something unforeseen happened while the question was answered",
                why=f"{type(error).__name__}; what it cost is in the ledger",
                fix="look at Answers, and tell the owner",
            )
    if question.error is None:
        house.log("answer", user=guest.user, door="console")
    else:
        kind = type(question.error).__name__
        house.log("error", user=guest.user, door="console", kind=kind)
    if question.name is not None:
        visitor.fresh = [*visitor.fresh[-MOST_FRESH:], question.name]


def _ask(guest: Guest, question: Question, stop: Stop) -> None:
    """Answer, in a thread, and find the name by which the answer can be opened again."""
    session = guest.analyst.session
    answer = guest.analyst.ask(question.sql, (), {}, stop)
    if not isinstance(answer, Answer):
        return
    question.answer = answer
    if answer.blocks is not None:
        return
    question.name = kept(session, question.sql)
    if question.name is None:  # a fresh one is found by its entry
        names = kept_names(session)
        numbers = [one.number for one in session.saved() if one.sql == question.sql]
        question.name = names.get(max(numbers, default=0))
    if question.name is not None:
        question.answer = None  # the ledger has it
