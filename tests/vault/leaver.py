"""A process that spills, or bounds people, and then waits to be killed: for test_workplace."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from probe_sql.policy import Resources
from probe_sql.vault import bounded_tables
from probe_sql.vault.backends import open_backend
from tests.examples import awkward, visits


def wait(*_: Any) -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    time.sleep(600)


def half_built(how: Any, target: str, run: Any, work: Any) -> None:
    del how, work
    run(f"CREATE TABLE {target} AS SELECT 'Alice Miller' AS name FROM range(100000)")
    wait()


def main(what: str, source: str) -> None:
    policy = awkward.policy()
    if what == "spill":
        backend = open_backend(source, policy, threads=1, memory=Resources(memory="60MB").memory)
        having = "count(DISTINCT note) > 5 AND count(DISTINCT note || 'x') > 5"
        sql = f"SELECT ward FROM patients GROUP BY ward HAVING {having}"
        backend.measure(awkward.planned(backend, sql).scan, progress=_when_spilled(backend))
    else:
        vars(bounded_tables)["build"] = half_built
        rules = visits.policy(3)
        opened: Any = Path(source)
        if what == "frame":
            opened = visits.tables(visits.visits())
        backend = open_backend(opened, rules)
        sql = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 5"
        backend.measure(awkward.planned(backend, sql, rules).scan)


def _when_spilled(backend: Any) -> Any:
    def look() -> None:
        if any(path.stat().st_size for path in backend._spill.iterdir()):
            wait()

    return look


if __name__ == "__main__":
    main(*sys.argv[1:])
