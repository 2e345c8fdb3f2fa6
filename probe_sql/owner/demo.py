"""The demo: a small synthetic clinic, the same on every machine, and its policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from probe_sql.vault.duckdb_source import write_database

DEMO_VALUES = """\
SELECT ward, count(*) AS patients, avg(age) AS age
FROM patients
GROUP BY ward
WITH ACCURACY (epsilon = 0.1);
"""
DEMO_QUERY = """\
SELECT disease, count(*) AS cases
FROM patients
WHERE disease_type = 'viral'
GROUP BY disease
HAVING (count(*) > 500 AND avg(age) > 65) OR (count(*) > 200 AND avg(age) < 5)
WITH ACCURACY (fnr = 0.05, fdr = 0.10, epsilon = 1.0);
"""
DEMO_SAME = DEMO_QUERY.replace("fdr", "fpr")
DEMO_PAPER = DEMO_QUERY.replace("fdr = 0.10", "fpr = 0.10, algorithm = 'probe'")
POLICY = """\
[budget]
epsilon = 10.0                     # whole database, for ever
per_query = 1.0                    # default epsilon of a query
[budget.analysts]
maria = 4.0
noor = 4.0

[defaults]
fnr = 0.05
fdr = 0.10

[tables.patients]
unit = "row"                       # nobody is admitted twice
rows_per_group = 2000              # public guess of a group's size: steers utility only

[tables.patients.columns]
disease = { keys = { table = "diseases", column = "name" } }
disease_type = {}                  # usable in WHERE
admitted = { keys = { dates = ["2020-03-01", "2020-03-14"] } }
ward = { keys = ["A", "B", "C", "D"] }
gender = { keys = ["F", "M"] }
age = { bounds = [0, 120] }
cost = { bounds = [0, 10000], scale = 2 }

[public.diseases]                  # exact, joinable
key = ["name"]
"""
# name, type, cases, lowest age, highest age (ages in between are spread evenly)
DISEASES = (
    ("influenza", "viral", 9400, 60, 94),
    ("shingles", "viral", 6100, 58, 95),
    ("viral pneumonia", "viral", 5300, 62, 98),
    ("bronchiolitis", "viral", 6800, 0, 2),
    ("croup", "viral", 4700, 0, 4),
    ("rotavirus", "viral", 5900, 0, 3),
    ("hand, foot and mouth", "viral", 4200, 0, 4),
    ("roseola", "viral", 6, 0, 2),
    ("chickenpox", "viral", 7300, 3, 29),
    ("measles", "viral", 12, 1, 30),
    ("mumps", "viral", 9, 4, 40),
    ("rubella", "viral", 4, 3, 35),
    ("common cold", "viral", 15200, 2, 84),
    ("norovirus", "viral", 8100, 3, 88),
    ("mononucleosis", "viral", 4800, 14, 31),
    ("hepatitis A", "viral", 3100, 18, 66),
    ("hepatitis B", "viral", 3300, 22, 70),
    ("dengue", "viral", 7, 16, 70),
    ("tick-borne encephalitis", "viral", 5, 30, 78),
    ("rabies", "viral", 0, 20, 60),
    ("tuberculosis", "bacterial", 1260, 24, 80),
    ("whooping cough", "bacterial", 2540, 0, 12),
    ("scarlet fever", "bacterial", 3610, 3, 13),
    ("tetanus", "bacterial", 15, 40, 85),
    ("Lyme disease", "bacterial", 2900, 12, 78),
    ("malaria", "parasitic", 120, 18, 66),
    ("scabies", "parasitic", 1430, 6, 80),
    ("candidiasis", "fungal", 1380, 17, 79),
)

# Whole numbers and multipliers that share no factor with the divisors: every DuckDB computes
# the same rows, which its own random() would not promise.
_PATIENTS = """
CREATE TABLE patients AS
SELECT
    d.number * 100000 + i.i AS patient_id,
    CAST(d.low + ((i.i * 7919 + d.number * 104729) % 10007) * (d.high - d.low + 1) // 10007
        AS INTEGER) AS age,
    CASE WHEN (i.i * 31 + d.number) % 97 < 49 THEN 'F' ELSE 'M' END AS gender,
    d.name AS disease,
    d.type AS disease_type,
    substr('ABCD', CAST((i.i * 13 + d.number * 7) % 4 AS INTEGER) + 1, 1) AS ward,
    DATE '2020-03-01' + CAST((i.i * 17 + d.number * 5) % 14 AS INTEGER) AS admitted,
    CAST(40 + ((i.i * 6101 + d.number * 1009) % 99991) / 25 AS DECIMAL(8, 2)) AS cost
FROM spec AS d, range(d.cases) AS i(i)
ORDER BY patient_id
"""


@dataclass(frozen=True, slots=True)
class Demo:
    """Where the demo lies. `truth` is what `DEMO_QUERY` would list without noise.

    Privacy: it follows from the numbers above, of which the clinic is invented, and is known only
    to the process that has just built it. A database that was there already may be anything.
    """

    database: Path
    policy: Path
    truth: tuple[str, ...] | None = None


def build_demo(folder: Path) -> Demo:
    """Write clinic.duckdb and clinic.toml into `folder`; what is there already stays.

    Privacy: a database that exists is kept, with its ledger, so that running the demo again
    spends from the same budget, as it would in earnest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    demo = Demo(folder / "clinic.duckdb", folder / "clinic.toml")
    if not demo.database.exists():
        write_database(demo.database, _clinic())
        demo = replace(demo, truth=_truth())
    if not demo.policy.exists():
        demo.policy.write_text(POLICY, encoding="utf-8")
    return demo


def _clinic() -> tuple[str, ...]:
    """The statements that make the clinic's tables."""
    rows = ", ".join(str((number, *disease)) for number, disease in enumerate(DISEASES, start=1))
    return (
        "CREATE TEMP TABLE spec "
        "(number INTEGER, name VARCHAR, type VARCHAR, cases INTEGER, low INTEGER, high INTEGER)",
        f"INSERT INTO spec VALUES {rows}",
        _PATIENTS,
        "CREATE TABLE diseases AS SELECT name, type FROM spec ORDER BY number",
    )


def _truth() -> tuple[str, ...]:
    """The diseases that satisfy the condition of `DEMO_QUERY`, from the invented ages."""
    found = []
    for number, (name, kind, cases, low, high) in enumerate(DISEASES, start=1):
        ages = sum(
            low + ((i * 7919 + number * 104729) % 10007) * (high - low + 1) // 10007
            for i in range(cases)
        )
        old, young = ages > 65 * cases, ages < 5 * cases
        if kind == "viral" and ((cases > 500 and old) or (cases > 200 and young)):
            found.append(name)
    return tuple(sorted(found))
