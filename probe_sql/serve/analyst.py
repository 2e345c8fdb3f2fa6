"""One analyst's questions: asked of a session, kept, and typed for the wire."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probe_sql.answer import Answer, Denied
from probe_sql.errors import ProbeError
from probe_sql.serve import types
from probe_sql.serve.messages import Field
from probe_sql.serve.private_files import require_private, write_atomically
from probe_sql.serve.reports import DENIED, Complaint
from probe_sql.serve.turns import Result, Stop
from probe_sql.session import Connection, Explanation, Outline, Script
from probe_sql.types import parse_type

_COUNTS = ("count", "count_distinct")
_CELL = 60  # bytes of a value that is kept, about
_MOST_GUESSES = 50  # plans that are tried to find the types of parameters


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
        question = self.session.question(sql, values, **accuracy)
        if question.explain:
            return (Field("QUERY PLAN", types.TEXT),)
        if isinstance(question, Script):
            outline = self.session.explain(sql, values, **accuracy)
            assert isinstance(outline, Outline)
            columns = outline.program.columns
            return tuple(_outer_field(column.name, column.type) for column in columns)
        return tuple(_field(output, question.query.keys) for output in question.query.listed)

    def ask(self, sql: str, values: Sequence[Any], accuracy: dict[str, Any], stop: Stop) -> Result:
        """Answer a question, which spends; EXPLAIN does not.

        Privacy: the session charges before it reads. What comes back is the answer that it
        releases, and nothing of how long or how much it read.
        """
        stop.check()
        try:
            answer = self.session.sql(sql, values, progress=stop.check, **accuracy)
        except ProbeError as error:
            self._keep_released(sql, error)
            raise
        if isinstance(answer, Explanation | Outline):
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
            self.fields(sql, values, accuracy)
            if answer.blocks is None
            else tuple(map(_outer_field, answer.columns, answer.types)),
            answer.rows,
            (said, *answer.notices, *unkept),
            answer.privacy.epsilon,
            _CELL * len(answer.columns) * len(answer.rows),
        )

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

    def parameter_types(
        self,
        sql: str,
        positions: Sequence[int],
        declared: Sequence[int],
        accuracy: dict[str, Any],
        stop: Stop,
    ) -> tuple[int, ...]:
        """The types of a question's parameters: as declared, or the first kind that fits.

        `positions[i]` is where the i-th ? of the text stands, `declared[i]` its OID, 0 where the
        client left it open. An error names the span that it is about, and the parameter there
        gets the next kind. Where nothing fits, or too much would have to be tried, the kinds that
        were reached stay.
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

        for _ in range(_MOST_GUESSES):
            stop.check()
            try:
                self.fields(sql, [value(one) for one in range(len(declared))], accuracy)
            except ProbeError as error:
                if next_kind(error):
                    continue
            break
        return tuple(oid(one) for one in range(len(declared)))


def _field(output: Any, keys: Sequence[Any]) -> Field:
    if output.doubt is not None:
        oid = types.BOOL if output.doubt.of is None else types.FLOAT8
    elif output.kind == "derived":
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


def _outer_field(name: str, type_: str) -> Field:
    oid = types.oid_of(parse_type(type_))
    return Field(name, oid, types.SIZES.get(oid, -1))


def _cost(answer: Answer) -> str:
    privacy = answer.privacy
    return f"epsilon {privacy.epsilon:.4g} charged, {privacy.remaining:.4g} remains"
