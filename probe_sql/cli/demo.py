"""`probe-sql demo`: a clinic, its policy, one private query from plan to remaining budget."""

from __future__ import annotations

import shlex
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from probe_sql.cli.arguments import PROGRAM
from probe_sql.cli.show import deliver, show_budget, show_explanation
from probe_sql.cli.streams import ready
from probe_sql.cli.terminal import paint
from probe_sql.errors import OperationalError
from probe_sql.text import visible, visible_lines

ANALYST = "maria"
TRIES = 3


def run_demo(arguments: Namespace) -> int:
    """Build the demo and show a query's plan, answer, cost and the budget that remains."""
    from probe_sql.answer import Answer
    from probe_sql.owner import DEMO_QUERY, build_demo
    from probe_sql.session import connect

    folder = Path(arguments.dir or tempfile.mkdtemp(prefix="probe-sql-demo-"))
    try:
        demo = build_demo(folder)
    except OSError as error:
        raise OperationalError(
            f"the demo cannot be built in {folder}: {error.strerror}", fix="name another --dir"
        ) from None
    _say("A clinic of invented patients, and the policy that says what is public about them")
    print(visible_lines(f"{demo.database}\n{demo.policy}"))
    _say("The question: which viral diseases are common among the old, or among small children?")
    print(DEMO_QUERY.rstrip())
    with connect(demo.database, demo.policy, analyst=ANALYST) as connection:
        _say("Its plan, free of charge: no private row is read")
        show_explanation(connection.explain(DEMO_QUERY), "table", sys.stdout, scan=False)
        for attempt in range(TRIES):
            _say("The answer, of noisy values alone" if not attempt else "Asked again")
            ready(sys.stdout)
            answer = connection.sql(DEMO_QUERY)
            assert isinstance(answer, Answer)
            deliver(answer, "table", sys.stdout)
            if answer.status == "answered":
                break
        _say(f"What remains for {ANALYST}, by the ledger beside the database")
        show_budget(connection.budget, ANALYST, "table", sys.stdout)
    _say("To go on in the shell")
    print(visible(f"{PROGRAM} {shlex.quote(str(demo.database))} --analyst {ANALYST}"))
    return 0


def _say(text: str) -> None:
    print("\n" + paint(f"-- {text}", "cyan", sys.stdout))
