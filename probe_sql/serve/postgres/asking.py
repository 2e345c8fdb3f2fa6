"""Questions to the data as PostgreSQL's clients see them: types of parameters, columns, rows.

Everything here may take its time: call it in a thread.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from probe_sql.answer import Answer, Denied
from probe_sql.errors import ProbeError
from probe_sql.serve.analyst import Analyst
from probe_sql.serve.complaints import DENIED, Complaint
from probe_sql.serve.postgres import types
from probe_sql.serve.postgres.messages import Field
from probe_sql.serve.postgres.portals import Result
from probe_sql.serve.turns import Stop
from probe_sql.session import Explanation, Outline, Script, brief
from probe_sql.text import price
from probe_sql.types import parse_type

_COUNTS = ("count", "count_distinct")
_CELL = 60  # bytes of a value that is kept, about
_WIDTH = 80  # characters of a line of EXPLAIN, where figures stand beside the tree
_MOST_GUESSES = 50  # plans that are tried to find the types of parameters


def columns(
    analyst: Analyst, sql: str, values: Sequence[Any], accuracy: dict[str, Any]
) -> tuple[Field, ...]:
    """The columns that a question would have; free of charge."""
    question = analyst.session.question(sql, values, **accuracy)
    if question.explain:
        return (Field("QUERY PLAN", types.TEXT),)
    if isinstance(question, Script):
        outline = analyst.session.explain(sql, values, **accuracy)
        assert isinstance(outline, Outline)
        columns = outline.program.columns
        return tuple(_outer_field(column.name, column.type) for column in columns)
    return tuple(_field(output, question.query.keys) for output in question.query.listed)


def ask(
    analyst: Analyst,
    sql: str,
    values: Sequence[Any],
    accuracy: dict[str, Any],
    stop: Stop,
    most_rows: int,
    as_json: bool = False,
) -> Result:
    """Answer a question, which spends; EXPLAIN does not. A denial is an error here.

    `as_json`: a plan is one JSON object, with its whole text.
    """
    answer = analyst.ask(sql, values, accuracy, stop)
    if isinstance(answer, Explanation | Outline):
        if as_json:
            whole = json.dumps(answer.whole(), default=str, ensure_ascii=False)
            return Result.of_texts("EXPLAIN", "QUERY PLAN", [whole])
        left = analyst.session.budget.remaining
        lines = str(answer).split("\n") if answer.verbose else brief(answer, left, _WIDTH)
        return Result.of_texts("EXPLAIN", "QUERY PLAN", lines)
    if isinstance(answer, Denied):
        raise Complaint(
            DENIED,
            f"the query was denied: {answer.reason}",
            why=_cost(answer),
            fix="allow it more epsilon, or wider bounds",
        )
    if len(answer.rows) > most_rows:
        raise Complaint(
            "54000",
            f"the answer has more than {most_rows:,} rows",
            why=_cost(answer),
            fix="SHOW probe.answer has it; add LIMIT the next time",
        )
    said = "; ".join(part for part in (_cost(answer), answer.privacy.sentence) if part)
    return Result(
        f"SELECT {len(answer.rows)}",
        columns(analyst, sql, values, accuracy)
        if answer.blocks is None
        else tuple(map(_outer_field, answer.columns, answer.types)),
        answer.rows,
        (said, *answer.notices),
        answer.privacy.epsilon,
        _CELL * len(answer.columns) * len(answer.rows),
    )


def parameter_types(
    analyst: Analyst,
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
            columns(analyst, sql, [value(one) for one in range(len(declared))], accuracy)
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
    return f"epsilon {price(privacy.epsilon)} charged, {price(privacy.remaining)} remains"
