"""`crowd_worker.py FOLDER WHAT`: one process that asks for people's rows to be bounded.

`ask` answers one query and prints its epsilon and the rows counted; `die` is killed while the
bounded table is being built; `full` may write no file longer than 64 KiB.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from probe_sql.session import connect
from probe_sql.vault import bounded_tables
from tests.examples import visits

SQL = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 50"


def dying(how: Any, target: str, run: Any) -> None:
    """Build half of the table, then be killed."""
    del how
    run(f"CREATE TABLE {target} AS SELECT 1 AS person")
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, what: str) -> None:
    if what == "die":
        vars(bounded_tables)["build"] = dying
    if what == "full":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    try:
        with connect(Path(folder) / "visits.duckdb", visits.policy(3)) as db:
            answer = db.sql(SQL, algorithm="naive", epsilon=20.0)
            assert isinstance(answer, Answer)
            sys.stdout.write(f"{answer.privacy.epsilon!r}\n")
    except ProbeError as error:
        sys.stdout.write(f"{type(error).__name__}: {error.what}\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
