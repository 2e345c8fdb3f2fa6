"""A query that was cut short, at any of its instants, leaves no exact sum and no noise behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe_sql import faults
from probe_sql.errors import ProbeError
from probe_sql.vault.exact import unsealed
from tests.examples.clinic import QUERY, build, seeded
from tests.vault.remains import secrets_within

SQL = QUERY.replace("count(*) AS cases", "sum(cost) AS total")
POINTS = [
    "vault.scan.after", "session.scanned", "session.reserved", "vault.draw.before",
    "vault.draw.after", "session.decided", "session.settled",
]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return build(tmp_path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
@pytest.mark.parametrize("point", POINTS)
def test_no_exact_sum_is_reachable_after_a_query_was_cut_short(
    path: Path, point: str, error: type[BaseException]
) -> None:
    with seeded(path, 5) as db:
        exact = db._database.backend.measure(db.plan(SQL, margin=100_000).scan)
        secrets = {int(v) for column in unsealed(exact) for v in column if v > 10_000}
        exact.close()
        assert len(secrets) > 2
        seen: list[str] = []

        def strike(name: str) -> None:
            seen.append(name)
            if name == point:
                raise error

        faults.install(strike)
        try:
            with pytest.raises(error) as caught:
                db.sql(SQL, u=0.03, epsilon=3.0, margin=100_000)
        finally:
            faults.install(None)
        assert point in seen
        assert secrets_within([caught.value, db], secrets) == set()


def test_what_the_caller_is_handling_keeps_its_variables(path: Path) -> None:
    """Only frames behind the border are emptied: a debugger still sees the caller's own."""

    def careful() -> None:
        kept = 42
        raise ValueError(kept)

    with seeded(path, 5) as db:
        try:
            careful()
        except ValueError as own:
            with pytest.raises(ProbeError) as caught:
                db.sql("SELECT")
            trace = own.__traceback__
    assert isinstance(caught.value.__context__, ValueError)
    assert trace is not None
    assert trace.tb_next is not None
    assert trace.tb_next.tb_frame.f_locals == {"kept": 42}
