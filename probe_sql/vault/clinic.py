"""A synthetic clinic for the demo: invented people, the same rows on every machine."""

from __future__ import annotations

from pathlib import Path

import duckdb

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


def build_clinic(path: Path) -> None:
    """Write the database; the file must not exist yet."""
    connection = duckdb.connect(path)
    try:
        connection.execute(
            "CREATE TEMP TABLE spec "
            "(number INTEGER, name VARCHAR, type VARCHAR, cases INTEGER, low INTEGER, high INTEGER)"
        )
        rows = [(number, *disease) for number, disease in enumerate(DISEASES, start=1)]
        connection.executemany("INSERT INTO spec VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.execute(_PATIENTS)
        connection.execute("CREATE TABLE diseases AS SELECT name, type FROM spec ORDER BY number")
    finally:
        connection.close()
