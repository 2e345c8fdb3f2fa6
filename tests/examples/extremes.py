"""A database of the most awkward values of every type, with groups for every neighbouring pair.

Group 0 has no row, groups 1..n hold one row each, and the groups after them hold two: so for
every query the change that one row makes can be read off directly.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from tests.examples.sources import build

COLUMNS = {
    "b": "BOOLEAN", "i8": "TINYINT", "i32": "INTEGER", "i64": "BIGINT", "i128": "HUGEINT",
    "u64": "UBIGINT", "d2": "DECIMAL(9,2)", "d18": "DECIMAL(18,6)", "d38": "DECIMAL(38,10)",
    "f": "FLOAT", "x": "DOUBLE", "s": "VARCHAR", "word": "VARCHAR", "day": "DATE",
    "ts": "TIMESTAMP", "tsec": "TIMESTAMP_S", "tsn": "TIMESTAMP_NS",
}  # fmt: skip
VALUES: dict[str, list[str]] = {
    "b": ["true", "false", "NULL"],
    "i8": ["-128", "127", "0", "-1", "NULL"],
    "i32": ["-2147483648", "2147483647", "0", "-1", "7", "NULL"],
    "i64": ["-9223372036854775808", "9223372036854775807", "0", "-1", "1", "NULL"],
    "i128": ["'-170141183460469231731687303715884105728'",
             "'170141183460469231731687303715884105727'", "0", "-1", "NULL"],
    "u64": ["'18446744073709551615'", "0", "1", "NULL"],
    "d2": ["-9999999.99", "9999999.99", "0", "0.01", "-0.01", "NULL"],
    "d18": ["-999999999999.999999", "999999999999.999999", "0", "0.000001", "NULL"],
    "d38": ["'-9999999999999999999999999999.9999999999'",
            "'9999999999999999999999999999.9999999999'", "0", "0.0000000001", "NULL"],
    "f": ["'nan'", "'inf'", "'-inf'", "3.4028235e38", "-3.4028235e38", "1e-45", "0", "NULL"],
    "x": ["'nan'", "'inf'", "'-inf'", "1.7976931348623157e308", "-1.7976931348623157e308",
          "5e-324", "'-0.0'", "0.5", "NULL"],
    "s": ["''", "'x'", "repeat('x', 300)", "'12'", "'-7.5e3'", "'NaN'", "'2020-02-30'",
          "'ẞß😀'", "chr(1)", "'%_\\'", "NULL"],
    "word": ["'a'", "'A'", "''", "'é'", "NULL"],
    "day": ["'5877642-06-25 (BC)'", "'5881580-07-10'", "'infinity'", "'-infinity'",
            "'2020-02-29'", "'0001-01-01'", "NULL"],
    "ts": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'", "'infinity'",
           "'-infinity'", "'2020-02-29 23:59:59.999999'", "NULL"],
    "tsec": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'", "'infinity'",
             "'2020-02-29 23:59:59'", "NULL"],
    "tsn": ["'1677-09-22 00:00:00'", "'2262-04-11 23:47:16.854775806'", "'infinity'",
            "'2020-02-29 23:59:59.999999999'", "NULL"],
}  # fmt: skip
ROWS = 24
AROUND = "SELECT rows.g FROM rows {} GROUP BY rows.g HAVING {}"

POLICY = """
[budget]
epsilon = 1e6
per_query = 900.0
[defaults]
algorithm = "apex"
u = 0.001
fnr = 0.05
[tables.rows]
rows_per_group = 2
[tables.rows.columns]
g = {{ keys = {{ integers = [0, {last}] }} }}
b = {{}}
i8 = {{ bounds = [-128, 127] }}
i32 = {{ bounds = [-1000, 1000] }}
i64 = {{ bounds = [-1000000, 5] }}
i128 = {{ bounds = [0, 100000] }}
u64 = {{ bounds = [0, 10000] }}
d2 = {{ bounds = [-500, 1000.5] }}
d18 = {{ bounds = [-20, 20.25] }}
d38 = {{ bounds = [-3, 90] }}
f = {{ bounds = [-8, 8] }}
x = {{ bounds = [-100, 900] }}
s = {{}}
word = {{ keys = ["a", "A", "", "é"] }}
day = {{ keys = {{ dates = ["2020-02-01", "2020-03-10"] }} }}
ts = {{ keys = {{ dates = ["2020-02-01", "2020-03-10"] }} }}
tsec = {{}}
tsn = {{}}
[public.caps]
key = ["g"]
[public.caps.columns]
g = "INTEGER"
cap = {{ type = "INTEGER", bounds = [-50, 50] }}
rate = {{ type = "DECIMAL(9,4)", bounds = [0, 2] }}
frac = "DOUBLE"
[public.days]
key = ["at"]
columns = {{ at = "TIMESTAMP", load = "INTEGER" }}
[public.wide]
key = ["n"]
columns = {{ n = "DECIMAL(38,10)", load = "INTEGER" }}
[public.words]
key = ["w"]
columns = {{ w = "VARCHAR", load = "INTEGER" }}
"""


def groups() -> list[tuple[int, ...]]:
    """The rows of each group, by group number."""
    singles = [(row,) for row in range(ROWS)]
    return [(), *singles, *combinations(range(ROWS), 2)]


def neighbours() -> list[tuple[int, int]]:
    """Pairs of groups that differ in one row: the smaller first."""
    number = {members: index for index, members in enumerate(groups())}
    pairs = []
    for members, index in number.items():
        for row in members:
            rest = tuple(other for other in members if other != row)
            pairs.append((number[rest], index))
    return pairs


def make(folder: Path) -> tuple[Path, Path]:
    """Create the database and its policy; returns their paths."""
    rows = [
        "(" + ", ".join(values[row % len(values)] for values in VALUES.values()) + ")"
        for row in range(ROWS)
    ]
    typed = ", ".join(f"{name} {type_}" for name, type_ in COLUMNS.items())
    points = ", ".join(
        f"({group}, {row})" for group, members in enumerate(groups()) for row in members
    )
    casts = ", ".join(f"CAST(r.{name} AS {type_}) AS {name}" for name, type_ in COLUMNS.items())
    last = len(groups()) - 1
    statements = [
        f"CREATE TABLE pool (id INTEGER, {typed})",
        *(f"INSERT INTO pool VALUES ({n}, {row[1:]}" for n, row in enumerate(rows)),
        f"CREATE TABLE rows AS SELECT p.g::INTEGER AS g, {casts} FROM (VALUES {points}) p(g, id) "
        "JOIN pool r ON r.id = p.id",
        # The same for all groups: what differs between two groups is then their rows alone.
        f"CREATE TABLE caps AS SELECT i::INTEGER AS g, -37 AS cap, 1.2501::DECIMAL(9,4) AS rate, "
        f"-3.125::DOUBLE AS frac FROM range({last + 1}) r(i)",
        "CREATE TABLE days AS SELECT TIMESTAMP '2020-02-29 00:00:00' AS at, 1 AS load",
        "CREATE TABLE wide AS SELECT 0::DECIMAL(38,10) AS n, 1 AS load",
        "CREATE TABLE words AS SELECT w, 1 AS load FROM (VALUES ('a'), ('é')) v(w)",
        "DROP TABLE pool",
    ]
    policy = folder / "extremes.toml"
    policy.write_text(POLICY.format(last=last))
    return build(folder / "extremes.duckdb", statements), policy
