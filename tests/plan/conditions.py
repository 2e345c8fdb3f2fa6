"""HAVING conditions of every kind, each with what DuckDB must say of a group.

`{age}` stands for the column in the engine's text and for its clamped values in DuckDB's.
Where the two texts differ otherwise (the lower median, division by zero), both are given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of HAVING, and its twin for DuckDB over clamped values."""

    text: str
    twin: str = ""

    @property
    def engine(self) -> str:
        return self.text.format(**{name: name for name in CLAMPED})

    @property
    def duckdb(self) -> str:
        # DuckDB's count_if is NULL where the condition is NULL on every row; a count is 0.
        twin = re.sub(
            r"count_if\(([^()]*)\)", r"count(*) FILTER (WHERE \1)", self.twin or self.text
        )
        # And its x / 0 is infinite or NaN; here it is NULL.
        twin = re.sub(r"/ (count\([^()]*\))", r"/ nullif(\1, 0)", twin)
        return twin.format(**{name: f"c_{name}" for name in CLAMPED})


# Clamped as the policy says; rounded to the grid where the column is a float. A CASE keeps
# NULL, which least and greatest would skip.
CLAMPED = {
    "age": "CASE WHEN age < 0 THEN 0 WHEN age > 120 THEN 120 ELSE age END",
    "zone": "CASE WHEN zone < 0 THEN 0 WHEN zone > 100 THEN 100 ELSE zone END",
    "steps": "CASE WHEN steps < 0 THEN 0 WHEN steps > 1000000 THEN 1000000 ELSE steps END",
    "giant": "CASE WHEN giant < -10 THEN -10 WHEN giant > 10 THEN 10 ELSE giant END",
    "cost": "CASE WHEN cost < 0 THEN 0 WHEN cost > 10000 THEN 10000 ELSE cost END",
    "paid": "CAST(CASE WHEN paid < -500.5 THEN -500.5 WHEN paid > 500.5 THEN 500.5 ELSE paid END "
    "AS DECIMAL(18,4))",
    "weight": "CAST(round(CASE WHEN weight < 0 THEN 0 WHEN weight > 300 THEN 300 ELSE weight END "
    "* 10) AS DECIMAL(18,0)) / CAST(10 AS DECIMAL(2,0))",
    "score": "round(CASE WHEN score < -1 THEN -1 WHEN score > 1 THEN 1 ELSE score END * 524288) "
    "/ 524288",
}

CONDITIONS = tuple(
    Condition(*texts)
    for texts in (
        # counts
        ("count(*) > 2",),
        ("count(*) >= 2.5",),
        ("count(*) < 2",),
        ("count(*) <= 1.5",),
        ("count(*) = 2",),
        ("count(*) <> 2",),
        ("3 > count(*)",),
        ("count(*) BETWEEN 1 AND 2",),
        ("count(*) NOT BETWEEN 1 AND 2",),
        ("count(*) IN (1, 3)",),
        ("NOT count(*) > 1",),
        ("count(age) > 1",),
        ("count(name) <= 1",),
        ("count(*) FILTER (WHERE urgent) > 1",),
        ("count(*) FILTER (WHERE age > 60 OR name IS NULL) < 2",),
        ("count_if(sex = 'F') >= 1",),
        ("count(DISTINCT disease) > 1",),
        ("count(DISTINCT age) FILTER (WHERE urgent) < 2",),
        ("sum(CASE WHEN sex = 'F' THEN 1 END) > 1",),
        ("sum(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) < 2",),
        # sums
        ("sum({age}) > 100",),
        ("sum({age}) >= 65",),
        ("sum({age}) < 100",),
        ("sum({age}) <= 0",),
        ("sum({age}) = 65",),
        ("NOT sum({age}) > 100",),
        ("sum({cost}) > 499.995",),
        ("sum({cost}) <= 500",),
        ("sum({paid}) < -100",),
        ("sum({paid}) >= 0.0001",),
        ("sum({steps}) > 999999",),
        ("sum({giant}) > 2",),
        ("sum({giant}) < -5.5",),
        ("sum({score}) > 0.25",),
        ("sum({score}) <= -1",),
        ("sum({weight}) >= 70.3", "CAST(sum({weight}) AS DECIMAL(18,1)) >= 70.3"),
        ("sum({age}) FILTER (WHERE urgent) > 60",),
        ("coalesce(sum({age}), 0) < 100",),
        ("coalesce(sum({age}), 0) > -1",),
        ("sum(2 * {age} - {zone}) > 100",),
        ("sum(abs({giant}) + length(name)) > 6",),
        ("sum({age} / 8) > 20",),
        ("sum(CASE WHEN urgent THEN {age} ELSE -{zone} END) > 0",),
        ("sum(coalesce({age}, 7)) > 70",),
        ("sum(CAST(urgent AS INTEGER)) > 1",),
        # averages, ratios, linear combinations
        ("avg({age}) > 65",),
        ("avg({age}) >= 65",),
        ("avg({age}) < 40.5",),
        ("avg({age}) <= 40",),
        ("avg({age}) = 65",),
        ("avg({age}) <> 65",),
        ("NOT avg({age}) > 64",),
        ("avg({age}) BETWEEN 30 AND 65",),
        ("avg({cost}) FILTER (WHERE urgent) >= 250.5",),
        ("avg({giant}) < 0",),
        ("avg({score}) > 0.125",),
        ("avg({age}) - 5 > 2 * 30",),
        ("sum({age}) / count(*) > 30",),
        ("sum({age}) / count(*) <= 30",),
        ("sum({age}) / count(age) < 65.5",),
        ("sum({cost}) / sum({age}) > 8", "sum({cost}) / nullif(sum({age}), 0) > 8"),
        ("sum({cost}) / sum({age}) <= 8", "sum({cost}) / nullif(sum({age}), 0) <= 8"),
        ("count_if(urgent) / count(*) > 0.5",),
        ("count_if(urgent) / count(*) <= 0.5",),
        ("count(*) FILTER (WHERE urgent) > 0.25 * count(*)",),
        ("count(*) FILTER (WHERE urgent) < 0.25 * count(*)",),
        (
            "sum({age}) / count(DISTINCT sex) > 40",
            "sum({age}) / nullif(count(DISTINCT sex), 0) > 40",
        ),
        ("sum({age}) > 2 * sum({zone})",),
        ("sum({age}) - sum({zone}) < 60",),
        ("count_if(sex = 'F') - count_if(sex = 'M') > 0",),
        ("count(*) + sum({age}) >= 67",),
        ("2 * count(*) - count(age) > 1",),
        ("count(*) - count(DISTINCT age) > 0",),
        ("(sum({age}) + sum({zone})) / count(*) > 40",),
        ("-sum({age}) > -66",),
        # order statistics read the raw values
        ("max(age) > 65",),
        ("max(age) >= 65",),
        ("max(age) < 65",),
        ("max(age) <= 65",),
        ("max(age) = 65",),
        ("min(age) > 30",),
        ("min(age) >= 30",),
        ("min(age) < 30",),
        ("min(age) <= 30",),
        ("NOT min(age) < 30",),
        ("max(score) > 0.5",),
        ("min(score) >= 0",),
        ("max(weight) < 1000",),
        ("max(admitted) > DATE '2020-03-05'",),
        ("min(seen) < TIMESTAMP '2020-03-02 00:00:00'",),
        ("max(name) >= 'a'",),
        ("max(age) FILTER (WHERE urgent) < 66",),
        ("median(age) > 30", "quantile_disc(age, 0.5) > 30"),
        ("median(age) >= 65", "quantile_disc(age, 0.5) >= 65"),
        ("median(age) < 65", "quantile_disc(age, 0.5) < 65"),
        ("median(age) <= 30", "quantile_disc(age, 0.5) <= 30"),
        ("median(age) = 65", "quantile_disc(age, 0.5) = 65"),
        ("median(cost) BETWEEN 1 AND 500", "quantile_disc(cost, 0.5) BETWEEN 1 AND 500"),
        ("quantile_disc(age, 0.25) > 0", "quantile(age, 0.25) > 0"),
        ("quantile_disc(age, 0.75) <= 65",),
        ("quantile_disc(age, 1) > 65",),
        ("quantile_disc(score, 0.5) FILTER (WHERE urgent) < 1",),
    )
)

# Beside a public value of the group: grouped by disease, joined to `diseases AS d`.
PUBLIC_CONDITIONS = tuple(
    Condition(*texts)
    for texts in (
        ("count(*) > d.cap",),
        ("count(*) <= d.cap",),
        ("count(*) >= 2 * d.cap - 1",),
        ("2 * count(*) > d.rate",),
        ("count(*) < 10 * d.rate",),
        ("100 * d.rate > sum({age})",),
        ("sum({age}) >= 100 * d.rate",),
        ("3 * sum({age}) <= -7 * d.rate + 90",),
        ("sum({age}) > 20 * d.cap + 5",),
        ("sum({cost}) <= 1000 * d.rate",),
        ("avg({age}) > d.cap",),
        ("avg({age}) <= d.cap * 30",),
        ("avg({cost}) > d.rate",),
        ("sum({age}) / count(*) < d.cap",),
        ("max(age) > d.cap",),
        ("max(age) < d.cap",),
        ("min(age) >= d.cap",),
        ("median(age) > d.cap", "quantile_disc(age, 0.5) > d.cap"),
        ("median(age) <= d.cap", "quantile_disc(age, 0.5) <= d.cap"),
        ("count_if(urgent) > d.rate * count(*)",),
        ("min(admitted) > d.since",),
    )
)
