"""A process whose draws are cut short by a real timer, as by Ctrl-C or a soft limit.

It looks through what they leave, and prints how many were cut short and how many of the
secrets were found afterwards.
"""

from __future__ import annotations

import random
import signal
import sys
from pathlib import Path

import numpy as np

from probe_sql.ledger import Ledger
from probe_sql.policy.model import Budget
from probe_sql.vault.exact import Exact
from probe_sql.vault.randomness import SecureWords
from tests.vault import desk
from tests.vault.remains import secrets_within

GROUPS = 300_000
SUM = 7_654_321_000


def expire(*_: object) -> None:
    raise TimeoutError


def main(folder: str, rounds: int) -> None:
    chance = random.Random(3)
    everyone = np.ones(GROUPS, dtype=np.bool_)
    struck = found = 0
    with Ledger.open(Path(folder, "x.ledger"), budget=Budget(epsilon=1e6), identity="x") as ledger:
        for number in range(rounds):
            exact = Exact([np.arange(SUM, SUM + GROUPS)], GROUPS)
            meter = desk.meter(ledger, exact, (1,), ((0,),), words=SecureWords())
            delay = chance.uniform(0.001, 0.05)
            signal.signal(signal.SIGALRM, expire if number % 2 else signal.default_int_handler)
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                meter.reveal(0, 1e-4, everyone)
                meter.reveal(0, 1e-3, everyone)
                meter.draw(0, 1e-3, everyone)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except (KeyboardInterrupt, TimeoutError) as error:
                struck += 1
                meter.settle("interrupted")
                secrets = range(SUM, SUM + GROUPS, 10_000)
                found += len(secrets_within([error, meter, exact], secrets))
            meter.close()
    print(f"struck {struck} found {found}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
