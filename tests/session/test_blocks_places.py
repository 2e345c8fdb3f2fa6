"""A mistake in the SQL around private blocks is underlined where it stands."""

from __future__ import annotations

import pytest

from probe_sql.errors import ProbeError
from probe_sql.policy import load_policy
from probe_sql.session import explain_only
from tests.examples.clinic import POLICY

pytestmark = pytest.mark.service  # processes are started

WARDS = "(SELECT ward, count(*) AS n FROM patients GROUP BY ward)"
CAP = "(SELECT max(cap) FROM diseases e WHERE e.cap < {})"


@pytest.mark.parametrize(
    ("query", "place", "fix"),
    [
        (f"SELECT foo FROM {WARDS} b", "foo", "did you mean n?"),
        (f"SELECT ward, b.foo + 1 FROM {WARDS} b", "b.foo", "did you mean n?"),
        (f"SELECT ward, x.n FROM {WARDS} b", "x.n", "did you mean b?"),
        (f"SELECT ward, sum(n) FROM {WARDS} b", "ward", None),
        (f"SELECT n, upper(n) FROM {WARDS}", "upper(n)", None),
        (f"SELECT n FROM {WARDS} UNION SELECT m FROM {WARDS} WHERE n > 3", "m", None),
        # Of a subquery inside of a block: a reference beyond what is around the block.
        (
            "SELECT name, (SELECT max(n) FROM (SELECT ward, count(*) AS n FROM patients GROUP BY "
            f"ward HAVING count(*) > {CAP.format('d.cap')})) FROM diseases d",
            "d.cap",
            None,
        ),
        (
            "SELECT name FROM diseases d WHERE name IN (SELECT disease FROM patients GROUP BY "
            f"disease HAVING count(*) > {CAP.format('d.cap')})",
            "d.cap",
            None,
        ),
        (  # an operator is looked for no further than in its subquery
            f"SELECT count(*) FROM patients WHERE age > {CAP.format('name + 1')}",
            CAP.format("name + 1"),
            None,
        ),
        (
            "SELECT ward FROM patients GROUP BY ward HAVING count(*) > "
            "(SELECT max(cap) + name FROM diseases)",
            "(SELECT max(cap) + name FROM diseases)",
            None,
        ),
    ],
)
def test_the_place_is_told(query: str, place: str, fix: str | None) -> None:
    with pytest.raises(ProbeError, match="cannot run") as raised:
        explain_only(query, load_policy(POLICY))
    error = raised.value
    assert error.span is not None
    assert query[error.span.start : error.span.end] == place
    assert fix is None or error.fix == fix
    assert "^" in str(error)
