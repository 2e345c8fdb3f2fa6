"""The demo: a small synthetic clinic, the same on every machine, and its policy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from probe_sql.vault.clinic import build_clinic

DEMO_QUERY = """\
SELECT disease, count(*) AS cases
FROM patients
WHERE disease_type = 'viral'
GROUP BY disease
HAVING (count(*) > 500 AND avg(age) > 65) OR (count(*) > 200 AND avg(age) < 5)
WITH ACCURACY (fnr = 0.05, fpr = 0.10, epsilon = 1.0);
"""
POLICY = """\
[budget]
epsilon = 10.0                     # whole database, for ever
per_query = 1.0                    # default epsilon of a query
[budget.analysts]
maria = 4.0
noor = 4.0

[defaults]
fnr = 0.05
fpr = 0.10

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


@dataclass(frozen=True, slots=True)
class Demo:
    """Where the demo lies."""

    database: Path
    policy: Path


def build_demo(folder: Path) -> Demo:
    """Write clinic.duckdb and clinic.toml into `folder`; what is there already stays.

    Privacy: a database that exists is kept, with its ledger, so that running the demo again
    spends from the same budget, as it would in earnest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    demo = Demo(folder / "clinic.duckdb", folder / "clinic.toml")
    if not demo.database.exists():
        build_clinic(demo.database)
    if not demo.policy.exists():
        demo.policy.write_text(POLICY, encoding="utf-8")
    return demo
