"""Coverage-guided fuzzing of the SQL front: `python -m tests.audit.atheris_sql -runs=100000`.

Needs atheris, which is no requirement of the tests: `pip install atheris`. Ends with a crash
report if anything but a `ProbeError` comes out of planning a text.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

atheris: Any = import_module("atheris")

with atheris.instrument_imports(include=["probe_sql"]):
    from probe_sql.errors import ProbeError
    from probe_sql.plan.explain import explain
    from probe_sql.plan.plan import make_plan
    from probe_sql.policy import load_policy
    from probe_sql.scan.engine import DUCKDB
    from tests.examples.clinic import POLICY

RULES = load_policy(POLICY)


def one_input(data: bytes) -> None:
    """Plan one text."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        str(explain(make_plan(text, RULES, engine=DUCKDB)))
    except ProbeError as error:
        str(error)


def main() -> None:
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
