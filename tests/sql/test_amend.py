"""Options are written into a query's clause, and nothing else of its text changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.errors import ProbeError
from probe_sql.sql.amend import amended
from probe_sql.sql.shown import short_question
from probe_sql.sql.text import read

QUERY = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (QUERY, f"{QUERY}\nWITH ACCURACY (epsilon = 0.2)"),
        (f"{QUERY};", f"{QUERY}\nWITH ACCURACY (epsilon = 0.2);"),
        (f"{QUERY} -- end", f"{QUERY}\nWITH ACCURACY (epsilon = 0.2) -- end"),
        (f"{QUERY} WITH ACCURACY ()", f"{QUERY} WITH ACCURACY (epsilon = 0.2)"),
        (f"{QUERY} with accuracy (fnr = 0.1)", f"{QUERY} with accuracy (fnr = 0.1, epsilon = 0.2)"),
        (f"{QUERY} WITH ACCURACY (epsilon=1, fnr = 0.1)",
         f"{QUERY} WITH ACCURACY (epsilon = 0.2, fnr = 0.1)"),
        ("SELECT 'WITH ACCURACY (epsilon = 1)' AS t",
         "SELECT 'WITH ACCURACY (epsilon = 1)' AS t\nWITH ACCURACY (epsilon = 0.2)"),
    ],
)  # fmt: skip
def test_an_option_is_changed_or_added(sql: str, expected: str) -> None:
    assert amended(sql, {"epsilon": 0.2}) == expected


@given(st.floats(1e-6, 1e5), st.floats(1e-6, 0.49))
def test_what_is_written_is_read_back(epsilon: float, fnr: float) -> None:
    sql = amended(amended(QUERY, {"epsilon": epsilon}), {"fnr": fnr, "on_exhausted": "mark"})
    said = read(sql).options
    assert said["epsilon"] == pytest.approx(epsilon, rel=1e-5)
    assert said["fnr"] == pytest.approx(fnr, rel=1e-5)
    assert said["on_exhausted"] == "mark"


@pytest.mark.parametrize("sql", ["", ";", "SELECT 'x", f"{QUERY} WITH ACCURACY (", "-- nothing"])
def test_what_cannot_be_read_is_an_error(sql: str) -> None:
    with pytest.raises(ProbeError):
        amended(sql, {"epsilon": 0.2})


def test_an_option_that_is_none_is_an_error() -> None:
    with pytest.raises(ProbeError, match="out of range"):
        amended(QUERY, {"epsilon": -1.0})


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (QUERY, "ward HAVING count(*) > 5"),
        (f"select  ward,\n a from t -- x\n where b = 'c' group by ward, a {''};",
         "ward, a WHERE b = 'c'"),
        (f"{QUERY} ORDER BY 1 LIMIT 3 WITH ACCURACY (fnr = 0.1)",
         "ward HAVING count(*) > 5 ORDER BY 1 LIMIT 3"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "WITH a AS (SELECT 1) SELECT * FROM a"),
        ("SELECT (SELECT 1 FROM t GROUP BY 1) AS x", "SELECT (SELECT 1 FROM t GROUP BY 1) AS x"),
        ("SELECT f(a, 1) AS x, b, count(*) FROM t GROUP BY 1, 2, c HAVING count(*) > 1",
         "f(a, 1), b, c HAVING count(*) > 1"),
        (f"SELECT a FROM t GROUP BY 2, {9 * '9'}, {5000 * '9'}", f"2, {9 * '9'}, {5000 * '9'}"),
        ("it's", "it's"),
    ],
)  # fmt: skip
def test_a_question_in_short(sql: str, expected: str) -> None:
    assert short_question(sql) == expected


@given(st.text())
def test_any_text_has_a_short_form_on_one_line(text: str) -> None:
    assert "\n" not in short_question(text)
