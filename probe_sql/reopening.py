"""Answers that were given before, by their names: what a link of the console opens, free.

A part of the session in a file of its own: it asks nothing, and charges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from probe_sql.accuracy import Accuracy
from probe_sql.again import Again
from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from probe_sql.ledger import Entry
from probe_sql.loss import Loss
from probe_sql.session import Connection, Script


@dataclass(frozen=True, slots=True)
class Reopened:
    """An answer that was given before, and the entry of the ledger that paid for it; `own` says
    whether the same analyst asked; `sql` is the text by which it was read."""

    answer: Answer
    entry: Entry
    sql: str
    own: bool
    accuracy: Accuracy


def kept(session: Connection, query: str) -> str | None:
    """The name of the answer that asking would give again, free; None where there is none."""
    plan = session.question(query)
    if isinstance(plan, Script) or plan.decided_free:
        return None
    database = session._database
    groups = database.backend.groups(plan.scan)
    replay = Again(database, session.analyst).find(plan.among(groups), groups)
    if replay is None or replay.told.made:
        return None
    [answer] = replay.kept
    return answer.name


def kept_names(session: Connection) -> Mapping[int, str]:
    """The names of this analyst's kept answers, by the numbers of their entries."""
    return session._database.ledger.answers.names(session.analyst)


def reopen(
    session: Connection, name: str, *, counted: bool = True, asked: str | None = None
) -> Reopened | None:
    """An answer that was given before, by its name; free, and nothing is asked.

    Where somebody else had paid, it is read by the text that this analyst `asked`, if that is known
    and asks the same: names of columns are theirs then. None where it is not kept any more, or
    where today's policy reads its question otherwise.
    """
    database = session._database
    again, ledger = Again(database, session.analyst), database.ledger
    found = again.named(name)
    if found is None:
        return None
    answer, was = found
    entry = next(one for one in ledger.entries() if one.number == answer.number)
    own = ledger.answers.owns(answer, session.analyst)
    texts = (entry.sql,) if own or asked is None else (asked, entry.sql)
    for sql, accuracy in product(texts, (was.options(), {})):
        with suppress(ProbeError):
            plan = database.plan(sql, **accuracy)
            groups = database.backend.groups(plan.scan)
            replay = again.replay(plan.among(groups), groups, answer, was)
            if replay is not None:
                if counted:
                    again.count(replay)
                shown = session._answer(replay.plan, replay.outcome, Loss.NOTHING, replay.told)
                return Reopened(shown, entry, sql, own, replay.plan.accuracy)
    return None
