"""Bound every person's rows once: keep at most T, chosen by a keyed hash, in a table of their own.

Privacy: which rows of a person stay is a function of that person's rows, the key and T. The rows
with the least (hash, columns) stay; the order of rows and other people play no part. Rows that
tie are the same to every query: floats that are equal but not the same, -0.0 and 0.0 or two
NaNs, are kept as one.
People with at most T rows keep them all; of the others, most rows are ruled out by a hash that is
surely too large. Of the rest numpy sorts one integer of person and hash, and the T-th of a person
is the cut. Only where the next one is equal to it the rows themselves are ranked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from probe_sql.measuring import Ints, Mask
from probe_sql.policy.model import Table
from probe_sql.scan.caps import FirstRows, salted
from probe_sql.scan.rows import SALT
from probe_sql.text import normal_name
from probe_sql.types import Kind, SqlType, parse_type
from probe_sql.vault.loading import WHOLE, identifier
from probe_sql.vault.memory import Scratch

Hashes = NDArray[np.uint64]
Run = Callable[[str], list[tuple[Any, ...]]]
Connection = duckdb.DuckDBPyConnection

_HEAVY = "probe_sql_heavy"
_CUTS = "probe_sql_cuts"
_TIED = "probe_sql_tied"
_FOUND = "probe_sql_found"
_SHORT = "probe_sql_short"
_TOP = 2**64 - 1
_PART_ROWS = 4_000_000  # rows ranked at once
_PARTS = 16


@dataclass(frozen=True, slots=True)
class RowCap:
    """How one table is bounded: where its rows come from, and what of them is kept."""

    source: str  # the table with all rows, as SQL
    person: str
    columns: tuple[str, ...]  # declared: what queries can read
    hashed: tuple[str, ...]  # all that can be hashed
    types: tuple[str, ...]  # of the declared columns
    most: int
    drop_missing: bool
    key: int
    salted: bool = False  # whether each row has its person's salt beside it

    @property
    def hash(self) -> str:
        """The hash of a row under the key, as SQL."""
        columns = ", ".join(identifier(column) for column in self.hashed)
        return f"hash({self.key}::UBIGINT, {columns})"

    @property
    def kept(self) -> str:
        """The declared columns as they are kept, where equal values are the same, and the salt."""
        kept = [
            _one_of_equals(identifier(column), type_)
            for column, type_ in zip(self.columns, self.types, strict=True)
        ]
        if self.salted:
            kept.append(f"hash({self.key}::UBIGINT, {self.person}) AS {SALT}")
        return ", ".join(kept)

    def described(self) -> tuple[object, ...]:
        """All that the kept table depends on beside the rows."""
        return (
            self.person,
            self.columns,
            self.types,
            self.hashed,
            self.most,
            self.drop_missing,
            self.key,
            self.salted,
        )


def bounding(table: Table, schema: Mapping[str, SqlType], key: int) -> RowCap:
    """The bounding of a table that protects people; `schema` are the columns of its source."""
    unit = table.unit
    assert unit.column is not None
    assert unit.max_rows is not None
    declared = {normal_name(name) for name in table.columns}
    columns = tuple(name for name in schema if normal_name(name) in declared)
    hashed = tuple(n for n, t in schema.items() if n in columns or t.kind is not Kind.OTHER)
    types = tuple(schema[name].name for name in columns)
    return RowCap(
        identifier(WHOLE + table.name),
        identifier(unit.column),
        columns,
        hashed,
        types,
        unit.max_rows,
        unit.null != "own",
        key,
        salted(unit),
    )


def _one_of_equals(column: str, type_: str) -> str:
    """A column in which floats that are equal are the same: text would tell -0.0 from 0.0."""
    if parse_type(type_).kind is not Kind.FLOAT:
        return column
    zero, nan = f"0::{type_}", f"'nan'::{type_}"
    cases = f"WHEN {column} = 0 THEN {zero} WHEN isnan({column}) THEN {nan} ELSE {column}"
    return f"CASE {cases} END AS {column}"


def missing_people(how: RowCap, run: Run) -> bool:
    """Whether some row has no person."""
    return bool(run(f"SELECT 1 FROM {how.source} WHERE {how.person} IS NULL LIMIT 1"))


def build(
    how: RowCap, target: str, run: Run, work: Callable[[Callable[[Connection], None]], None]
) -> None:
    """Fill the table `target`, which does not exist yet, with the rows that stay.

    `run` executes a statement, `work` whatever needs the connection itself.
    """
    try:
        _find_heavy(how, run)
        run(f"CREATE TEMP TABLE {_CUTS} (place BIGINT, probe_sql_upper UBIGINT, ties BOOLEAN)")
        for part in _parts(how, run):
            work(partial(_find_cuts, how=how, part=part))
        _keep(how, target, run)
        _complete(how, target, run)
    finally:
        for name in (_HEAVY, _CUTS, _TIED, _SHORT):
            run(f"DROP TABLE IF EXISTS {name}")


def _find_heavy(how: RowCap, run: Run) -> None:
    """People with more than T rows, and the largest hash of theirs that is worth ranking.

    About T + 6 sqrt(T) + 10 of a person's rows lie below it, so at least T nearly always do.
    """
    ranked = how.most + 6 * math.isqrt(how.most) + 10
    share = f"18446744073709549568.0::DOUBLE * ({ranked} / probe_sql_n)"
    run(
        f"CREATE TEMP TABLE {_HEAVY} AS SELECT probe_sql_person, {how.most} AS probe_sql_want,"
        " ROW_NUMBER() OVER () AS probe_sql_place,"
        f" least(probe_sql_n, {ranked}) AS probe_sql_ranked, CASE WHEN probe_sql_n <= {ranked}"
        f" THEN {_TOP}::UBIGINT ELSE floor({share})::UBIGINT END AS probe_sql_cut"
        f" FROM (SELECT {how.person} AS probe_sql_person, count(*) AS probe_sql_n"
        f" FROM {how.source} WHERE {how.person} IS NOT NULL GROUP BY 1"
        f" HAVING count(*) > {how.most})"
    )


def _parts(how: RowCap, run: Run) -> list[str]:
    """Conditions that divide the people, so that not too many rows are ranked at once."""
    (rows,) = run(f"SELECT coalesce(sum(probe_sql_ranked), 0)::BIGINT FROM {_HEAVY}")[0]
    count = min(_PARTS, math.ceil(rows / _PART_ROWS))
    if count <= 1:
        return [""] * count
    return [f" AND hash({how.person}) % {count} = {number}" for number in range(count)]


def _find_cuts(connection: Connection, how: RowCap, part: str) -> None:
    """Note the largest hash that each of some people keeps, and where it ties."""
    hashed = f"(SELECT {how.person}, {how.hash} AS probe_sql_hash FROM {how.source})"
    sql = (
        f"SELECT probe_sql_place AS p, probe_sql_hash AS h FROM {hashed} JOIN {_HEAVY}"
        f" ON {how.person} = probe_sql_person WHERE probe_sql_hash <= probe_sql_cut{part}"
    )
    with Scratch() as scratch:
        found = connection.execute(sql).fetchnumpy()
        places, hashes = scratch.keep(found["p"]), scratch.keep(found["h"])
        cuts = dict(zip(("place", "upper", "ties"), cut(places, hashes, how.most), strict=True))
        for column in cuts.values():
            scratch.keep(column)
        connection.register(_FOUND, cuts)
        try:
            connection.execute(f"INSERT INTO {_CUTS} SELECT place, upper, ties FROM {_FOUND}")
        finally:
            connection.unregister(_FOUND)


def cut(places: Ints, hashes: Hashes, most: int) -> tuple[Ints, Hashes, Mask]:
    """Find for each place that occurs the `most`-th smallest hash, and whether the next ties.

    Hashes are looked at as far as they fit beside a place: what is given is the largest that looks
    like the one meant. Whoever has no more than `most` keeps them all.
    """
    if not len(places):
        return (
            np.zeros(0, dtype=np.int64),
            np.zeros(0, dtype=np.uint64),
            np.zeros(0, dtype=np.bool_),
        )
    bits = np.uint64(int(places.max()).bit_length())
    beside = np.uint64(64) - bits
    with Scratch() as scratch:
        keys = scratch.keep(places.astype(np.uint64) << beside)
        keys |= hashes >> bits
        keys.sort()
        owners = scratch.keep(keys >> beside)
        first = np.flatnonzero(np.concatenate(([True], owners[1:] != owners[:-1])))
        size = np.diff(np.append(first, len(keys)))
        last = first + np.minimum(size, most) - 1
        following = np.minimum(last + 1, len(keys) - 1)
        whole = size <= most
        upper = keys[last] << bits | (np.uint64(1) << bits) - np.uint64(1)
        upper[whole] = _TOP
        return owners[first].astype(np.int64), upper, ~whole & (keys[last] == keys[following])


def _keep(how: RowCap, target: str, run: Run) -> None:
    """Make the table, with all rows of most people, and of the others those up to their cut.

    Where a cut ties, the rows that come first are ranked. Whoever should have a cut and has none
    is left to `_complete`.
    """
    joined = f"{_HEAVY} LEFT JOIN {_CUTS} ON probe_sql_place = place"
    run(
        f"CREATE TEMP TABLE {_TIED} AS SELECT probe_sql_person, probe_sql_want, probe_sql_upper"
        f" FROM {joined} WHERE ties"
    )
    upper = (
        "SELECT probe_sql_person, CASE WHEN NOT ties THEN probe_sql_upper END AS probe_sql_upper"
    )
    present = f"{how.person} IS NOT NULL AND " if how.drop_missing else ""
    run(
        f"CREATE TABLE {target} AS SELECT {how.kept} FROM {how.source} LEFT JOIN"
        f" ({upper} FROM {joined}) ON {how.person} = probe_sql_person"
        f" WHERE {present}CASE WHEN probe_sql_person IS NULL THEN true"
        f" ELSE {how.hash} <= probe_sql_upper END"
    )
    _rank(how, target, _TIED, f"{how.hash} <= probe_sql_upper", run)


def _rank(how: RowCap, target: str, people: str, condition: str, run: Run) -> None:
    """Add the first rows that `people` want, of those that satisfy the condition."""
    columns = tuple(map(identifier, how.columns))
    rows = FirstRows(how.person, columns, (how.hash, *columns))
    origin = f"{how.source} JOIN {people} ON {how.person} = probe_sql_person WHERE {condition}"
    most = "probe_sql_want"
    run(f"INSERT INTO {target} {rows.select(origin, most, kept=how.kept, carried=most)}")


def _complete(how: RowCap, target: str, run: Run) -> None:
    """Look above the cut for the rows that the few still want of whom too few lay below it.

    Those below were their first rows, so that these are the next.
    """
    run(
        f"CREATE TEMP TABLE {_SHORT} AS SELECT probe_sql_person, probe_sql_cut,"
        " probe_sql_want - coalesce(probe_sql_n, 0) AS probe_sql_want"
        f" FROM {_HEAVY} LEFT JOIN (SELECT {how.person} AS probe_sql_kept, count(*) AS probe_sql_n"
        f" FROM {target} GROUP BY 1) ON probe_sql_person = probe_sql_kept"
        " WHERE coalesce(probe_sql_n, 0) < probe_sql_want"
    )
    if run(f"SELECT 1 FROM {_SHORT} LIMIT 1"):
        _rank(how, target, _SHORT, f"{how.hash} > probe_sql_cut", run)
