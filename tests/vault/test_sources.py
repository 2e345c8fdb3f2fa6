"""Opening: what is recognised, what is refused, and that rows decide neither."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from probe_sql.errors import InterfaceError, OperationalError, PolicyError
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.sources import Database, Files, classify
from tests.examples import awkward
from tests.examples.policies import one_table

ONE = one_table(
    "trips",
    {
        "zone": 'keys = { table = "zones", column = "id" }',
        "fare": "bounds = [0, 100], scale = 2",
        "day": 'keys = { dates = ["2020-01-01", "2020-01-02"] }',
        "word": "",
    },
    epsilon=1,
    more="""
[public.zones]
key = ["id"]
path = "zones.csv"
""",
)
SQL = "SELECT zone FROM trips GROUP BY zone HAVING count(*) > 1 AND sum(fare) > 2"


def rules(folder: Path) -> Policy:
    (folder / "zones.csv").write_text("id,name\n1,north\n2,south\n3,east\n")
    return parse_policy(ONE, source=str(folder / "taxi.toml"))


def measured(source: Any, policy: Policy) -> list[list[int]]:
    backend = open_backend(source, policy)
    found = awkward.values(backend.measure(awkward.planned(backend, SQL, policy).scan))
    backend.close()
    return found


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_single_file_is_the_private_table_and_public_files_lie_beside_the_policy(
    tmp_path: Path,
) -> None:
    text = "zone,fare,day,word\n1,2.50,2020-01-01,a\n1,300,2020-01-02,b\n9,1,,c\n"
    policy = rules(tmp_path)
    assert measured(write(tmp_path / "any name.csv", text), policy) == [[2, 0, 0], [10250, 0, 0]]
    frame = pd.DataFrame(
        {
            "zone": [1, 1, 9],
            "fare": pd.Series(["2.50", "300", 1], dtype=object),
            "day": pd.Series(["2020-01-01", "2020-01-02", None], dtype=object),
            "word": ["a", "b", "c"],
        }
    )
    assert measured(frame, policy) == [[2, 0, 0], [10250, 0, 0]]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_comes_from_the_first_line(delimiter: str, tmp_path: Path) -> None:
    lines = ['"word",zone,Fare,day', '"x,;|y",2,1.5,2020-01-01', 'z,2,"4.25",2020-01-01']
    text = "\r\n".join(
        line.replace(",", delimiter) if i == 0 else _cells(line, delimiter)
        for i, line in enumerate(lines)
    )
    path = write(tmp_path / "t.csv", "\ufeff" + text + "\r\n")
    assert measured(path, rules(tmp_path)) == [[0, 2, 0], [0, 575, 0]]


def _cells(line: str, delimiter: str) -> str:
    word, zone, fare, day = line.rsplit(",", 3)
    return delimiter.join([word, zone, fare, day])


def test_a_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"zone,fare,day,word\n3,1,2020-01-01,a\n3,1,2020-01-01,a\n"))
    assert measured(path, rules(tmp_path)) == [[0, 0, 2], [0, 0, 200]]


@pytest.mark.parametrize(
    "row",
    [
        "abc,1,2020-01-01,x",
        "1,abc,2020-01-01,x",
        "1,1,someday,x",
        "1",
        "1,2,3,4,5,6",
        "",
    ],
)
def test_no_single_row_of_a_csv_file_changes_types_or_fails(row: str, tmp_path: Path) -> None:
    """Types and names come from the policy and the first line: neighbours open alike."""
    policy = rules(tmp_path)
    seen = []
    for number, extra in enumerate(("", row + "\n")):
        path = write(
            tmp_path / f"t{number}.csv", "zone,fare,day,word\n1,2.5,2020-01-01,x\n" + extra
        )
        backend = open_backend(path, policy)
        plan = awkward.planned(backend, SQL, policy)
        count, total = (np.array(v) for v in awkward.values(backend.measure(plan.scan)))
        seen.append((backend.schemas(), count, total))
        backend.close()
    assert seen[0][0] == seen[1][0]
    assert np.abs(seen[0][1] - seen[1][1]).sum() <= 1
    assert np.abs(seen[0][2] - seen[1][2]).sum() <= 100 * 100


@pytest.mark.parametrize("odd", ["abc", 2**80, 1.5, ["a"], None, b"\xff"])
def test_no_single_object_of_a_frame_changes_types_or_fails(odd: Any, tmp_path: Path) -> None:
    policy = rules(tmp_path)
    schemas = []
    for zones in ([1, 2], [1, 2, odd]):
        frame = pd.DataFrame(
            {
                "zone": pd.Series(zones, dtype=object),
                "fare": 1.0,
                "day": pd.Series(["2020-01-01"] * len(zones), dtype=object),
                "word": pd.Series(zones, dtype=object),
            }
        )
        backend = open_backend(frame, policy)
        plan = awkward.planned(backend, SQL, policy)
        count = np.array(awkward.values(backend.measure(plan.scan))[0])
        assert np.abs(count - [1, 1, 0]).sum() <= 1
        schemas.append(backend.schemas())
        backend.close()
    assert schemas[0] == schemas[1]
    assert schemas[0]["trips"]["zone"].name == "BIGINT"


def test_several_private_tables_need_names(tmp_path: Path) -> None:
    policy = parse_policy(
        """
        budget.epsilon = 1
        [tables.a.columns]
        k = { keys = ["x", "y"] }
        [tables.b.columns]
        k = { keys = ["x", "y"] }
        """
    )
    one, two = write(tmp_path / "1.csv", "k\nx\n"), write(tmp_path / "2.csv", "k\ny\ny\n")
    with pytest.raises(InterfaceError, match="2 private tables"):
        open_backend(one, policy)
    backend = open_backend({"a": one, "B": str(two)}, policy)
    for table, truth in (("a", [1, 0]), ("b", [0, 2])):
        plan = awkward.planned(
            backend, f"SELECT k FROM {table} GROUP BY k HAVING count(*) > 0", policy
        )
        assert awkward.values(backend.measure(plan.scan)) == [truth]
    backend.close()


def test_formats_are_known_by_suffix_or_mark(tmp_path: Path) -> None:
    database = awkward.make_database(tmp_path / "noname")
    assert classify(database) == Database(database.resolve())
    assert classify(write(tmp_path / "x.CSV", "a\n")) == Files("csv", (tmp_path / "x.CSV",))
    star = write(tmp_path / "odd[1].csv", "a\n")  # a file of that name is not a pattern
    assert classify(star) == Files("csv", (star,))


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("missing.duckdb", OperationalError, "no file"),
        ("missing-*.parquet", OperationalError, "no file matches"),
        (".", OperationalError, "directory"),
        ("notes.txt", OperationalError, "neither"),
        ("no*s.txt", InterfaceError, "does not say"),
        (17, InterfaceError, "type int"),
        ({"trips": "base.duckdb"}, InterfaceError, "tables of its own"),
        ("headless.csv", OperationalError, "names no column"),
        ("mix-*.csv", OperationalError, "same line"),
        ("bad.parquet", OperationalError, "could not be opened"),
        ("bad.duckdb", OperationalError, "could not be opened"),
    ],
)
def test_what_cannot_be_opened_is_said_plainly(
    source: Any,
    error: type[Exception],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    policy = rules(tmp_path)
    write(tmp_path / "notes.txt", "hello, world")
    write(tmp_path / "headless.csv", "1,2.5,2020-01-01,x\n")
    write(tmp_path / "mix-1.csv", "zone,fare,day,word\n")
    write(tmp_path / "mix-2.csv", "fare,zone,day,word\n")
    write(tmp_path / "bad.parquet", "hello")
    (tmp_path / "bad.duckdb").write_bytes(b"12345678DUCK" + b"\0" * 5000)
    duckdb.connect(str(tmp_path / "base.duckdb")).close()
    with pytest.raises(error, match=words) as caught:
        open_backend(source, policy)
    assert "2.5" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threads": 0}, "threads"),
        ({"memory": "lots"}, "memory"),
        ({"memory": "'; x"}, "memory"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(InterfaceError, match=words):
        open_backend(awkward.as_database(tmp_path), awkward.policy(), **options)


def test_settings_are_used(tmp_path: Path) -> None:
    backend = open_backend(
        awkward.as_database(tmp_path), awkward.policy(), threads=1, memory="123MiB"
    )
    assert isinstance(backend, DuckDBBackend)
    found = (
        awkward.instance(backend)
        .connection.execute(
            "SELECT current_setting('threads'), current_setting('memory_limit'),"
            " current_setting('TimeZone'), current_setting('lock_configuration')"
        )
        .fetchone()
    )
    assert found == (1, "123.0 MiB", "UTC", True)
    backend.close()


def test_a_table_that_is_missing_is_the_policys_problem(tmp_path: Path) -> None:
    policy = parse_policy(awkward.POLICY.replace("tables.patients", "tables.patient"))
    backend = open_backend(awkward.as_database(tmp_path), policy)
    with pytest.raises(PolicyError, match='did you mean "patients"'):
        policy.with_types(backend.schemas())
    backend.close()


def test_without_a_policy_schemas_can_be_read(tmp_path: Path) -> None:
    backend = open_backend(awkward.as_database(tmp_path), None)
    assert {"patients", "records", "wards"} <= set(backend.schemas())
    backend.close()
    backend = open_backend(write(tmp_path / "trips_2020.csv", "a,b\n1,2\n"), None)
    assert {n: list(s) for n, s in backend.schemas().items()} == {"trips_2020": ["a", "b"]}
    backend.close()


def test_a_public_file_is_copied_when_it_is_checked(tmp_path: Path) -> None:
    """What was unique on opening stays unique for as long as the connection lasts."""
    policy = rules(tmp_path)
    trips = write(tmp_path / "t.csv", "zone,fare,day,word\n1,1,2020-01-01,x\n")
    backend = open_backend(trips, policy)
    write(tmp_path / "zones.csv", "id,name\n1,north\n1,north\n")
    plan = awkward.planned(backend, SQL, policy)
    assert awkward.values(backend.measure(plan.scan))[0] == [1, 0, 0]
    backend.close()
    with pytest.raises(PolicyError, match=r"public\.zones\.key"):
        open_backend(trips, policy)
