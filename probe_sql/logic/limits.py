"""How large a formula may be, so that simplifying it takes bounded time."""

from __future__ import annotations

from probe_sql.errors import Refused

MAX_ATOMS = 16
MAX_LEAVES = 5000


def check_size(distinct: int) -> None:
    """Refuse a formula of more than `MAX_ATOMS` distinct atoms."""
    if distinct > MAX_ATOMS:
        raise Refused(
            f"HAVING has {distinct} distinct comparisons; at most {MAX_ATOMS} are supported",
            why="each comparison takes a share of the error bound and of the privacy budget, and "
            "the work to simplify them grows with 2 to the number of comparisons",
            fix="split the query in two, or merge comparisons on one aggregate "
            "(BETWEEN instead of IN)",
        )


def check_length(count: int) -> None:
    """Refuse a formula of more than `MAX_LEAVES` leaves, which would take too long."""
    if count > MAX_LEAVES:
        raise Refused(
            f"HAVING has {count} comparisons; at most {MAX_LEAVES} are supported",
            why="simplifying it would take too long",
            fix="write the condition with fewer repetitions of the same comparison",
        )
