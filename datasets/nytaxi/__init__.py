"""Taxi trips of New York: published by the Taxi and Limousine Commission (TLC), or generated."""

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

TRIPS_FILE = "taxi_green_2020_03.parquet"
ZONES_FILE = "taxi_zone_lookup.parquet"
ZONES = 34

# Canonical name, type, and the spellings of yellow and green files through the years.
_PUBLISHED = {
    "vendor_id": ("TINYINT", ("VendorID", "vendor_id")),
    "pickup_datetime": (
        "TIMESTAMP",
        ("tpep_pickup_datetime", "lpep_pickup_datetime", "pickup_datetime"),
    ),
    "dropoff_datetime": (
        "TIMESTAMP",
        ("tpep_dropoff_datetime", "lpep_dropoff_datetime", "dropoff_datetime"),
    ),
    "passenger_count": ("SMALLINT", ("passenger_count",)),
    "trip_distance": ("DOUBLE", ("trip_distance",)),
    "rate_code_id": ("SMALLINT", ("RatecodeID", "rate_code_id", "ratecode_id")),
    "store_and_fwd_flag": ("VARCHAR", ("store_and_fwd_flag",)),
    "pu_location_id": ("SMALLINT", ("PULocationID", "pu_location_id")),
    "do_location_id": ("SMALLINT", ("DOLocationID", "do_location_id")),
    "payment_type": ("TINYINT", ("payment_type",)),
    "fare_amount": ("DOUBLE", ("fare_amount",)),
    "extra": ("DOUBLE", ("extra",)),
    "mta_tax": ("DOUBLE", ("mta_tax",)),
    "tip_amount": ("DOUBLE", ("tip_amount",)),
    "tolls_amount": ("DOUBLE", ("tolls_amount",)),
    "improvement_surcharge": ("DOUBLE", ("improvement_surcharge",)),
    "total_amount": ("DOUBLE", ("total_amount",)),
}


def load_published(path: Path, database: Path) -> None:
    """Trip records as the TLC publishes them: yellow or green, Parquet or CSV.

    A zone lookup beside the file (`taxi_zone_lookup.csv` or `taxi+_zone_lookup.csv`) gives
    the names of the zones; without one they are just numbers.
    """
    files = [file for file in published_files(path) if "zone" not in file.name]
    with building(database) as connection:
        source = reader(files)
        connection.execute(
            f"CREATE TABLE trips AS SELECT {renamed(connection, source, _PUBLISHED)} FROM {source}"
        )
        lookups = sorted(files[0].parent.glob("taxi*zone_lookup.*"))
        _public(connection, lookups[0] if lookups else None)


def load_standin(data_dir: Path, database: Path) -> None:
    """The green taxis of March 2020, complete."""
    trips, zones = needed(data_dir, TRIPS_FILE), needed(data_dir, ZONES_FILE)
    with building(database) as connection:
        source = reader([trips])
        connection.execute(
            f"CREATE TABLE trips AS SELECT {renamed(connection, source, _PUBLISHED)} FROM {source}"
        )
        _public(connection, zones)


def _public(connection: Connection, lookup: Path | None) -> None:
    """The public tables: the zones that are asked about, and the names of all.

    The busiest 34 zones stand for what everybody knows about a city. An owner would list
    them by hand; here they are counted once, when the benchmark's database is made.
    """
    connection.execute(
        "CREATE TABLE zones AS SELECT pu_location_id AS location_id FROM trips"
        " WHERE pickup_datetime >= DATE '2020-03-01' AND pickup_datetime < DATE '2020-03-15'"
        f" GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {ZONES}"
    )
    if lookup is None:
        connection.execute(
            "CREATE TABLE zone_names AS SELECT CAST(range AS SMALLINT) AS location_id,"
            " 'zone ' || range AS zone FROM range(1, 266)"
        )
        return
    source = reader([lookup])
    names = renamed(
        connection,
        source,
        {
            "location_id": ("SMALLINT", ("LocationID", "location_id")),
            "borough": ("VARCHAR", ("Borough",)),
            "zone": ("VARCHAR", ("Zone", "zone_name")),
        },
        optional=("borough",),
    )
    connection.execute(
        f"CREATE TABLE zone_names AS SELECT DISTINCT ON (location_id) {names} FROM {source}"
        " WHERE location_id IS NOT NULL"
    )


def generate(database: Path, rows: int, seed: int) -> None:
    """Trips of a yellow-taxi month, 17 columns: zones by rank, fares that follow distance.

    Busy zones are busier on some days than on others; the second half of the month is quiet.
    Some rows have no payment data, some a negative fare, some a date outside the month.
    """
    with building(database) as connection:
        random_macros(connection, seed)
        connection.execute(_GENERATE.format(rows=rows))
        _public(connection, None)


_GENERATE = """
CREATE TABLE trips AS
WITH ranks AS (
    SELECT i, zipf(pow(u(i, 1), 0.8), 265) AS pu_rank, u(i, 2) AS when_u, u(i, 3) AS near,
           zipf(pow(u(i, 4), 0.8), 265) AS do_rank, -ln(1 - u(i, 5)) AS stretch, u(i, 6) AS pay,
           u(i, 7) AS odd, u(i, 8) AS kept, u(i, 9) AS tip
    FROM range({rows}) AS r(i)
), places AS (
    SELECT *,
        -- 97 has no factor in common with 265: ranks become zones one to one, the first 162
        ((pu_rank * 97 + 64) % 265 + 1)::SMALLINT AS pu,
        -- a third of the trips are short
        CASE WHEN near < 0.35 THEN (pu_rank * 97 + 64 + floor(near * 15)::INTEGER) % 265 + 1
             ELSE (do_rank * 97 + 64) % 265 + 1 END::SMALLINT AS dropped,
        -- most trips in the first half of the month; each zone has busy days of its own
        CASE WHEN when_u < 0.75
             THEN floor(14 * pow(when_u / 0.75, 1 + 0.1 * (pu_rank % 4)))
             ELSE 14 + floor(17 * (when_u - 0.75) / 0.25) END::INTEGER AS day
    FROM ranks
), rides AS (
    SELECT *,
        round(0.3 + stretch * (1.8 + 0.6 * (pu % 5)), 2) AS distance,
        CASE WHEN odd < 0.0005 THEN TIMESTAMP '2009-01-01'
             WHEN odd < 0.001 THEN TIMESTAMP '2020-06-01'
             ELSE TIMESTAMP '2020-03-01' + to_days(day) END
          + to_seconds((86399 * sqrt(u(i, 10)))::BIGINT) AS picked
    FROM places
), fares AS (
    SELECT *, round((2.5 + 2.6 * distance) * (CASE WHEN odd > 0.997 THEN -1 ELSE 1 END), 2) AS fare
    FROM rides
)
SELECT
    CASE WHEN kept > 0.06 THEN (1 + (near < 0.67)::INTEGER) END::TINYINT AS vendor_id,
    picked AS pickup_datetime,
    picked + to_seconds((distance * 240)::BIGINT + 120) AS dropoff_datetime,
    CASE WHEN kept > 0.06 THEN least(6, zipf(tip, 6)) END::SMALLINT AS passenger_count,
    distance AS trip_distance,
    CASE WHEN kept > 0.06 THEN CASE WHEN distance > 15 THEN 2 ELSE 1 END END::SMALLINT
        AS rate_code_id,
    CASE WHEN kept > 0.06 THEN CASE WHEN pay > 0.99 THEN 'Y' ELSE 'N' END END
        AS store_and_fwd_flag,
    pu AS pu_location_id,
    dropped AS do_location_id,
    -- long trips are paid by card more often
    CASE WHEN kept > 0.06
         THEN CASE WHEN pay < least(0.9, 0.55 + 0.03 * distance) THEN 1
                   WHEN pay < 0.97 THEN 2 ELSE 3 END END::TINYINT AS payment_type,
    fare AS fare_amount,
    CASE WHEN extract(hour FROM picked) >= 20 THEN 0.5 ELSE 0 END::DOUBLE AS extra,
    sign(fare) * 0.5 AS mta_tax,
    CASE WHEN pay < 0.55 AND fare > 0 THEN round(fare * 0.3 * tip, 2) ELSE 0 END AS tip_amount,
    CASE WHEN distance > 12 THEN 6.12 ELSE 0 END::DOUBLE AS tolls_amount,
    sign(fare) * 0.3 AS improvement_surcharge,
    round(fare + sign(fare) * 0.8
          + CASE WHEN pay < 0.55 AND fare > 0 THEN fare * 0.3 * tip ELSE 0 END
          + CASE WHEN distance > 12 THEN 6.12 ELSE 0 END, 2) AS total_amount
FROM fares
"""

_DAY = "date_trunc('day', pickup_datetime)"

DATASET = Dataset(
    name="nytaxi",
    table="trips",
    keys=("pu_location_id", _DAY),
    domain=(
        "SELECT location_id AS k0, day AS k1 FROM zones,"
        " generate_series(TIMESTAMP '2020-03-01', TIMESTAMP '2020-03-14', INTERVAL 1 DAY)"
        " AS days(day)"
    ),
    counts=(
        Aggregate("trips", "count(*)"),
        Aggregate("to area 20", "count(*) FILTER (WHERE do_location_id // 8 = 20)"),
        Aggregate("by card", "count(*) FILTER (WHERE payment_type = 1)"),
        Aggregate("sent at once", "count(*) FILTER (WHERE store_and_fwd_flag = 'N')"),
        Aggregate("fare > 10", "count(*) FILTER (WHERE fare_amount > 10)"),
        Aggregate("total > 30", "count(*) FILTER (WHERE total_amount > 30)"),
    ),
    groups=(ZONES, 14),
    rows=3_000_000,
    columns=17,
    load_published=load_published,
    load_standin=load_standin,
    generate=generate,
    standin_files=(TRIPS_FILE, ZONES_FILE),
)
