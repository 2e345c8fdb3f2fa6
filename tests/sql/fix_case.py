"""A query that is refused, and what comes of it when its fix is done.

`then` is nothing where the error has the SQL for what is underlined (`instead`), a whole query
where a person writes it as the fix says, or an edit of the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from probe_sql.plan.tally import Engine


@dataclass(frozen=True, slots=True)
class Granted:
    """An edit of the policy: a text of it, and what stands there then."""

    old: str
    new: str
    sql: str | None = None  # what is asked then, if not the same


@dataclass(frozen=True, slots=True)
class Case:
    """A query, what its fix makes of it, and how both are asked."""

    sql: str
    then: str | Granted | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    then_options: Mapping[str, Any] | None = None
    parameters: Sequence[Any] = ()
    then_parameters: Sequence[Any] | None = None
    engine: Engine | None = None
    base: Granted | None = None  # of the policy, before anything is asked
    released: Sequence[Any] | None = None  # what was released for the only hole of the block


def ward(having: str, where: str = "") -> str:
    """A query by ward."""
    return f"SELECT ward FROM stays {where} GROUP BY ward HAVING {having}"


def where(condition: str) -> str:
    """A count of rows."""
    return f"SELECT count(*) FROM stays WHERE {condition}"


def column(old: str, new: str, sql: str | None = None) -> Granted:
    """What a column of stays has in the policy."""
    return Granted(old, new, sql)
