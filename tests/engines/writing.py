"""What every engine must do while somebody writes: tests that engines inherit.

A query reads one state of its table. Here every row is on one side, `flag` or NOT `flag`, and a
writer moves all of them to the other again and again: filters that exclude each other must never
count a row twice, nor miss one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Protocol

import pyarrow as pa
import pytest

from probe_sql.errors import ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy
from probe_sql.vault.backend import Backend
from tests.engines import events
from tests.engines.contract import measured

SIDES = (
    "SELECT site FROM events GROUP BY site HAVING count(*) FILTER (WHERE flag) > 3"
    " AND count(*) FILTER (WHERE NOT flag) > 3 AND count(*) > 3"
)
QUERIES = 12


def on_side(side: bool, count: int = 600) -> pa.Table:
    """The events with all rows on one side."""
    table = events.events(count)
    index = table.schema.get_field_index("flag")
    return table.set_column(index, "flag", pa.array([side] * count))


class Written(Protocol):
    """An engine under test whose table `events` somebody writes."""

    patient: bool  # whether every query must be answered all the same
    pause: float  # seconds between two moves

    def open(self, policy: Policy) -> Backend:
        """The table with all rows on one side, opened."""
        ...

    def move(self, side: bool) -> None:
        """Have all rows on the given side, as a writer would."""
        ...


@contextmanager
def writer(written: Written) -> Iterator[list[bool]]:
    """Somebody who moves all rows, again and again; the moves so far."""
    stop = threading.Event()
    moves: list[bool] = []

    def work() -> None:
        while not stop.is_set():
            written.move(len(moves) % 2 == 1)
            moves.append(True)
            stop.wait(written.pause)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield moves
    finally:
        stop.set()
        thread.join()


class Writing:
    """Inherited by a class for each engine, which gives the fixture `written`."""

    @pytest.mark.parametrize("unit", ["row", "person"])
    @pytest.mark.parametrize("fuse", [False, True])
    def test_a_query_reads_one_state_while_somebody_writes(
        self, unit: str, fuse: bool, written: Any
    ) -> None:
        policy = events.policy() if unit == "row" else events.people(1_000)
        backend = written.open(policy)
        typed = policy.with_types(backend.schemas())
        plan = make_plan(SIDES, typed, engine=backend.engine)
        answered = 0
        allowed = nullcontext() if written.patient else suppress(ScanError)
        try:
            with writer(written) as moves:
                asked = 0
                while asked < QUERIES or len(moves) < QUERIES / 2:
                    asked += 1
                    with allowed:
                        yes, no, both = measured(backend, plan, fuse)
                        answered += 1
                        for one, other, total in zip(yes, no, both, strict=True):
                            assert {one, other} == {0, total}
            assert answered or not written.patient
            yes, no, both = measured(backend, plan, fuse)  # in peace
            assert sum(both) > 300
            assert sorted((sum(yes), sum(no))) == [0, sum(both)]
        finally:
            backend.close()
