"""Private rows in Apache Spark: each scan is one job there, and one row for each group returns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np

from probe_sql.errors import InternalError, ProbeError
from probe_sql.measuring import Ints
from probe_sql.plan.tally import Scan
from probe_sql.policy.model import Table
from probe_sql.policy.names import find
from probe_sql.policy.policy import Policy
from probe_sql.scan.caps import FirstRows, salted
from probe_sql.scan.engine import RemoteEngine
from probe_sql.scan.rows import SALT
from probe_sql.scan.spark.engine import SPARK
from probe_sql.sql.forms.spark_build import from_spark, spark_type
from probe_sql.text import normal_name
from probe_sql.types import Kind, SqlType
from probe_sql.vault import refusals
from probe_sql.vault.backend import Schemas
from probe_sql.vault.exact import wipe
from probe_sql.vault.failures import Failure, opening_error, scan_error
from probe_sql.vault.pool import Pool
from probe_sql.vault.remote import PublicRows, Remote
from probe_sql.vault.runner import Runner, Watch
from probe_sql.vault.sources import Spark
from probe_sql.vault.spark_files import check_files, file_marks, repeated
from probe_sql.vault.spark_link import Link, library, plain
from probe_sql.vault.spark_views import check_view
from probe_sql.vault.steady import steadily

T = TypeVar("T")

_LIMIT = 1800.0  # seconds of a job, where the owner does not say
_DEAF = 15.0  # seconds for a driver to end a job that was cancelled, before it is given up
_PART = 64 << 20  # bytes of people's rows that one task works on
_BROADCAST = 2_000_000  # rows of a public relation that every task gets whole
_CALENDAR = re.compile(r"(\d{4,})(-\d\d-\d\d.*?)( \(BC\))?")


@dataclass(frozen=True, slots=True)
class _Bounded:
    """The rows that stay of each person: their view and cache, and what they were made of."""

    view: str
    frame: Any
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Turn:
    """The one turn to scan, and how what it has is ended."""

    close: Callable[[], None]
    broken: bool = False


def open_spark(source: Spark, limit: float | None = None) -> Remote:
    """Spark's tables and the Parquet paths of a source; raises for what cannot be opened."""
    library()
    return SparkRemote(source, _LIMIT if limit is None else limit)


class SparkRemote:
    """A session of our own in Spark, which reads, and writes nothing but its own cache.

    Privacy: only rendered scans run. What comes back is one row of integers for each group;
    errors are told by their class, and their texts are dropped in the thread that got them.
    """

    engine: RemoteEngine = SPARK

    def __init__(self, source: Spark, limit: float = _LIMIT) -> None:
        self.limit = limit
        self._link = Link(source)
        self._runner = Runner(self._link, self._link.classify, _DEAF)
        self._columns: dict[str, dict[str, SqlType]] = {}
        self._views: dict[str, str] = {}  # of all rows of a table
        self._frames: dict[str, Any] = {}  # likewise
        self._paths = source.tables
        self._pool = Pool(_Turn(partial(self._runner.end, self._leave)), lambda: None, 1)
        self._numbers = count()
        self._bounded: dict[str, _Bounded] = {}  # at most T rows of each person
        try:
            self._outcome(lambda link: link.start(), "Spark")
            self._open(source)
        except BaseException:
            self.close()
            raise

    # --- opening --------------------------------------------------------------------------

    def _open(self, source: Spark) -> None:
        for name, path in source.tables.items():
            self._run(partial(self._read, name=name, path=path), f"the table {name}")
        known = {normal_name(name) for name in self._columns}
        for name in self._run(self._listed, "Spark's catalog"):
            if normal_name(name) not in known:
                self._run(partial(self._adopt, name=name), f"the table {name}")

    def _read(self, session: Any, name: str, path: str) -> None:
        self._add(name, session.read.parquet(path))

    def _listed(self, _session: Any) -> list[str]:
        """Tables and views of the current database, and views of the session that was given."""
        return [row["tableName"] for row in self._link.base.sql("SHOW TABLES").collect()]

    def _adopt(self, session: Any, name: str) -> None:
        """Show a table of the given session in ours; one that cannot be resolved is left out."""
        try:
            frame = self._link.base.table(f"`{name.replace('`', '``')}`")
            plan = frame._jdf.queryExecution().analyzed()
        except Exception:  # a view of what is gone, or a table that may not be read
            return
        dataset = session._jvm.org.apache.spark.sql.classic.Dataset
        ours = dataset.ofRows(session._jsparkSession, plan)
        self._add(name, type(frame)(ours, session))

    def _add(self, name: str, frame: Any) -> None:
        view = f"probe_sql_table{len(self._views)}"
        frame.createOrReplaceTempView(view)
        self._views[name] = view
        self._frames[name] = frame
        self._columns[name] = {
            field.name: from_spark(field.dataType.simpleString()) for field in frame.schema.fields
        }

    def schemas(self) -> Schemas:
        """The tables as they were on opening."""
        return self._columns

    def surroundings(self) -> None:
        """None: a name of the catalog or of the session may show other rows the next time."""

    def check(self, policy: Policy) -> None:
        """Raise `OperationalError` for a table whose files are not all rows, each of them once,
        and for a view that could fail for a row."""
        for table in (*policy.tables, *policy.public):
            frame = find(self._frames, table)
            if frame is None:
                continue
            checks = (check_files, check_view) if table in policy.tables else (check_files,)
            for check in checks:
                self._run(partial(check, frame=frame, table=table), f"the table {table}")

    def public(self, table: str, columns: Mapping[str, SqlType]) -> Sequence[Sequence[str | None]]:
        """All rows of a public table as text, column by column."""
        listed = ", ".join(_as_text(name, type_) for name, type_ in columns.items())
        sql = f"SELECT {listed} FROM {self._view(table)}"
        found = self._run(lambda session: _fetched(session, sql), f"the public table {table}")
        return [column.to_pylist() for column in found.columns]

    # --- scans ----------------------------------------------------------------------------

    def tallies(
        self, scans: Sequence[Scan], public: Sequence[PublicRows], key: int | None, watch: Watch
    ) -> Sequence[Sequence[Ints]]:
        """Run the one scan of a query as one job: the columns `o`, `n0`, ... of its result.

        One query at a time: views and cached rows belong to the session, of which there is one.

        Privacy: a job reads each row once, so that it meets one of the filters that exclude each
        other. Files that were replaced meanwhile are read again, and people's rows bounded anew.
        """
        (scan,) = scans
        table = scan.relation.table

        def work(session: Any) -> list[Ints]:
            for one in public:
                _show_rows(session, one)
            found = _fetched(session, self.engine.statement(scan, (self._scanned(table),)))
            if any(column.null_count for column in found.columns):
                raise InternalError("a scan returned NULL for a group")
            return [np.array(column.to_numpy(), dtype=np.int64) for column in found.columns]

        def read() -> list[Ints]:
            if key is not None:
                self._bound(table, key, watch)
            return self._run(work, watch=watch)

        with self._pool.lend(watch):
            return [steadily(read, partial(self._marks, table), wipe)]

    def _marks(self, table: Table) -> tuple[str, ...]:
        frame = find(self._frames, table.name)
        marks = self._run(lambda _session: file_marks(frame))
        if find(self._paths, table.name) is not None and not any("path=" in m for m in marks):
            raise scan_error(Failure.FILE)  # there were files when its columns were read
        if repeated(marks):
            raise scan_error(Failure.FILE)  # a link that was not there on opening
        return marks

    def missing_people(self, table: Table) -> bool:
        """Whether some row of the table has no person."""
        person = _quoted(table.unit.column or "")
        sql = f"SELECT 1 AS one FROM {self._view(table.name)} WHERE {person} IS NULL LIMIT 1"
        return bool(self._run(lambda session: _fetched(session, sql)).num_rows)

    def _bound(self, table: Table, key: int, watch: Watch) -> None:
        """Have the rows of people bounded; again where files have changed since: of a lost part
        of the cache the rows would be others than those that the rest was made of."""
        bounded = self._bounded.get(table.name)
        if bounded is not None and bounded.marks == self._marks(table):
            return
        if bounded is not None:
            self._run(lambda _session: bounded.frame.unpersist(blocking=True))
        self._bounded[table.name] = self._kept(table, key, watch)

    def _kept(self, table: Table, key: int, watch: Watch) -> _Bounded:
        """Keep at most `max_rows` rows of each person, chosen by a keyed hash, in Spark's cache.

        Privacy: which rows stay is a function of that person's rows, the key and the cap. A part
        of the cache that is lost is computed again, for all rows of the people in it.
        """
        schema = find(self._columns, table.name)
        assert schema is not None
        sql = bounded_rows(table, schema, self._view(table.name), key)
        view = f"probe_sql_bounded{next(self._numbers)}"

        def work(session: Any) -> _Bounded:
            from pyspark import StorageLevel

            marks = file_marks(find(self._frames, table.name))
            frame = _divided(session, session.sql(sql)).persist(StorageLevel.MEMORY_AND_DISK)
            try:
                frame.count()
                frame.createOrReplaceTempView(view)
            except BaseException:
                frame.unpersist()
                raise
            return _Bounded(view, frame, marks)

        return self._run(work, watch=watch)

    def _scanned(self, table: Table) -> str:
        """The view that a scan of the table reads.

        Privacy: until its rows are bounded, nothing of a table of people can be counted.
        """
        if table.unit.column is None:
            return self._view(table.name)
        if table.name not in self._bounded:
            raise InternalError("a scan of people was to run before their rows were bounded")
        return self._bounded[table.name].view

    def _view(self, table: str) -> str:
        view = find(self._views, table)
        if view is None:
            raise refusals.NO_SPARK_TABLE.error(table=table)
        return view

    def _run(
        self, work: Callable[[Any], T], opening: str | None = None, watch: Watch | None = None
    ) -> T:
        """Run work in our session; its failure becomes an error with a text of ours."""
        return self._outcome(lambda link: work(link.begin()), opening, watch)

    def _outcome(
        self, work: Callable[[Link], T], opening: str | None, watch: Watch | None = None
    ) -> T:
        problem: list[ProbeError] = []

        def guarded(link: Link) -> T | Failure:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of PySpark's, about versions of pandas
                    return work(link)
            except ProbeError as error:
                problem.append(error)
                return Failure.OTHER

        outcome = self._runner.run(guarded, watch)
        if problem:
            raise plain(problem[0])
        if isinstance(outcome, Failure):
            if opening is None:
                raise scan_error(outcome, "spark")
            raise opening_error(outcome, opening, engine="spark")
        return outcome

    # --- ending ---------------------------------------------------------------------------

    def close(self) -> None:
        """End what runs, forget what was cached and leave the context; safe to call twice."""
        self._pool.close()

    def _leave(self) -> None:
        bounded, self._bounded = self._bounded, {}
        for one in bounded.values():
            try:
                one.frame.unpersist()
            except Exception:  # the driver is gone, and the cache with it
                break
        self._link.close()


def bounded_rows(table: Table, schema: Mapping[str, SqlType], source: str, key: int) -> str:
    """SQL for the rows that stay: of each person the first T by a keyed hash of the row.

    Spark drops rows beyond the T-th of a person in each task before it shuffles them, because
    the condition is on the rank alone. So rows without a person are added apart.
    """
    unit = table.unit
    declared = {normal_name(name) for name in table.columns}
    columns = [name for name in schema if normal_name(name) in declared]
    hashed = [n for n, type_ in schema.items() if type_.kind is not Kind.OTHER]
    signed = key - 2**64 if key >= 2**63 else key
    row_hash = f"XXHASH64({', '.join([f'{signed}L', *map(_quoted, hashed)])})"
    # A column that cannot be ordered can only be asked whether it is NULL.
    order = [
        f"{_quoted(n)} IS NULL" if schema[n].kind is Kind.OTHER else _quoted(n) for n in columns
    ]
    listed = tuple(map(_quoted, columns))
    person = _quoted(unit.column or "")
    rows = FirstRows(person, listed, (row_hash, *order))
    salt = (f"XXHASH64({signed}L, {person}) AS {SALT}",) if salted(unit) else ()
    shown = ", ".join((*listed, *salt))
    kept = rows.select(f"{source} WHERE {person} IS NOT NULL", str(unit.max_rows), kept=shown)
    if unit.null != "own":
        return kept
    return f"{kept} UNION ALL SELECT {shown} FROM {source} WHERE {person} IS NULL"


def _divided(session: Any, frame: Any) -> Any:
    """The frame in as many parts as its size and the cluster ask for, not as many as a shuffle has.

    A cached frame keeps its parts, and each costs every later query a task.
    """
    size = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))
    least = session.sparkContext.defaultParallelism
    most = max(least, int(session.conf.get("spark.sql.shuffle.partitions")))
    return frame.coalesce(min(most, max(least, -(-size // _PART))))


def _fetched(session: Any, sql: str) -> Any:
    """The result of a statement as an Arrow table."""
    return session.sql(sql).toArrow()


def _show_rows(session: Any, public: PublicRows) -> None:
    """Make a public relation a view of our session, every value cast to its type."""
    import pyarrow

    arrays, casts = [], []
    for index, (name, type_) in enumerate(public.relation.columns.items()):
        texts: Sequence[str | None] = public.columns[index]
        if type_.temporal:
            texts = [None if text is None else _moment(text) for text in texts]
        arrays.append(pyarrow.array(texts, pyarrow.string()))
        target = spark_type(type_) or "STRING"
        casts.append(f"CAST(c{index} AS {target}) AS {_quoted(name)}")
    names = [f"c{index}" for index in range(len(arrays))]
    frame = session.createDataFrame(pyarrow.table(arrays, names=names)).selectExpr(*casts)
    if len(arrays[0]) <= _BROADCAST:
        frame = frame.hint("broadcast")
    frame.createOrReplaceTempView(public.relation.name)


def _moment(text: str) -> str:
    """A date or timestamp of DuckDB's as Spark reads it: before Christ years are negative."""
    found = _CALENDAR.fullmatch(text)
    if found is None or (len(found[1]) == 4 and found[3] is None):
        return text
    year = int(found[1])
    return f"-{year - 1:04d}{found[2]}" if found[3] else f"+{year}{found[2]}"


def _as_text(name: str, type_: SqlType) -> str:
    """A column as text that DuckDB reads back."""
    column = _quoted(name)
    text = f"HEX({column})" if type_.name == "BINARY" else f"CAST({column} AS STRING)"
    return f"{text} AS {column}"


def _quoted(name: str) -> str:
    """`name` as an identifier of Spark."""
    return "`" + name.replace("`", "``") + "`"
