"""Write accuracy options into a query: a slider and a button change the text that is asked."""

from __future__ import annotations

from collections.abc import Mapping

from probe_sql.errors import SqlError
from probe_sql.options import OPTIONS
from probe_sql.sql.clauses import options, split_accuracy
from probe_sql.sql.source import Source
from probe_sql.sql.text import tokenize


def amended(sql: str, wanted: Mapping[str, float | str | bool]) -> str:
    """The query with these options in its last clause, and everything else as it was.

    An option that is there gets the new value in its place, another is added, and where there is
    no clause one is added. Raises `SqlError` where the text or its clause cannot be read.
    """
    source = Source(sql, tuple(tokenize(sql)))
    tokens = list(source.tokens)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if not tokens:
        raise SqlError("the query is empty", fix="SELECT ... FROM ... GROUP BY ... HAVING ...")
    _, clause = split_accuracy(source, tokens)
    _, spans = options(source, clause)
    edits: list[tuple[int, int, str]] = []
    added = []
    for name, value in wanted.items():
        written = f"{name} = {_literal(name, value)}"
        if name in spans:
            edits.append((spans[name].start, spans[name].end, written))
        else:
            added.append(written)
    if added:
        last = tokens[-1]
        if clause:
            edits.append((clause[-1].end + 1, clause[-1].end + 1, ", " + ", ".join(added)))
        elif [token.text.upper() for token in tokens[-4:]] == ["WITH", "ACCURACY", "(", ")"]:
            edits.append((last.start, last.start, ", ".join(added)))
        else:
            whole = f"\nWITH ACCURACY ({', '.join(added)})"
            edits.append((last.end + 1, last.end + 1, whole))
    for start, end, text in sorted(edits, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql


def _literal(name: str, value: float | str | bool) -> str:
    """A value as the clause has it, checked as the clause's are."""
    value = OPTIONS[name].check(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    text = format(float(f"{value:.6g}"), ".10f").rstrip("0").rstrip(".")
    return text if float(text) > 0 else repr(float(value))
