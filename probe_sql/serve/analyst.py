"""One analyst's questions: asked of a session, their answers kept before anybody is told."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.private_files import require_private, write_atomically
from probe_sql.serve.turns import Stop
from probe_sql.session import Connection, Explanation, Outline


class Answers:
    """The last answer of each user, on the disk before its first byte is sent (mode 0600)."""

    def __init__(self, ledger: Path) -> None:
        self._folder = Path(os.path.realpath(ledger)).with_name(ledger.name + ".answers")

    def keep(self, user: str, sql: str, answer: dict[str, Any]) -> None:
        """Replace the user's last answer; it is durable when this returns."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        require_private(self._folder)
        text = json.dumps({"sql": sql, **answer}, default=str, ensure_ascii=False)
        write_atomically(self._path(user), text.encode("utf-8", "replace"))

    def last(self, user: str) -> str | None:
        """The user's last answer as JSON, None where there is none."""
        try:
            require_private(self._folder)
            opened = os.open(self._path(user), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        with os.fdopen(opened, encoding="utf-8") as file:
            return file.read()

    def _path(self, user: str) -> Path:
        return self._folder / (hashlib.sha256(user.encode()).hexdigest()[:32] + ".json")


@dataclass(frozen=True, slots=True)
class Told:
    """What a question gives: an answer, or the explanation that was asked for; and what to add."""

    answer: Answer | Explanation | Outline
    remarks: tuple[str, ...] = ()


class Analyst:
    """Asks for one user. Everything here may take its time: call it in a thread."""

    def __init__(self, session: Connection, user: str, answers: Answers) -> None:
        self.session = session
        self.user = user
        self._answers = answers

    def ask(self, sql: str, values: Sequence[Any], accuracy: dict[str, Any], stop: Stop) -> Told:
        """Answer a question, which spends; EXPLAIN does not.

        Privacy: the session charges before it reads. What comes back is the answer that it
        releases, and nothing of how long or how much it read. It is on the disk when this returns.
        """
        stop.check()
        try:
            answer = self.session.sql(sql, values, progress=stop.check, **accuracy)
        except ProbeError as error:
            self._keep_released(sql, error)
            raise
        if isinstance(answer, Explanation | Outline):
            return Told(answer)
        return Told(answer, self._kept(sql, answer))

    def _kept(self, sql: str, answer: Answer) -> tuple[str, ...]:
        """Keep an answer; one that was paid for is sent though the disk does not take it."""
        try:
            self._answers.keep(self.user, sql, answer.as_dict())
        except OSError:
            return ("this answer could not be kept: SHOW probe.answer will not have it",)
        return ()

    def _keep_released(self, sql: str, error: ProbeError) -> None:
        """Keep what private blocks released before a query failed: it was paid for."""
        if not error.released:
            return
        blocks = [{"name": name, **one.as_dict()} for name, one in error.released.items()]
        with contextlib.suppress(OSError):
            self._answers.keep(self.user, sql, {"status": "failed", "blocks": blocks})
            error.fix = "SHOW probe.answer has what the private blocks released"

    def last_answer(self) -> str:
        """The last answer with its margins, marks and promise, as JSON; free."""
        found = self._answers.last(self.user)
        if found is None:
            raise Complaint("02000", "nothing was answered yet", fix="SELECT ... HAVING ...")
        return found
