"""Commands that tests run in processes of their own: `worker.py COMMAND LEDGER [ARGUMENT]`.

Each prints what a caller of the ledger would then be allowed to do, line by line, at once.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from datetime import date
from typing import Any

from probe_sql import faults
from probe_sql.errors import BudgetExhausted, LedgerError
from probe_sql.ledger import Ledger, Saving
from probe_sql.loss import Loss
from probe_sql.periods import Pays, whole_periods
from probe_sql.policy.model import Budget, Periods

SMALL: dict[str, Any] = {"least": 1e-12, "failure": 1e-12, "holds": 100_000}


MARCH = Pays("day", ((date(2024, 3, 1), date(2024, 3, 31)),))


def say(*words: object) -> None:
    """Print a line that is out before anything else happens."""
    print(*words, flush=True)


def kill_at(path: str, name: str) -> None:
    """Query until the named point, and die there."""

    def hook(reached: str) -> None:
        if reached == name:
            os.kill(os.getpid(), signal.SIGKILL)

    if name.startswith("ledger.create"):
        faults.install(hook)
    budget = Budget(epsilon=1.0, failure=0.0625)
    ledger = Ledger.open(path, budget=budget, identity="clinic")
    faults.install(hook)
    receipt = ledger.reserve(None, Loss.asked(0.25), sql="SELECT 1", pays=MARCH)
    ledger.draw(receipt)
    ledger.verify(receipt)
    say("drawn", receipt.units)
    saving = Saving("question", "noisy facts")
    ledger.settle(receipt, Loss.asked(0.125), outcome="answered", saving=saving)
    say("settled")


def tear(path: str, step: str, which: str, length: str) -> None:
    """Query until an anchor is written at a step, and die after so many bytes of it."""
    ledger = Ledger.open(path, budget=Budget(epsilon=1.0, failure=0.0625), identity="clinic")
    write, left = os.write, ["beside", "own"].index(which)

    def torn(descriptor: int, content: Any) -> int:
        nonlocal left
        if left:
            left -= 1
            return write(descriptor, content)
        write(descriptor, bytes(content)[: int(length)])
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def hook(reached: str) -> None:
        if reached == f"ledger.{step}.anchoring":
            os.write = torn

    faults.install(hook)
    receipt = ledger.reserve(None, Loss.asked(0.25), sql="SELECT 1")
    ledger.draw(receipt)
    say("drawn", receipt.units)


def spend(path: str, units: str, pause: str = "0") -> None:
    """Reserve `units` at a time until nothing is left; print each receipt, then pause."""
    ledger = Ledger.open(path, budget=Budget(epsilon=1e-9, **SMALL), identity="clinic")
    say("ready")
    sys.stdin.readline()
    while True:
        try:
            receipt = ledger.reserve(None, Loss.asked(int(units) * 1e-12), sql="SELECT 1")
            ledger.draw(receipt)
        except BudgetExhausted:
            if int(units) == 1:
                return
            units = "1"
        else:
            say(receipt.number, receipt.units)
            time.sleep(float(pause))


def spend_month(path: str, units: str, month: str) -> None:
    """Reserve `units` of a month's budget at a time until nothing of it is left."""
    periods = Periods("day", "month", 1e-10, date(2024, 1, 1), date(2024, 12, 31))
    budget = Budget(epsilon=1.0, periods=periods, **SMALL)
    ledger = Ledger.open(path, budget=budget, identity="clinic")
    day = date(2024, int(month), 15)
    say("ready")
    sys.stdin.readline()
    while True:
        asked = Loss.asked(int(units) * 1e-12)
        try:
            receipt = ledger.reserve(
                None, asked, sql="SELECT 1", pays=Pays("day", whole_periods([(day, day)], "month"))
            )
            ledger.draw(receipt)
        except BudgetExhausted:
            if int(units) == 1:
                return
            units = "1"
        else:
            say(receipt.number, receipt.units)


def create(path: str) -> None:
    """Open the ledger when told to; print whether this process created it."""
    say("ready")
    sys.stdin.readline()
    ledger = Ledger.open(path, budget=Budget(epsilon=1.0), identity="clinic")
    say(ledger.created, ledger.ledger_id)


def attempt(path: str, then: Callable[[Ledger], None] | None = None) -> None:
    """Open and reserve once more; print the receipt or the refusal."""
    try:
        ledger = Ledger.open(path, budget=Budget(epsilon=1.0, **SMALL), identity="clinic")
        if then is not None:
            then(ledger)
        for _ in range(1000):
            receipt = ledger.reserve(None, Loss.asked(0.0001), sql="SELECT " + "x" * 2000)
            ledger.draw(receipt)
            say("drawn", receipt.units)
    except LedgerError as error:
        say("refused", str(error).replace("\n", " "))


def report(path: str) -> None:
    """Open, verify everything, print the units that are spent."""
    ledger = Ledger.open(path, budget=Budget(epsilon=1.0), identity="clinic", create=False)
    ledger.audit()
    say(ledger.state().spent_units)


def twice(path: str, *without: str) -> None:
    """Open, do what a process may do again beside it, wait, then charge and be killed.

    `without`: walls that are taken away, that nobody else opens the file and the lock behind it.
    """
    budget = Budget(epsilon=1.0, least=1e-12, failure=1e-12)
    if "hold" in without:
        vars(fcntl).pop("F_OFD_SETLK", None)
    ledger = Ledger.open(path, budget=budget, identity="clinic")
    Ledger.open(path, budget=budget, identity="clinic").close()
    ledger.audit()
    if "alone" in without:
        with open(path, "rb"):
            pass
    say("ready")
    sys.stdin.readline()
    receipt = ledger.reserve(None, Loss.asked(0.25), sql="SELECT 1")
    ledger.draw(receipt)
    ledger.verify(receipt)
    saving = Saving("question", "noisy facts")
    ledger.settle(receipt, Loss.asked(0.125), outcome="answered", saving=saving)
    say(ledger.state().spent_units)
    os.kill(os.getpid(), signal.SIGKILL)


def limited(path: str, limit: str) -> None:
    """As `attempt`, with a limit on file sizes set after opening."""
    size = int(limit)
    attempt(path, lambda _: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))


def unprivileged(path: str) -> None:
    """As `attempt`, as a user whom permissions bind."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    attempt(path)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
