"""Files behind Spark's tables: replaced during queries or between them, or not all of them rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from probe_sql.errors import OperationalError, ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.sources import Spark
from tests.engines import events
from tests.engines.contract import measured
from tests.engines.session import session
from tests.engines.test_lakes import MARKS
from tests.engines.writing import SIDES, Writing, on_side

pytestmark = pytest.mark.engines


class Replaced:
    """A Parquet file that is replaced, whole, by another."""

    patient = False
    pause = 1.0

    def __init__(self, folder: Path) -> None:
        session()
        self.folder = folder / "events"
        self.folder.mkdir()
        pq.write_table(events.sites(), folder / "sites.parquet")
        self._sites = str(folder / "sites.parquet")
        self.move(True)

    def open(self, policy: Policy) -> Backend:
        tables = {"events": str(self.folder), "sites": self._sites}
        return open_backend(Spark(tables=tables, session=session()), policy)

    def move(self, side: bool) -> None:
        draft = self.folder / ".draft"
        pq.write_table(on_side(side), draft, coerce_timestamps="us")
        draft.replace(self.folder / "0.parquet")


@pytest.mark.slow
class TestWriting(Writing):
    @pytest.fixture
    def written(self, tmp_path: Path) -> Replaced:
        return Replaced(tmp_path)


@pytest.mark.parametrize("unit", ["row", "person"])
def test_files_replaced_between_queries_are_read_as_they_are(unit: str, tmp_path: Path) -> None:
    """Also where people's rows were bounded: a part of the cache that is lost comes from them."""
    written = Replaced(tmp_path)
    policy = events.policy() if unit == "row" else events.people(1_000)
    backend = written.open(policy)
    plan = make_plan(SIDES, policy.with_types(backend.schemas()), engine=backend.engine)
    yes, no, both = measured(backend, plan)
    assert (yes, no) == (both, [0] * len(both))
    written.move(False)
    pq.write_table(on_side(False), written.folder / "1.parquet", coerce_timestamps="us")
    yes, no, twice = measured(backend, plan)
    assert (yes, no) == ([0] * len(both), twice)
    assert twice == [2 * count for count in both]
    backend.close()


@pytest.mark.parametrize("format_", MARKS)
def test_a_folder_with_a_log_is_not_read_as_plain_files(format_: str, tmp_path: Path) -> None:
    """Files that the log has removed would come back."""
    written = Replaced(tmp_path)
    log = written.folder / MARKS[format_]
    log.parent.mkdir()
    log.write_text("{}")
    for path in (written.folder, written.folder / "0.parquet", f"{written.folder}/*.parquet"):
        source = Spark(tables={"events": str(path)}, session=session())
        with pytest.raises(OperationalError, match=f"one of {format_}") as caught:
            open_backend(source, events.policy())
        assert "createOrReplaceTempView" in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_view_of_such_a_folder_is_refused_where_the_policy_names_it(tmp_path: Path) -> None:
    written = Replaced(tmp_path)
    (written.folder / "_delta_log").mkdir()
    session().read.parquet(str(written.folder)).createOrReplaceTempView("events")
    try:
        with pytest.raises(OperationalError, match="one of Delta"):
            open_backend(session(), events.policy())
        open_backend(session(), None).close()
    finally:
        session().catalog.dropTempView("events")


@pytest.mark.parametrize("how", ["symbolic link", "hard link", "pattern"])
def test_a_file_that_is_listed_twice_is_refused(how: str, tmp_path: Path) -> None:
    """Each of its rows would count as two."""
    written = Replaced(tmp_path)
    file, other = written.folder / "0.parquet", written.folder / "latest.parquet"
    path = str(written.folder)
    if how == "symbolic link":
        other.symlink_to(file)
    elif how == "hard link":
        other.hardlink_to(file)
    else:
        path += "{,/0.parquet}"
    source = Spark(tables={"events": path}, session=session())
    with pytest.raises(OperationalError, match="reads a file twice"):
        open_backend(source, events.policy())


def test_a_link_that_comes_later_fails_the_query(tmp_path: Path) -> None:
    written = Replaced(tmp_path)
    policy = events.policy()
    backend = written.open(policy)
    plan = make_plan(SIDES, policy.with_types(backend.schemas()), engine=backend.engine)
    assert sum(measured(backend, plan)[2]) > 0
    (written.folder / "latest.parquet").symlink_to(written.folder / "0.parquet")
    with pytest.raises(ScanError):
        measured(backend, plan)
    backend.close()
