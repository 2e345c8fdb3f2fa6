"""Scans of one source side by side: each in a DuckDB of its own, none sees another's."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

from probe_sql import faults
from probe_sql.errors import PolicyError, ProbeError
from probe_sql.policy import Policy, Resources, dump_policy, parse_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.opening import memory_of_each
from tests.examples import awkward, visits
from tests.vault.test_failures import ESCAPES
from tests.vault.test_opening import SETTINGS

ENGINE = '[engine]\nscans = {scans}\nmemory = "600MB"\nthreads = 4\n'
COUNT = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 1 AND sum(age) > 3"
BY_DAY = "SELECT admitted FROM patients GROUP BY admitted HAVING count(*) > 1"
SOURCES = [
    awkward.as_database,
    awkward.as_table,
    awkward.as_parquet,
    awkward.as_csv,
    awkward.as_arrow,
]


def rules(scans: int) -> Policy:
    return awkward.policy(awkward.POLICY + ENGINE.format(scans=scans))


def opened(source: Any, policy: Policy) -> DuckDBBackend:
    backend = open_backend(source, policy)
    assert isinstance(backend, DuckDBBackend)
    return backend


@pytest.fixture
def meet() -> Iterator[Callable[[float], threading.Barrier]]:
    """Have every scan wait, before it reads, until another one is there."""

    def begin(patience: float) -> threading.Barrier:
        barrier = threading.Barrier(2, timeout=patience)

        def hook(name: str) -> None:
            if name == "vault.scan.before":
                barrier.wait()

        faults.install(hook)
        return barrier

    yield begin
    faults.install(None)


def both(backend: DuckDBBackend, policy: Policy, queries: list[str]) -> list[list[list[int]]]:
    def ask(query: str) -> list[list[int]]:
        session = backend.session()
        plan = awkward.planned(session, query, policy)
        return awkward.values(session.measure(plan.scan))

    with ThreadPoolExecutor(len(queries)) as threads:
        return list(threads.map(ask, queries))


@pytest.mark.parametrize("make", SOURCES)
def test_two_scans_are_in_flight_at_once_and_right(
    make: Any, tmp_path: Path, meet: Callable[[float], threading.Barrier]
) -> None:
    alone = opened(make(tmp_path), rules(1))
    expected = [
        awkward.values(alone.measure(awkward.planned(alone, query, rules(1)).scan))
        for query in (COUNT, BY_DAY)
    ]
    alone.close()
    (tmp_path / "two").mkdir()
    backend = opened(make(tmp_path / "two"), rules(2))
    barrier = meet(30)
    assert both(backend, rules(2), [COUNT, BY_DAY]) == expected
    assert not barrier.broken
    assert len(backend._source.pool._members) == 2
    backend.close()


def test_without_room_for_two_the_second_waits(
    tmp_path: Path, meet: Callable[[float], threading.Barrier]
) -> None:
    """The negative control: by default a scan has all the memory, and runs by itself."""
    backend = opened(awkward.as_database(tmp_path), rules(1))
    meet(0.5)
    with pytest.raises(threading.BrokenBarrierError):
        both(backend, rules(1), [COUNT, BY_DAY])
    faults.install(None)
    assert len(backend._source.pool._members) == 1
    assert len(both(backend, rules(1), [COUNT, BY_DAY] * 4)) == 8
    backend.close()


def test_every_instance_has_its_part_its_own_place_and_all_walls(
    tmp_path: Path, meet: Callable[[float], threading.Barrier]
) -> None:
    backend = opened(awkward.as_database(tmp_path), rules(2))
    meet(30)
    both(backend, rules(2), [COUNT, BY_DAY])
    paths, planted = set(), awkward.arrow()
    for instance in backend._source.pool._members:
        run = instance.connection.execute
        settings = dict(run("SELECT name, value FROM duckdb_settings()").fetchall())
        assert {name: settings[name] for name in SETTINGS} == SETTINGS
        assert settings["threads"] == "2"
        assert settings["memory_limit"] == "286.1 MiB"  # 300 MB
        path = Path(settings["temp_directory"])
        assert path.stat().st_mode & 0o777 == 0o700
        paths.add(path)
        file = tmp_path / "file.csv"
        file.write_text("a\n1\n")
        before = sorted(tmp_path.iterdir())
        for attempt in [*ESCAPES, "CREATE TABLE kept AS SELECT 1", "DROP TABLE patients"]:
            with pytest.raises(duckdb.Error):
                run(attempt.format(file=file, folder=tmp_path)).fetchall()
        assert sorted(tmp_path.iterdir()) == before
    assert len(paths) == 2
    del planted
    backend.close()
    assert not any(path.exists() for path in paths)


def test_a_source_that_was_replaced_is_not_opened_again(tmp_path: Path) -> None:
    """The first instance still reads the old file; a second one would read the new."""
    path = awkward.as_database(tmp_path)
    backend = opened(path, rules(2))
    plan = awkward.planned(backend, COUNT, rules(2))
    expected = awkward.values(backend.measure(plan.scan))
    with duckdb.connect(str(tmp_path / "other.duckdb")) as other:
        other.execute("CREATE TABLE records AS SELECT 1 AS nothing")
    os.replace(tmp_path / "other.duckdb", path)
    assert both(backend, rules(2), [COUNT] * 6) == [expected] * 6
    assert len(backend._source.pool._members) == 1
    backend.close()


@pytest.mark.parametrize("make", [visits.as_database, visits.as_csv, visits.as_arrow])
def test_rows_of_people_are_bounded_once_and_shown_in_every_instance(
    make: Any, tmp_path: Path, meet: Callable[[float], threading.Barrier]
) -> None:
    text = dump_policy(visits.policy(3)) + ENGINE.format(scans=2)
    policy = parse_policy(text)
    backend = opened(make(tmp_path, visits.visits()), policy)
    with backend._call() as one:
        assert one.execute("SELECT count(*) FROM visits") == [(0,)]
    query = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 5"
    meet(30)
    first, second = both(backend, policy, [query, query])
    assert first == second
    assert sum(first[0]) > 0
    files = {
        path for folder in backend._source.people.folders() for path in folder.glob("*.duckdb")
    }
    assert len(files) == 1
    members = backend._source.pool._members
    assert [set(one.bounded) for one in members] == [{"visits"}] * 2
    backend.close()


def test_an_instance_that_breaks_is_replaced_and_the_other_goes_on(
    tmp_path: Path, meet: Callable[[float], threading.Barrier]
) -> None:
    backend = opened(awkward.as_database(tmp_path), rules(2))
    meet(30)
    expected = both(backend, rules(2), [COUNT, BY_DAY])
    with backend._call() as instance:
        instance.broken = True
    assert instance not in backend._source.pool._members
    assert both(backend, rules(2), [COUNT, BY_DAY]) == expected
    assert len(backend._source.pool._members) == 2
    backend.close()


def test_closing_ends_those_that_wait(tmp_path: Path) -> None:
    backend = opened(awkward.as_database(tmp_path), rules(1))
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            backend.session().groups(plan.scan)
        except ProbeError as error:
            ended.append(error)

    plan = awkward.planned(backend, COUNT, rules(1))
    thread = threading.Thread(target=ask)
    with backend._call():
        thread.start()
        while not backend._source.pool._queue:
            pass
        closing = threading.Thread(target=backend._source.close)
        closing.start()
        thread.join(30)
    closing.join(30)
    assert [type(error).__name__ for error in ended] == ["ScanError"]
    assert not closing.is_alive()
    backend.close()


@pytest.mark.parametrize(
    ("engine", "what"),
    [
        ("scans = 0", "not between 1 and 64"), ("scans = 65", "not between"),
        ('scans = "two"', "whole number"), ("scans = 3\nthreads = 2", "3 scans cannot run on 2"),
    ],
)  # fmt: skip
def test_a_number_of_scans_that_cannot_be_is_refused(engine: str, what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        awkward.policy(f"{awkward.POLICY}[engine]\n{engine}\n")


@pytest.mark.parametrize(
    ("memory", "scans", "each"),
    [("4GB", 1, "4GB"), ("4GB", 3, "1333333333B"), ("1.5 KiB", 2, "768B"), (None, 1, None),
     (None, 3, "26%"), (None, 64, "1%")],
)  # fmt: skip
def test_parts_of_the_memory_sum_to_at_most_all(
    memory: str | None, scans: int, each: str | None
) -> None:
    assert memory_of_each(Resources(memory=memory, scans=scans)) == each
