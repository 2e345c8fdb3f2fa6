"""CSV and Parquet files before DuckDB reads them: names, types, and whether quotes close.

Privacy: one line must be one row. A quote that is not closed makes one field of all lines up to the
next quote, so that one line more takes thousands of rows away. DuckDB reads that without a
word. So every file is looked through on opening, and refused there, for everyone alike.

Of the Parquet files of one table DuckDB takes the types of the first and casts the values of the
others to them while it reads, so that one row could decide whether a query fails. The types are in
the files' footers, which hold no row; files that differ there are refused on opening as well.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import IO, cast

import duckdb

from probe_sql.errors import ProbeError
from probe_sql.text import normal_name
from probe_sql.vault import refusals

_DELIMITERS = (",", ";", "\t", "|")


def header(paths: Sequence[Path], wanted: Collection[str]) -> tuple[str, list[str]]:
    """The delimiter and the names of the columns: the delimiter is the one under which most
    `wanted` columns (folded; none for any) appear in the first line. No other line is looked at."""
    lines = [_first_record(path) for path in paths]
    best: tuple[int, int, str] | None = None
    for rank, delimiter in enumerate(_DELIMITERS):
        names = next(csv.reader([lines[0]], delimiter=delimiter), [])
        found = sum(normal_name(n.strip()) in wanted for n in names) if wanted else len(names)
        if best is None or (found, -rank) > best[:2]:
            best = (found, -rank, delimiter)
    assert best is not None
    delimiter = best[2]
    if best[0] == 0:
        declared = " that the policy declares" if wanted else ""
        raise refusals.NO_HEADER.error(name=paths[0].name, declared=declared)
    if any(line != lines[0] for line in lines):
        raise refusals.OTHER_HEADER.error()
    return delimiter, [n.strip() for n in next(csv.reader([lines[0]], delimiter=delimiter), [])]


def check_quotes(paths: Iterable[Path], delimiter: str) -> None:
    """Raise `OperationalError` for a file in which a quoted field does not end as it should."""
    for path in paths:
        opener = gzip.open if path.suffix.lower() == ".gz" else open
        with cast(IO[bytes], opener(path, "rb")) as file:
            if not _closed(file, delimiter.encode()):
                raise refusals.OPEN_QUOTE.error(name=path.name)


def _closed(lines: Iterable[bytes], delimiter: bytes) -> bool:
    """Whether every quoted field ends in a quote, before a delimiter or the end of a line.

    A field is quoted if it begins with a quote, after spaces if need be, as DuckDB has it.
    """
    mark = re.escape(delimiter)
    opening = re.compile(rb'(?:^|(?<=[\r\n%b]))(?:\xef\xbb\xbf)? *"' % mark)
    closing = re.compile(rb'(?:[^"]|"")*+"')
    following = re.compile(rb" *(?:[\r\n%b]|$)" % mark)
    inside = False
    for line in lines:
        if b'"' not in line:
            continue
        at = 0
        while True:
            found = closing.match(line, at) if inside else opening.search(line, at)
            if found is None:
                break
            if inside and following.match(line, found.end()) is None:
                return False
            at, inside = found.end(), not inside
    return not inside


def _first_record(path: Path) -> str:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with cast(IO[str], opener(path, "rt", encoding="utf-8-sig", errors="replace")) as file:
        return file.readline(1 << 20).rstrip("\r\n")


def check_alike(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], wanted: Collection[str]
) -> None:
    """Raise `OperationalError` unless all files have the same `wanted` columns, folded, in the
    same types; without any wanted, all columns. What a folder's name gives (`year=2024`) is one."""
    first = _types(connection, paths[0])
    for path in paths[1:]:
        types = _types(connection, path)
        for column in sorted({*first, *types}):
            one, other = first.get(column), types.get(column)
            if one != other and (not wanted or column in wanted):
                raise _differs(column, (paths[0], one), (path, other))


def _types(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    rows = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [[str(path)]]).fetchall()
    return {normal_name(column): str(type_) for column, type_, *_ in rows}


def _differs(column: str, *found: tuple[Path, str | None]) -> ProbeError:
    said = [
        f"{'missing' if type_ is None else type_} in {path.parent.name}/{path.name}"
        for path, type_ in found
    ]
    return refusals.FILES_DIFFER.error(column=column, one=said[0], other=said[1])
