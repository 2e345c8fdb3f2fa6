"""CSV files before DuckDB reads them: the names in their first line, and whether quotes close.

Privacy: one line must be one row. A quote that is not closed makes one field of all lines up to the
next quote, so that one line more takes thousands of rows away. DuckDB reads that without a
word. So every file is looked through on opening, and refused there, for everyone alike.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import IO, cast

from probe_sql.errors import OperationalError
from probe_sql.policy.names import fold

_DELIMITERS = (",", ";", "\t", "|")


def header(paths: Sequence[Path], wanted: Collection[str]) -> tuple[str, list[str]]:
    """The delimiter and the names of the columns: the delimiter is the one under which most
    `wanted` columns (folded; none for any) appear in the first line. No other line is looked at."""
    lines = [_first_record(path) for path in paths]
    best: tuple[int, int, str] | None = None
    for rank, delimiter in enumerate(_DELIMITERS):
        names = next(csv.reader([lines[0]], delimiter=delimiter), [])
        found = sum(fold(n.strip()) in wanted for n in names) if wanted else len(names)
        if best is None or (found, -rank) > best[:2]:
            best = (found, -rank, delimiter)
    assert best is not None
    delimiter = best[2]
    if best[0] == 0:
        raise OperationalError(
            f"The first line of {paths[0].name} names no column that the policy declares.",
            why="A CSV file begins with the names of its columns.",
            fix="Add that line, or declare the columns in the policy.",
        )
    if any(line != lines[0] for line in lines):
        raise OperationalError(
            "The CSV files do not begin with the same line.",
            why="Files of one table have the same columns in the same order.",
        )
    return delimiter, [n.strip() for n in next(csv.reader([lines[0]], delimiter=delimiter), [])]


def check_quotes(paths: Iterable[Path], delimiter: str) -> None:
    """Raise `OperationalError` for a file in which a quoted field does not end as it should."""
    for path in paths:
        opener = gzip.open if path.suffix.lower() == ".gz" else open
        with cast(IO[bytes], opener(path, "rb")) as file:
            if not _closed(file, delimiter.encode()):
                raise OperationalError(
                    f"A field of {path.name} begins with a quote and does not end with one.",
                    why="All lines up to the next quote would be one row, so that one line could"
                    " take away thousands.",
                    fix="Write the file with a CSV library: a quoted field ends in a quote before"
                    " the next delimiter or line, and a quote in it is doubled.",
                )


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
