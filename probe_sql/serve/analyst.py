"""One analyst's questions: whose turn it is, asked of a session, kept, typed for the wire."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe_sql.answer import Answer, Denied
from probe_sql.errors import Interrupted, ProbeError
from probe_sql.serve import types
from probe_sql.serve.messages import Field
from probe_sql.serve.private_files import write_atomically
from probe_sql.serve.reports import DENIED, Complaint
from probe_sql.session import Connection, Explanation

Row = Sequence[Any]
_COUNTS = ("count", "count_distinct")
_GLANCE = 0.02  # seconds between two looks at what still runs


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gives: a tag, its columns (None: it has no rows), rows and remarks."""

    tag: str
    fields: tuple[Field, ...] | None = None
    rows: Sequence[Row] = ()
    notices: tuple[str, ...] = ()
    charged: float = 0.0

    @classmethod
    def of_texts(cls, tag: str, name: str, lines: Sequence[str]) -> Result:
        """A column of texts."""
        return cls(tag, (Field(name, types.TEXT),), [(line,) for line in lines])


class Stop:
    """How a running statement is told to end: by its client, by its time, or by the server."""

    def __init__(self) -> None:
        self._set = threading.Event()
        self._why = ""
        self.hook: Callable[[], None] = lambda: None

    def now(self, why: str) -> None:
        """End the statement, from the event loop; the first reason counts."""
        if not self._set.is_set():
            self._why = why
            self._set.set()
            self.hook()

    def check(self, seconds: float = 0.0) -> None:  # noqa: ARG002 - called as a scan's progress
        """Raise if the statement is to end; what it costs then is added by who charges."""
        if self._set.is_set():
            raise Interrupted(self._why, fix="ask again; a scan that had begun has its price")


class Answers:
    """The last answer of each user, on the disk before its first byte is sent (mode 0600)."""

    def __init__(self, ledger: Path) -> None:
        self._folder = Path(os.path.realpath(ledger)).with_name(ledger.name + ".answers")

    def keep(self, user: str, sql: str, answer: dict[str, Any]) -> None:
        """Replace the user's last answer; it is durable when this returns."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        text = json.dumps({"sql": sql, **answer}, default=str, ensure_ascii=False)
        write_atomically(self._path(user), text.encode("utf-8", "replace"))

    def last(self, user: str) -> str | None:
        """The user's last answer as JSON, None where there is none."""
        try:
            return self._path(user).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _path(self, user: str) -> Path:
        return self._folder / (hashlib.sha256(user.encode()).hexdigest()[:32] + ".json")


class Analyst:
    """Asks for one user. Everything here may take its time: call it in a thread."""

    def __init__(self, session: Connection, user: str, answers: Answers, most_rows: int) -> None:
        self.session = session
        self.user = user
        self._answers = answers
        self._most_rows = most_rows

    def fields(
        self, sql: str, values: Sequence[Any], accuracy: dict[str, Any]
    ) -> tuple[Field, ...]:
        """The columns that a question would have; free of charge."""
        plan = self.session.plan(sql, values, **accuracy)
        if plan.query.explain:
            return (Field("QUERY PLAN", types.TEXT),)
        return tuple(_field(output, plan.query.keys) for output in plan.query.listed)

    def ask(self, sql: str, values: Sequence[Any], accuracy: dict[str, Any], stop: Stop) -> Result:
        """Answer a question, which spends; EXPLAIN does not.

        Privacy: the session charges before it reads. What comes back is the answer that it
        releases, and nothing of how long or how much it read.
        """
        stop.check()
        answer = self.session.sql(sql, values, progress=stop.check, **accuracy)
        if isinstance(answer, Explanation):
            return Result.of_texts("EXPLAIN", "QUERY PLAN", str(answer).split("\n"))
        unkept = self._kept(sql, answer)
        if isinstance(answer, Denied):
            raise Complaint(
                DENIED,
                f"the query was denied: {answer.reason}",
                why=_cost(answer),
                fix="allow it more epsilon, or wider bounds",
            )
        if len(answer.rows) > self._most_rows:
            raise Complaint(
                "54000",
                f"the answer has more than {self._most_rows:,} rows",
                why=_cost(answer),
                fix="SHOW probe.answer has it; add LIMIT the next time",
            )
        said = "; ".join(part for part in (_cost(answer), answer.privacy.sentence) if part)
        return Result(
            f"SELECT {len(answer.rows)}",
            self.fields(sql, values, accuracy),
            answer.rows,
            (said, *answer.notices, *unkept),
            answer.privacy.epsilon,
        )

    def _kept(self, sql: str, answer: Answer) -> tuple[str, ...]:
        """Keep an answer; one that was paid for is sent though the disk does not take it."""
        try:
            self._answers.keep(self.user, sql, answer.as_dict())
        except OSError:
            return ("this answer could not be kept: SHOW probe.answer will not have it",)
        return ()

    def last_answer(self) -> str:
        """The last answer with its margins, marks and promise, as JSON; free."""
        found = self._answers.last(self.user)
        if found is None:
            raise Complaint("02000", "nothing was answered yet", fix="SELECT ... HAVING ...")
        return found

    def parameter_types(
        self, sql: str, positions: Sequence[int], declared: Sequence[int], accuracy: dict[str, Any]
    ) -> tuple[int, ...]:
        """The types of a question's parameters: as declared, or the first kind that fits.

        `positions[i]` is where the i-th ? of the text stands, `declared[i]` its OID, 0 where the
        client left it open. An error names the span that it is about, and the parameter there
        gets the next kind. Where nothing fits, the kinds that were reached stay.
        """
        guess = [0] * len(declared)
        free = [oid in (0, types.UNKNOWN) for oid in declared]

        def oid(one: int) -> int:
            return types.EXAMPLES[guess[one]][0] if free[one] else declared[one]

        def value(one: int) -> Any:
            return types.EXAMPLES[guess[one]][1] if free[one] else types.example(declared[one])

        def next_kind(error: ProbeError) -> bool:
            for one, position in enumerate(positions):
                about = error.span is not None and error.span.start <= position < error.span.end
                if about and free[one] and guess[one] + 1 < len(types.EXAMPLES):
                    guess[one] += 1
                    return True
            return False

        while True:
            try:
                self.session.plan(sql, [value(one) for one in range(len(declared))], **accuracy)
            except ProbeError as error:
                if next_kind(error):
                    continue
            return tuple(oid(one) for one in range(len(declared)))


def _field(output: Any, keys: Sequence[Any]) -> Field:
    if output.kind == "derived":
        oid = types.FLOAT8
    elif output.kind != "aggregate":
        scalar = output.expression if output.key is None else keys[output.key].scalar
        oid = types.oid_of(scalar.type)
    else:
        function = getattr(output.aggregate, "function", "")
        oid = types.INT8 if function in _COUNTS else types.FLOAT8
        if function == "sum":
            oid = types.NUMERIC
    name = output.name if output.name != "*" else "count"
    return Field(name, oid, types.SIZES.get(oid, -1))


def _cost(answer: Answer) -> str:
    privacy = answer.privacy
    return f"epsilon {privacy.epsilon:.4g} charged, {privacy.remaining:.4g} remains"


class Turns:
    """At most `at_once` questions run. Who waits is served in turns between analysts."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._all = self._free = at_once
        self._most = waiting
        self._closed = False
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, analyst: str, stop: Stop) -> None:
        """Wait for a turn; raises what `stop` says, or a complaint where too many wait."""
        if self._free and not self._waiting and not self._closed:
            self._free -= 1
            return
        if sum(map(len, self._waiting.values())) >= self._most:
            raise Complaint(
                "53300",
                "too many questions wait already",
                why="nothing was charged",
                fix="ask again later",
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(analyst, deque()).append(turn)
        stop.hook = lambda: self._leave(analyst, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():  # by the hook, or with the task
                self._leave(analyst, turn)
                stop.check()
            else:  # the turn had come just then
                self.give()
            raise
        finally:
            stop.hook = lambda: None

    def give(self) -> None:
        """End a turn: the next analyst's first question runs."""
        self._free += 1
        self._next()

    def _next(self) -> None:
        while self._waiting and self._free and not self._closed:
            analyst, queue = self._waiting.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._waiting[analyst] = queue  # behind the others
            if not turn.done():
                self._free -= 1
                turn.set_result(None)

    async def take_all(self) -> None:
        """Wait until nothing runs, ahead of who waits, and let nothing begin until `give_all`."""
        self._closed = True
        while self._free < self._all:
            await asyncio.sleep(_GLANCE)

    def give_all(self) -> None:
        """Go on."""
        self._closed = False
        self._next()

    def _leave(self, analyst: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(analyst)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[analyst]
        turn.cancel()
