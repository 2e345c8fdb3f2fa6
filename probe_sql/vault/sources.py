"""What can be opened: a DuckDB database, Parquet and CSV files, frames, PostgreSQL and Spark.

Which source a table of the policy comes from is decided
here, from names alone; nothing is read but a file's first bytes.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from probe_sql.policy.policy import Policy
from probe_sql.types import SqlType
from probe_sql.vault import postgres_address, refusals
from probe_sql.vault.addresses import POSTGRES, refuse_secrets, server

_PARQUET = (".parquet", ".pq", ".parq")
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_ENDS = (*_PARQUET, *_CSV)
_FRAMES = ("pyarrow", "pandas", "polars")
FRAMES = "frames"  # the name of all sources that have none of their own


@dataclass(frozen=True, slots=True)
class Database:
    """A DuckDB database file."""

    path: Path


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one format ('parquet' or 'csv') that make up one table, in order of names."""

    format: str
    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """An Arrow table, or a pandas or Polars frame; `library` says which."""

    library: str
    frame: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class TextColumns:
    """A public table that was read elsewhere: its columns' types, and every value as text."""

    types: Mapping[str, SqlType]
    columns: Sequence[Sequence[str | None]] = field(repr=False)


Source = Database | Files | Frame


@dataclass(frozen=True, slots=True)
class Spark:
    """Apache Spark: a cluster by its master URL, or a session that exists.

    `tables` maps names to Parquet paths; a table that is not among them is one of Spark's
    catalog, or a view of the session.
    """

    master: str | None = None
    tables: Mapping[str, str] = field(default_factory=dict)
    session: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        refuse_secrets([*self.tables.values(), self.master or ""])


@dataclass(frozen=True, slots=True)
class Layout:
    """Where every table comes from: at most one database, and tables of their own.

    Without `rows` the private tables are shown with their columns alone.
    """

    database: Database | None
    private: Mapping[str, Files | Frame]
    public: Mapping[str, Files | Frame | TextColumns]
    rows: bool = True


def is_remote(source: Any) -> bool:
    """Whether the rows are in a server, and not in a file or frame.

    Raises `InterfaceError` for the address of a server that cannot be opened, without it.
    """
    if isinstance(source, str):
        return server(source) is not None
    library = type(source).__module__.partition(".")[0]
    return isinstance(source, Spark) or library == "pyspark"


def identity(source: Any) -> str:
    """The name of a source for its ledger, without credentials."""
    if isinstance(source, str) and server(source) == POSTGRES:
        return postgres_address.identity(source)
    if is_remote(source):
        tables = as_spark(source).tables
        listed = "&".join(f"{table}={path}" for table, path in sorted(tables.items()))
        return f"spark:{listed}"
    on_disk = isinstance(source, str | os.PathLike)
    return str(Path(source).resolve()) if on_disk else FRAMES


def as_spark(source: Any) -> Spark:
    """A SparkSession, or text such as `spark:local[2]?trips=trips.parquet`, as a `Spark`."""
    if isinstance(source, Spark):
        return source
    if not isinstance(source, str):
        return Spark(session=source)
    refuse_secrets([source])
    master, _, listed = source.strip().partition(":")[2].partition("?")
    return Spark(master or None, dict(parse_qsl(listed)))


def layout(source: Any, policy: Policy | None) -> Layout:
    """Say which source each table has; raises for what does not exist or does not fit."""
    public: dict[str, Files | Frame | TextColumns] = dict(public_files(policy))
    if isinstance(source, Mapping):
        named = {str(name): _table_source(value) for name, value in source.items()}
        if policy is None:
            return Layout(None, named, {})
        private = {n: value for n, value in named.items() if policy.find_public(n) is None}
        public |= {n: value for n, value in named.items() if n not in private}
        return Layout(None, private, public)
    found = classify(source)
    if isinstance(found, Database):
        return Layout(found, {}, public)
    return Layout(None, {_only_table(source, policy): found}, public)


def public_files(policy: Policy | None) -> dict[str, Files | Frame]:
    """The public tables for which the policy names a file."""
    found = {}
    for table in policy.public.values() if policy is not None else ():
        if table.path is not None:
            found[table.name] = _table_source(str(policy and policy.beside(table.path)))
    return found


def classify(source: Any) -> Source:
    """Recognise a source by its type, its suffix, or its first bytes."""
    if isinstance(source, str | os.PathLike):
        return _on_disk(os.fspath(source))
    library = type(source).__module__.partition(".")[0]
    if library not in _FRAMES:
        raise refusals.OTHER_TYPE.error(type=type(source).__name__)
    return Frame(library, source)


def _table_source(value: Any) -> Files | Frame:
    found = classify(value)
    if isinstance(found, Database):
        raise refusals.DATABASE_AS_TABLE.error(name=found.path.name)
    return found


def _on_disk(name: str | bytes) -> Source:
    text = os.fsdecode(name)
    if server(text) is not None:
        raise refusals.SERVER_AS_TABLE.error()
    format_ = _format(text)
    path = Path(text)
    if not path.exists() and glob.has_magic(text):
        paths = sorted(Path(found) for found in glob.glob(text, recursive=True))
        if not paths:
            raise refusals.NO_MATCH.error(pattern=text)
        if format_ is None:
            raise refusals.UNKNOWN_PATTERN.error(pattern=text)
        return _files(format_, paths)
    if not path.exists():
        raise refusals.NO_FILE.error(path=text)
    check_lake(path)
    if path.is_dir():
        raise refusals.DIRECTORY.error(path=text, pattern=_pattern(text.rstrip("/")))
    _check_regular(path)
    format_ = format_ or _sniffed(path)
    if format_ == "duckdb":
        return Database(path.resolve())
    return _files(format_, [path])


def _pattern(folder: str) -> str:
    """A pattern that finds files in a folder, or in the folders of it; for Parquet by default."""
    patterns = [f"{glob.escape(folder)}/{below}*{end}" for below in ("", "*/") for end in _ENDS]
    return next((one for one in patterns if any(glob.iglob(one))), patterns[0])


def _files(format_: str, paths: Sequence[Path]) -> Files:
    """The files that are behind `paths`, each once.

    Privacy: a row that is read twice, by a link or by a pattern that finds a file on two ways,
    counts twice, and is charged once.
    """
    found: dict[tuple[int, int], Path] = {}
    for path in paths:
        _check_regular(path)
        check_lake(path)
        mark = path.stat()
        found.setdefault((mark.st_dev, mark.st_ino), path.resolve())
    return Files(format_, tuple(dict.fromkeys(found.values())))


def _check_regular(path: Path) -> None:
    """Refuse what would hang or never end when it is read: pipes, devices, sockets."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return
    names = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    thing = names.get(stat.S_IFMT(mode), "a device")
    raise refusals.IRREGULAR.error(path=path, thing=thing)


def check_lake(path: Path) -> None:
    """Refuse files of a Delta, Iceberg or Hudi table, wherever in it they lie.

    Privacy: its log says which files count. Read without it, rows come back that were deleted.
    """
    name = table_format(str(path))
    if name is not None:
        raise refusals.LAKE.error(path=path, format=name)


def _format(text: str) -> str | None:
    lower = text.lower()
    if lower.endswith(_PARQUET):
        return "parquet"
    return "csv" if lower.endswith(_CSV) else None


def _sniffed(path: Path) -> str:
    """The format of a file whose name does not tell it, by the format's own mark."""
    try:
        with path.open("rb") as file:
            start = file.read(12)
    except OSError:
        raise refusals.UNREADABLE_FILE.error(path=path) from None
    if start[8:12] == b"DUCK":
        return "duckdb"
    if start[:4] == b"PAR1":
        return "parquet"
    raise refusals.OTHER_FILE.error(path=path)


def _only_table(source: Any, policy: Policy | None) -> str:
    """The private table that a single file or frame stands for."""
    if policy is None:
        if not isinstance(source, str | os.PathLike):
            return "data"
        return Path(os.fsdecode(os.fspath(source))).name.partition(".")[0].strip("*?_-") or "data"
    if len(policy.tables) == 1:
        return next(iter(policy.tables))
    raise refusals.SEVERAL_TABLES.error(
        count=len(policy.tables), names=", ".join(policy.tables), first=next(iter(policy.tables))
    )


def table_format(
    path: str, names: Callable[[str], Sequence[str] | None] | None = None
) -> str | None:
    """The format whose log decides which files of a folder are rows: "Delta", "Iceberg", "Hudi".

    None for plain files. Looked at are the path, if it is a folder, and all folders above, since
    a file is part of the table that it lies in. `names` lists a folder, None where there is none;
    without it the path is one of this machine.
    """
    listed = names or _names
    starts = [path] if names is not None else [os.path.abspath(path), os.path.realpath(path)]
    for start in dict.fromkeys(starts):
        folder = start
        while True:
            if listed(f"{folder}/_delta_log") is not None:
                return "Delta"
            if listed(f"{folder}/.hoodie") is not None:
                return "Hudi"
            metadata = listed(f"{folder}/metadata") or ()
            if any(n == "version-hint.text" or ".metadata.json" in n for n in metadata):
                return "Iceberg"
            above = os.path.dirname(folder)
            if above == folder or above.endswith(":"):
                break
            folder = above
    return None


def _names(folder: str) -> Sequence[str] | None:
    try:
        return os.listdir(folder)
    except OSError:
        return None
