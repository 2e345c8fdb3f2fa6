"""Campus visits: a log in the schema below, a virtual campus, or generated rows."""

from __future__ import annotations

from pathlib import Path

from datasets.common import (
    Aggregate,
    Connection,
    Dataset,
    building,
    needed,
    published_files,
    random_macros,
    reader,
    renamed,
)

VISITS_FILE = "campus_oulad_vle_2013J_2014B.parquet"
ROOMS = 41
DAYS = 14

# The campus log of the paper was never published. This is the schema in which such a log can
# be read: canonical name, type, and the spellings of the paper's Table 1 and of the stand-in.
SCHEMA = {
    "person_id": ("BIGINT", ("person_id", "userId", "student_id")),
    "building": ("VARCHAR", ("building", "code_module")),
    "term": ("VARCHAR", ("term", "code_presentation")),
    "room": ("BIGINT", ("room", "roomId", "site_id")),
    "room_type": ("VARCHAR", ("room_type", "roomType", "activity_type")),
    "day": ("INTEGER", ("day", "day_offset")),
    "visit_date": ("DATE", ("visit_date", "date")),
    "events": ("INTEGER", ("events", "sum_click")),
    "gender": ("VARCHAR", ("gender",)),
    "age_band": ("VARCHAR", ("age_band", "age")),
    "group_name": ("VARCHAR", ("group_name", "groupName", "region")),
    "user_type": ("VARCHAR", ("user_type", "userType", "highest_education")),
    "office": ("VARCHAR", ("office", "imd_band")),
    "disability": ("VARCHAR", ("disability",)),
    "attempts": ("TINYINT", ("attempts", "num_of_prev_attempts")),
    "credits": ("SMALLINT", ("credits", "studied_credits")),
    "result": ("VARCHAR", ("result", "final_result")),
    "registered": ("SMALLINT", ("registered", "registration_day")),
}
_NEEDED = ("person_id", "room", "day", "gender", "age_band", "group_name", "user_type", "office")


def load_published(path: Path, database: Path) -> None:
    """A campus log, Parquet or CSV, with the columns of `SCHEMA`; those not used may be absent.

    `day` counts from the first day of the term.
    """
    with building(database) as connection:
        _visits(connection, reader(published_files(path)))


def load_standin(data_dir: Path, database: Path) -> None:
    """Open University learners: a virtual campus, where a room is a page of a course."""
    with building(database) as connection:
        _visits(connection, reader([needed(data_dir, VISITS_FILE)]))


def _visits(connection: Connection, source: str) -> None:
    names = renamed(connection, source, SCHEMA, optional=set(SCHEMA) - set(_NEEDED))
    connection.execute(f"CREATE TABLE visits AS SELECT {names} FROM {source}")
    _rooms(connection)


def _rooms(connection: Connection) -> None:
    """The public rooms: the busiest 41 stand for the floor plan that everybody has."""
    connection.execute(
        "CREATE TABLE rooms AS SELECT room FROM visits WHERE room IS NOT NULL"
        f" GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {ROOMS}"
    )


def generate(database: Path, rows: int, seed: int) -> None:
    """Visits of 14,000 people to 3,000 rooms, 18 columns; the first days are the busiest.

    Age, gender and the like belong to the person, so filters are correlated, and some people
    come thousands of times. Some rows have no office; days go from -23 to 268.
    """
    with building(database) as connection:
        random_macros(connection, seed)
        connection.execute(_GENERATE.format(rows=rows))
        _rooms(connection)


_GENERATE = """
CREATE TABLE visits AS
WITH raw AS (
    SELECT i, zipf(pow(u(i, 1), 0.7), 14000) AS person, zipf(pow(u(i, 2), 0.85), 3000) AS place,
           u(i, 3) AS when_u, u(i, 4) AS burst
    FROM range({rows}) AS r(i)
), visits AS (
    SELECT *, u(person, 5) AS years, u(person, 6) AS sex, u(person, 7) AS kind,
        u(person, 8) AS team, u(person, 9) AS desk,
        CASE WHEN when_u < 0.04 THEN -1 - floor(23 * pow(when_u / 0.04, 2))
             ELSE floor(269 * pow((when_u - 0.04) / 0.96, 1.3 + 0.2 * (place % 4))) END::INTEGER
            AS since
    FROM raw
)
SELECT
    (10000 + person)::BIGINT AS person_id,
    chr(65 + place % 24) AS building,
    CASE WHEN person % 2 = 0 THEN 'spring' ELSE 'autumn' END AS term,
    (500000 + (place * 1009) % 3001)::BIGINT AS room,
    'type ' || (place % 18) AS room_type,
    since AS day,
    DATE '2019-04-01' + since AS visit_date,
    zipf(pow(burst, 1.5), 200) AS events,
    CASE WHEN sex < 0.62 THEN 'M' ELSE 'F' END AS gender,
    CASE WHEN years < 0.66 THEN '0-35' WHEN years < 0.98 THEN '35-55' ELSE '55<=' END AS age_band,
    CASE WHEN team < 0.11 THEN 'Scotland' WHEN team < 0.2 THEN 'London Region'
         ELSE 'group ' || floor(team * 12)::INTEGER END AS group_name,
    -- the young are beginners more often
    CASE WHEN kind < 0.6 - 0.3 * years THEN 'A Level or Equivalent'
         WHEN kind < 0.85 THEN 'Lower Than A Level' ELSE 'HE Qualification' END AS user_type,
    CASE WHEN desk < 0.05 THEN NULL WHEN desk < 0.15 THEN '0-10%' WHEN desk < 0.25 THEN '10-20'
         WHEN desk < 0.35 THEN '20-30%' ELSE '30-100%' END AS office,
    CASE WHEN u(person, 10) < 0.09 THEN 'Y' ELSE 'N' END AS disability,
    greatest(0, zipf(u(person, 11), 7) - 3)::TINYINT AS attempts,
    (30 * zipf(u(person, 12), 8))::SMALLINT AS credits,
    CASE WHEN u(person, 13) < 0.6 THEN 'Pass' ELSE 'Fail' END AS result,
    CASE WHEN u(person, 14) > 0.001 THEN -floor(120 * u(person, 15)) END::SMALLINT AS registered
FROM visits
"""

DATASET = Dataset(
    name="uci",
    table="visits",
    keys=("room", "day"),
    domain=f"SELECT room AS k0, range AS k1 FROM rooms, range({DAYS})",
    counts=(
        Aggregate("visits", "count(*)"),
        Aggregate("age up to 35", "count(*) FILTER (WHERE age_band = '0-35')"),
        Aggregate("user type", "count(*) FILTER (WHERE user_type = 'A Level or Equivalent')"),
        Aggregate("men", "count(*) FILTER (WHERE gender = 'M')"),
        Aggregate("group", "count(*) FILTER (WHERE group_name IN ('Scotland', 'London Region'))"),
        Aggregate("office", "count(*) FILTER (WHERE office IN ('0-10%', '10-20', '20-30%'))"),
    ),
    groups=(ROOMS, DAYS),
    rows=5_000_000,
    columns=18,
    load_published=load_published,
    load_standin=load_standin,
    generate=generate,
    standin_files=(VISITS_FILE,),
)
