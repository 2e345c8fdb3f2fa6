"""What the three datasets share: their description, and how a database file is built.

Nothing here is part of the engine. Loaders and generators write one private table and the
public tables that the policy beside them names; one policy and one set of queries serve
published files, the stand-in and generated rows alike.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

DATA_VARIABLE = "PROBE_SQL_DATA"
_DEFAULT_DATA = Path(__file__).parent.parent.parent / "shared" / "data"

Connection = duckdb.DuckDBPyConnection
Loader = Callable[[Path, Path], None]


class DataMissing(Exception):
    """A file that a loader needs is not there; the message says where it was looked for."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the workload: `sql > c` is an atom of HAVING.

    `exact` is the same in plain SQL, with the policy's bounds applied. `slack` is the sum
    behind the comparison, with `{c}` for the threshold: of a count the count itself, of an
    average or a ratio what is compared with zero. Thresholds have `digits` decimals.
    """

    name: str
    sql: str
    exact: str = ""
    slack: str = ""
    digits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "exact", self.exact or self.sql)
        object.__setattr__(self, "slack", self.slack or self.exact)


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset of the paper: where it comes from, its groups and its aggregates.

    `keys` are the GROUP BY expressions; `domain` is SQL for the public groups with the
    columns k0, k1, ... in the same order. `groups` and `rows` are the paper's numbers.
    """

    name: str
    table: str
    keys: tuple[str, ...]
    domain: str
    counts: tuple[Aggregate, ...]
    groups: tuple[int, int]
    rows: int
    columns: int
    load_published: Loader
    load_standin: Loader
    generate: Callable[[Path, int, int], None]
    averages: tuple[Aggregate, ...] = ()
    kpis: tuple[Aggregate, ...] = ()
    standin_files: tuple[str, ...] = field(default=())

    @property
    def folder(self) -> Path:
        return Path(__file__).parent / self.name

    @property
    def policy(self) -> Path:
        return self.folder / "policy.toml"

    def standin_available(self, folder: Path) -> bool:
        return all((folder / name).is_file() for name in self.standin_files)


def data_dir() -> Path:
    """Folder of the stand-in data: $PROBE_SQL_DATA, else `shared/data` beside the project."""
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else _DEFAULT_DATA


def needed(folder: Path, name: str) -> Path:
    """The file `name` of `folder`, or `DataMissing` with the way to provide it."""
    path = folder / name
    if not path.is_file():
        raise DataMissing(
            f"{name} is not in {folder}; set {DATA_VARIABLE} to the folder that has it, or use"
            " generated rows instead"
        )
    return path


@contextmanager
def building(database: Path) -> Iterator[Connection]:
    """A connection to a new database, which appears at `database` only when it is complete."""
    part = database.with_name(database.name + ".part")
    part.unlink(missing_ok=True)
    connection = duckdb.connect(str(part))
    try:
        connection.execute("SET enable_progress_bar = false")
        yield connection
        connection.execute("CHECKPOINT")
    except BaseException:
        connection.close()
        part.unlink(missing_ok=True)
        raise
    connection.close()
    part.replace(database)


def literal(text: str | Path) -> str:
    """A SQL string."""
    return "'" + str(text).replace("'", "''") + "'"


def reader(paths: Iterable[Path]) -> str:
    """FROM clause that reads Parquet or CSV files, all of one kind."""
    files = list(paths)
    names = "[" + ", ".join(literal(path) for path in files) + "]"
    kinds = {path.suffix.lower() for path in files}
    if kinds == {".parquet"}:
        return f"read_parquet({names}, union_by_name = true)"
    if ".parquet" in kinds:
        raise DataMissing("give Parquet files or CSV files, not both")
    return f"read_csv({names}, union_by_name = true, all_varchar = true, header = true)"


def published_files(path: Path) -> list[Path]:
    """The file itself, or the Parquet or CSV files of a folder."""
    if path.is_dir():
        for pattern in ("*.parquet", "*.csv", "*.csv.gz"):
            found = sorted(path.glob(pattern))
            if found:
                return found
    elif path.is_file():
        return [path]
    raise DataMissing(f"{path} is neither a file nor a folder with Parquet or CSV files")


def columns_of(connection: Connection, source: str) -> dict[str, str]:
    """Columns of a source: lower-case name -> name as published."""
    rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    return {str(row[0]).strip().lower(): str(row[0]) for row in rows}


def renamed(
    connection: Connection,
    source: str,
    names: dict[str, tuple[str, tuple[str, ...]]],
    optional: Iterable[str] = (),
) -> str:
    """SELECT list that brings published columns to canonical names and types.

    `names` maps a canonical name to its type and the published spellings, in any case. Values
    that do not convert become NULL; a decimal comma is read as a point.
    """
    present = columns_of(connection, source)
    optional = set(optional)
    parts = []
    for canonical, (type_, spellings) in names.items():
        found = next((present[s.lower()] for s in spellings if s.lower() in present), None)
        if found is None:
            if canonical not in optional:
                raise DataMissing(f"the file has no column {' or '.join(spellings)}")
            parts.append(f"CAST(NULL AS {type_}) AS {canonical}")
            continue
        text = f'"{found}"'
        if type_ == "DOUBLE":
            text = f"replace(CAST({text} AS VARCHAR), ',', '.')"
        parts.append(f"TRY_CAST({text} AS {type_}) AS {canonical}")
    return ",\n    ".join(parts)


def random_macros(connection: Connection, seed: int) -> None:
    """Macros over the row number i: `u(i, k)` uniform in [0, 1), `zipf(x, n)` a rank 1..n.

    The k-th number of a row is a hash of row, k and seed, so every row is the same however
    many threads make them. P(rank = r) is ln((r + 1) / r) / ln(n + 1), close to 1/r.
    """
    connection.execute(
        f"CREATE OR REPLACE TEMP MACRO u(i, k) AS (hash(i, k, {seed}) >> 11) / 9007199254740992.0"
    )
    connection.execute(
        "CREATE OR REPLACE TEMP MACRO zipf(x, n) AS least(n, floor(pow(n + 1, x)))::INTEGER"
    )
