"""What can be opened: a DuckDB database, Parquet and CSV files, Arrow, pandas and Polars.

`open_backend` is the one way in. Which source a table of the policy comes from is decided
here, from names alone; nothing is read but a file's first bytes.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.policy.model import Policy

if TYPE_CHECKING:
    from probe_sql.vault.duckdb_backend import DuckDBBackend

_PARQUET = (".parquet", ".pq", ".parq")
_CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_FRAMES = ("pyarrow", "pandas", "polars")
_FIX = "Give a DuckDB database, Parquet or CSV files, an Arrow table, or a frame."


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


Source = Database | Files | Frame


@dataclass(frozen=True, slots=True)
class Layout:
    """Where every table comes from: at most one database, and tables of their own."""

    database: Database | None
    private: Mapping[str, Files | Frame]
    public: Mapping[str, Files | Frame]


def open_backend(
    source: Any,
    policy: Policy | None,
    *,
    threads: int | None = None,
    memory: str | None = None,
) -> DuckDBBackend:
    """Open a source read-only, with the tables that the policy names, and lock it.

    `source` is a path (a DuckDB database, Parquet or CSV files, a glob), an Arrow table, a pandas
    or Polars frame, or a mapping of table names to those. Without a policy (to draft one)
    only schemas can be read. Raises `OperationalError` or `InterfaceError` for what cannot
    be opened and `PolicyError` where a public table is not unique on its declared key.
    """
    from probe_sql.vault.duckdb_backend import DuckDBBackend

    backend = DuckDBBackend(layout(source, policy), policy, threads=threads, memory=memory)
    if policy is not None:
        try:
            backend.check_public_keys(policy)
            backend.check_people(policy)
        except BaseException:
            backend.close()
            raise
    return backend


def layout(source: Any, policy: Policy | None) -> Layout:
    """Say which source each table has; raises for what does not exist or does not fit."""
    public: dict[str, Files | Frame] = {}
    for table in policy.public.values() if policy is not None else ():
        if table.path is not None:
            public[table.name] = _table_source(str(policy and policy.beside(table.path)))
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


def classify(source: Any) -> Source:
    """Recognise a source by its type, its suffix, or its first bytes."""
    if isinstance(source, str | os.PathLike):
        return _on_disk(os.fspath(source))
    library = type(source).__module__.partition(".")[0]
    if library not in _FRAMES:
        raise InterfaceError(
            f"A source of type {type(source).__name__} cannot be opened.", fix=_FIX
        )
    return Frame(library, source)


def _table_source(value: Any) -> Files | Frame:
    found = classify(value)
    if isinstance(found, Database):
        raise InterfaceError(
            "A database is not the source of one table.",
            why=f"{found.path.name} holds tables of its own.",
            fix="Give the database as the source itself, or files and frames by table name.",
        )
    return found


def _on_disk(name: str | bytes) -> Source:
    text = os.fsdecode(name)
    format_ = _format(text)
    path = Path(text)
    if not path.exists() and glob.has_magic(text):
        paths = sorted(Path(found) for found in glob.glob(text, recursive=True))
        paths = [found for found in paths if found.is_file()]
        if not paths:
            raise OperationalError(f"No file matches {text}.", fix="Check the pattern.")
        if format_ is None:
            raise InterfaceError(
                f"The pattern {text} does not say what the files are.",
                fix="End it in .parquet or .csv.",
            )
        return Files(format_, tuple(found.resolve() for found in paths))
    if path.is_dir():
        raise OperationalError(
            f"{text} is a directory.", fix=f"Write a pattern: {text.rstrip('/')}/*.parquet."
        )
    if not path.exists():
        raise OperationalError(f"There is no file {text}.", fix="Check the path.")
    format_ = format_ or _sniffed(path)
    if format_ == "duckdb":
        return Database(path.resolve())
    return Files(format_, (path.resolve(),))


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
        raise OperationalError(
            f"The file {path} cannot be read.", fix="Check its permissions."
        ) from None
    if start[8:12] == b"DUCK":
        return "duckdb"
    if start[:4] == b"PAR1":
        return "parquet"
    raise OperationalError(
        f"{path} is neither a DuckDB database nor a Parquet or CSV file.", fix=_FIX
    )


def _only_table(source: Any, policy: Policy | None) -> str:
    """The private table that a single file or frame stands for."""
    if policy is None:
        if not isinstance(source, str | os.PathLike):
            return "data"
        return Path(os.fsdecode(os.fspath(source))).name.partition(".")[0].strip("*?_-") or "data"
    if len(policy.tables) == 1:
        return next(iter(policy.tables))
    names = ", ".join(policy.tables)
    first = next(iter(policy.tables))
    raise InterfaceError(
        f"The policy has {len(policy.tables)} private tables and the source is one.",
        why=f"It could be any of {names}.",
        fix=f'Say which is which: {{"{first}": ..., ...}}.',
    )
