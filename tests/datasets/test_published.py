"""Loaders of published files: names and formats as their publishers have them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from datasets import nytaxi, sales, uci
from datasets.common import DataMissing

YELLOW = (
    "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,trip_distance,RatecodeID,"
    "store_and_fwd_flag,PULocationID,DOLocationID,payment_type,fare_amount,extra,mta_tax,"
    "tip_amount,tolls_amount,improvement_surcharge,total_amount,congestion_surcharge\n"
    "1,2020-03-01 00:31:13,2020-03-01 01:01:42,1,4.70,1,N,88,255,1,22,3,0.5,2,0,0.3,27.8,2.5\n"
    ",2020-03-02 08:00:00,2020-03-02 08:10:00,,1.1,,,132,140,,-7.5,0,0.5,0,0,0.3,-8.3,\n"
)

TURKISH = (
    "ID;ITEMCODE;ITEMNAME;FICHENO;DATE_;AMOUNT;PRICE;LINENETTOTAL;LINENET;BRANCHNR;BRANCH;SALESMAN;"
    "CITY;REGION;LATITUDE;LONGITUDE;CLIENTCODE;CLIENTNAME;BRANDCODE;BRAND;CATEGORY_NAME1;"
    "CATEGORY_NAME2;CATEGORY_NAME3;STARTDATE;ENDDATE;GENDER\n"
    "1;12;TAHIN;F1;2017-01-02 00:00:00.000;2;4,5;9,0;8,33;7;Edirne;ALI;Edirne;Marmara;41,67;26,55;"
    "318;AYSE;B1;M1;GIDA;KAHVALTI;HELVA;2017-01-02 10:15:02.000;2017-01-02 10:16:00.000;K\n"
    "2;13;SUT;F2;2017-01-03 00:00:00.000;1;3,25;3,25;3,0;8;Izmir;ALI;\u0130zmir;Ege;38,4;27,1;"
    "319;CAN;B2;M2;GIDA;SUT;UHT;2017-01-03 10:15:02.000;2017-01-03 10:16:00.000;E\n"
)


def rows(database: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        found: list[tuple[object, ...]] = connection.execute(sql).fetchall()
        return found


def test_yellow_csv(tmp_path: Path) -> None:
    (tmp_path / "yellow_tripdata_2020-03.csv").write_text(YELLOW, encoding="utf-8")
    (tmp_path / "taxi+_zone_lookup.csv").write_text(
        '"LocationID","Borough","Zone","service_zone"\n88,"Manhattan","Financial","Yellow Zone"\n',
        encoding="utf-8",
    )
    database = tmp_path / "taxi.duckdb"
    nytaxi.load_published(tmp_path, database)
    assert rows(database, "SELECT pu_location_id, payment_type, fare_amount FROM trips") == [
        (88, 1, 22.0),
        (132, None, -7.5),
    ]
    assert len(rows(database, "DESCRIBE trips")) == 17
    assert rows(database, "SELECT location_id FROM zones ORDER BY 1") == [(88,), (132,)]
    assert rows(database, "FROM zone_names") == [(88, "Manhattan", "Financial")]


def test_green_parquet(tmp_path: Path) -> None:
    header, *_ = YELLOW.splitlines()
    green = header.replace("tpep", "lpep") + ",ehail_fee,trip_type"
    (tmp_path / "g.csv").write_text(f"{green}\n{YELLOW.splitlines()[1]},,1\n", encoding="utf-8")
    file = tmp_path / "green_tripdata_2020-03.parquet"
    duckdb.execute(f"COPY (FROM read_csv('{tmp_path / 'g.csv'}')) TO '{file}'")
    database = tmp_path / "taxi.duckdb"
    nytaxi.load_published(file, database)
    found = rows(database, "SELECT date_trunc('day', pickup_datetime)::VARCHAR FROM trips")
    assert found == [("2020-03-01 00:00:00",)]


def test_turkish_market_sales(tmp_path: Path) -> None:
    file = tmp_path / "MarketSales.csv"
    file.write_text(TURKISH, encoding="utf-8")
    database = tmp_path / "sales.duckdb"
    sales.load_published(file, database)
    assert len(rows(database, "DESCRIBE sales")) == 26
    assert rows(
        database,
        "SELECT market, region, period::VARCHAR, quantity, line_total, customer_id, category"
        " FROM sales ORDER BY id",
    ) == [
        ("Edirne", "MARMARA", "2017-01-02", 2, 9.0, "318", "KAHVALTI"),
        ("\u0130zmir", "EGE", "2017-01-03", 1, 3.25, "319", "SUT"),
    ]
    assert rows(database, "FROM markets") == [("Edirne",)]  # three regions are left out
    assert rows(database, "SELECT count(*) FROM periods") == [(14,)]


def test_campus_log_in_the_papers_spelling(tmp_path: Path) -> None:
    file = tmp_path / "campus.csv"
    file.write_text(
        "userId,roomId,day,age,gender,groupName,userType,office\n"
        "1,2065,0,0-35,F,faculty,student,DBH 1\n2,2065,13,35-55,M,staff,visitor,\n",
        encoding="utf-8",
    )
    database = tmp_path / "uci.duckdb"
    uci.load_published(file, database)
    assert rows(database, "SELECT room, day, user_type, office FROM visits ORDER BY day") == [
        (2065, 0, "student", "DBH 1"),
        (2065, 13, "visitor", None),
    ]
    assert len(rows(database, "DESCRIBE visits")) == 18
    assert rows(database, "FROM rooms") == [(2065,)]


def test_a_file_without_a_needed_column_is_named(tmp_path: Path) -> None:
    file = tmp_path / "campus.csv"
    file.write_text("userId,day\n1,0\n", encoding="utf-8")
    with pytest.raises(DataMissing, match="room"):
        uci.load_published(file, tmp_path / "uci.duckdb")
    assert not (tmp_path / "uci.duckdb").exists()


def test_a_path_without_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="nowhere"):
        sales.load_published(tmp_path / "nowhere", tmp_path / "sales.duckdb")
