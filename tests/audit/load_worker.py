"""`load_worker.py DATABASE PROCESSES QUERIES`: as many processes ask as many queries each.

Every process prints how many were answered and the epsilon they told, in one line.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from probe_sql.answer import Answer
from probe_sql.errors import BudgetExhausted
from tests.examples.clinic import QUERY, seeded


def ask(database: Path, number: int, queries: int) -> None:
    """Ask until the queries or the budget are at an end."""
    told, answered, exhausted = 0.0, 0, 0
    with seeded(database, number) as db:
        for _ in range(queries):
            try:
                answer = db.sql(QUERY, algorithm="naive", epsilon=0.02, u=1.0, fresh=True)
            except BudgetExhausted:
                exhausted += 1
                continue
            assert isinstance(answer, Answer)
            told += answer.privacy.epsilon
            answered += 1
    sys.stdout.write(f"{answered} {exhausted} {told!r}\n")
    sys.stdout.flush()


def main(database: str, processes: str, queries: str) -> None:
    children = []
    for number in range(int(processes)):
        child = os.fork()
        if child == 0:
            ask(Path(database), number, int(queries))
            os._exit(0)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(*sys.argv[1:4])
