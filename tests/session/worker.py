"""`worker.py DATABASE POINT [DATABASE POINT ...]`: for each pair, a process of its own runs one
query and dies by SIGKILL at the named point. Prints what each had released by then.

`second POINT` asks two blocks, and dies when the second one comes to the point.

The processes are forked after the imports and before any database is open.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from probe_sql import faults
from probe_sql.answer import Answer
from tests.examples.clinic import QUERY, seeded

TWO = "SELECT n, s FROM (SELECT count(*) AS n FROM patients), (SELECT sum(age) AS s FROM patients)"


def query(database: str, point: str) -> None:
    """One query, killed at `point`; a name that is no point lets it live."""
    name = point.removeprefix("second ")
    lives = 1 if name != point else 0

    def hook(reached: str) -> None:
        nonlocal lives
        if reached == name:
            if not lives:
                os.kill(os.getpid(), signal.SIGKILL)
            lives -= 1

    with seeded(Path(database), 1, again=True) as db:
        faults.install(hook)
        if name != point:
            answer = db.sql(TWO, epsilon=1.0)
        else:
            answer = db.sql(QUERY, epsilon=1.0, algorithm="naive")
        assert isinstance(answer, Answer)
        print(point, "released", answer.privacy.epsilon, flush=True)


def main(words: list[str]) -> None:
    for database, point in zip(words[::2], words[1::2], strict=True):
        child = os.fork()
        if child == 0:
            query(database, point)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(point, "ended", os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
