"""One analyst's questions: asked of a session, their answers kept before anybody is told."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.turns import Stop
from probe_sql.session import Connection, Explanation, Outline

MOST_BYTES = 256_000_000  # of the last answers of all users, about
_CELL = 200  # bytes of a value with its margin and mark, about


class LastAnswers:
    """The last answer of each user, while the server runs; those asked longest ago make room.

    An answer that was paid for is in the ledger before anybody sees it, and asking again is free
    as far as the owner has answers kept. This one is for who wants its margins and marks.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[int, str, Callable[[], dict[str, Any]]]] = OrderedDict()

    def keep(self, user: str, sql: str, size: int, content: Callable[[], dict[str, Any]]) -> None:
        """Replace a user's last answer, of about so many bytes."""
        with self._lock:
            self._kept.pop(user, None)
            self._kept[user] = (size, sql, content)
            while sum(one[0] for one in self._kept.values()) > self._most:
                self._kept.popitem(last=False)

    def last(self, user: str) -> str | None:
        """The user's last answer as JSON, None where there is none."""
        with self._lock:
            found = self._kept.get(user)
        if found is None:
            return None
        _, sql, content = found
        return json.dumps({"sql": sql, **content()}, default=str, ensure_ascii=False)

    def forget(self, user: str) -> None:
        """Keep nothing of a user: who comes next under the name may be somebody else."""
        with self._lock:
            self._kept.pop(user, None)


class Analyst:
    """Asks for one user. Everything here may take its time: call it in a thread."""

    def __init__(self, session: Connection, user: str, answers: LastAnswers) -> None:
        self.session = session
        self.user = user
        self._answers = answers

    def ask(
        self, sql: str, values: Sequence[Any], accuracy: dict[str, Any], stop: Stop
    ) -> Answer | Explanation | Outline:
        """Answer a question, which spends; EXPLAIN does not.

        Privacy: the session charges before it reads, and the ledger has the answer before it
        returns. What comes back is what was released, and nothing of how long it took.
        """
        stop.check()
        try:
            answer = self.session.ask(sql, values, stop.check, **accuracy)
        except ProbeError as error:
            self._keep_released(sql, error)
            raise
        if isinstance(answer, Answer):
            self._answers.keep(self.user, sql, size_of(answer), lambda: _whole(answer))
        return answer

    def _keep_released(self, sql: str, error: ProbeError) -> None:
        """Keep what private blocks released before a query failed: it was paid for."""
        released = dict(error.released or {})
        if not released:
            return

        def content() -> dict[str, Any]:
            blocks = [{"name": name, **one.as_dict()} for name, one in released.items()]
            return {"status": "failed", "blocks": blocks}

        self._answers.keep(self.user, sql, sum(map(size_of, released.values())), content)
        error.fix = "SHOW probe.answer has what the private blocks released"

    def last_answer(self) -> str:
        """The last answer with its margins, marks and promise, as JSON; free."""
        found = self._answers.last(self.user)
        if found is None:
            raise Complaint(
                "02000",
                "nothing was answered since the server started",
                why="the ledger has what was answered before: asking it again is free, as long as "
                "its owner has answers kept",
                fix="SELECT * FROM probe.ledger; or SELECT ... HAVING ...",
            )
        return found


def _whole(answer: Answer) -> dict[str, Any]:
    """An answer with how it came about, from which clients make it anew."""
    return {**answer.as_dict(), "trace": [asdict(step) for step in answer.privacy.trace]}


def size_of(answer: Answer) -> int:
    """About how many bytes an answer takes here."""
    return _CELL * len(answer.columns) * (1 + len(answer.rows))
