"""EXPLAIN where nothing was opened for asking: by a policy alone, or with the types of a source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from probe_sql import arguments
from probe_sql.blocks.asker import outline
from probe_sql.blocks.explain import Outline
from probe_sql.plan.explain import Explanation, explain
from probe_sql.plan.plan import plan_bound
from probe_sql.plan.tally import Engine
from probe_sql.policy import Policy, load_policy
from probe_sql.scan.engine import DUCKDB
from probe_sql.sql.bind import bind
from probe_sql.sql.blocks import take_apart
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.text import read, text_statement
from probe_sql.vault.backends import open_backend


def explain_only(
    query: str,
    policy: Policy | str | os.PathLike[str],
    parameters: Sequence[Any] | None = (),
    *,
    source: Any = None,
    **accuracy: Any,
) -> Explanation | Outline:
    """Explain a query without a ledger; with a source, by its types, else by the policy's.

    Privacy: of a source only the schema is looked at, so no private row decides what is said.
    """
    rules = policy if isinstance(policy, Policy) else load_policy(policy)
    given = arguments.parameters(parameters)
    engine: Engine = DUCKDB
    if source is not None:
        arguments.source(source)
        backend = open_backend(source, rules, schemas_only=True)
        try:
            rules = rules.with_types(backend.schemas())
            engine = backend.engine
        finally:
            backend.close()
    text = reshaped(read(arguments.plain(query), given), rules)
    script = take_apart(text, rules)
    if script is not None:
        return outline(script, rules, engine, accuracy, explain)
    return explain(plan_bound(bind(text_statement(text), rules), rules, engine=engine, **accuracy))
