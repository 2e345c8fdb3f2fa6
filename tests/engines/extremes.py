"""Random conditions over the extremes of every type, on an engine and on DuckDB.

Every row is a group of its own, so that a difference names the row that makes it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import duckdb
import pyarrow as pa

from probe_sql.errors import ProbeError
from probe_sql.plan.plan import make_plan
from probe_sql.plan.tally import MeasureSql, Scan, Tally
from probe_sql.policy import Policy, by_name, parse_policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.exact import unsealed
from tests.audit import matrix_forms
from tests.audit.soup import Soup
from tests.examples.extremes import COLUMNS, POLICY, VALUES

ROWS = 150
_ABSENT = {"i128": "i64", "u64": "i32", "tsec": "ts", "tsn": "day"}  # types that others lack
_ODD = ("infinity", "5877642", "5881580")
_NAMES = re.compile(rf"\b({'|'.join(_ABSENT)})\b")
_MORE = {
    "i8": ["5", "-3"], "i32": ["-7", "12", "1000"], "i64": ["-7", "1234567890123"],
    "d2": ["0.05", "-2.50", "1.50", "2.50", "12.34"], "d18": ["0.5", "-1.25", "2.5"],
    "d38": ["0.5", "-2.5", "12.0000000001"], "f": ["0.1", "-2.5"],
    "x": ["0.1", "2.5", "-2.5", "1.5", "0.49999999999999994", "1e15", "-7.0", "127.5", "-128.5",
          "9.223372036854775807e18", "4503599627370497.5"],
    "day": ["'1969-12-31'", "'2400-02-29'", "'0044-03-15 (BC)'", "'1582-10-10'"],
    "ts": ["'1969-12-31 23:59:59.5'", "'1899-12-31 22:30:00'", "'0001-01-01 00:00:00'"],
    "s": ["' a '", "'abc'", "'\u3000x\u00a0'", "'e\u0301'"],
}  # fmt: skip


def policy() -> Policy:
    """The policy of the extremes, without the types that others lack, for groups of one row."""
    found = parse_policy(POLICY.format(last=ROWS))
    table = found.tables["rows"]
    columns = {name: column for name, column in table.columns.items() if name not in _ABSENT}
    table = replace(table, columns=columns, rows_per_group=1)
    caps = found.public["caps"]
    return replace(found, tables=by_name(table), public=by_name(caps), defaults={})


def tables(seed: int) -> dict[str, pa.Table]:
    """Rows with a random extreme in every column; infinite moments are DuckDB's alone."""
    rng = Random(seed)
    kept = {name: type_ for name, type_ in COLUMNS.items() if name not in _ABSENT}
    rows = []
    for group in range(1, ROWS + 1):
        cells = [str(group)]
        for name, type_ in kept.items():
            values = [*VALUES[name], *_MORE.get(name, [])]
            if name in ("day", "ts"):  # beyond timestamps DuckDB's optimiser drops TRY_CAST
                values = [v for v in values if not any(word in v for word in _ODD)]
            cells.append(f"CAST({rng.choice(values)} AS {type_})")
        rows.append(f"({', '.join(cells)})")
    names = ", ".join(["g", *kept])
    with duckdb.connect() as db:
        found = db.sql(f"SELECT * FROM (VALUES {', '.join(rows)}) v({names})").to_arrow_table()
        caps = db.sql(
            f"SELECT i::INTEGER AS g, -37 AS cap, 1.2501::DECIMAL(9,4) AS rate,"
            f" -3.125::DOUBLE AS frac FROM range({ROWS + 1}) r(i)"
        ).to_arrow_table()
    return {"rows": found, "caps": caps}


def atoms(backend: Backend, seed: int, wanted: int) -> tuple[list[str], int]:
    """Conditions of HAVING that the engine accepts, and how many it refused."""
    soup = Soup(Random(seed))
    found = (_NAMES.sub(lambda match: _ABSENT[match[1]], soup.atom(3)) for _ in itertools.count())
    return _accepted(backend, found, wanted)


def matrix_atoms(backend: Backend, seed: int, wanted: int) -> tuple[list[str], int]:
    """The same of every form of the dialect, over columns and literals of every type."""
    columns = [name for name in COLUMNS if name not in _ABSENT]
    return _accepted(backend, matrix_forms.conditions(Random(seed), columns, "b"), wanted)


def _accepted(backend: Backend, source: Iterable[str], wanted: int) -> tuple[list[str], int]:
    typed = policy().with_types(backend.schemas())
    found: list[str] = []
    refused = 0
    for atom in source:
        try:
            make_plan(_query(atom), typed)
        except ProbeError:
            continue
        try:
            make_plan(_query(atom), typed, engine=backend.engine)
        except ProbeError:
            refused += 1
            continue
        found.append(atom)
        if len(found) == wanted:
            break
    return found, refused


def differences(
    backend: Backend, reference: Backend, conditions: Sequence[str], each: int = 20
) -> Iterator[tuple[str, Any]]:
    """The conditions whose measures differ, with the groups and values; a few to a scan."""
    for start in range(0, len(conditions), each):
        part = list(conditions[start : start + each])
        if _measures(backend, part) != _measures(reference, part):
            for one in part:
                mine, truth = _measures(backend, [one]), _measures(reference, [one])
                if mine != truth:
                    yield one, _unlike(mine, truth)


def _unlike(mine: list[list[int]], truth: list[list[int]]) -> list[tuple[int, int, int]]:
    pairs = [
        pair for a, b in zip(mine, truth, strict=True) for pair in enumerate(zip(a, b, strict=True))
    ]
    return [(group, a, b) for group, (a, b) in pairs if a != b][:5]


def _measures(backend: Backend, conditions: list[str]) -> list[list[int]]:
    typed = policy().with_types(backend.schemas())
    plans = [make_plan(_query(one), typed, engine=backend.engine) for one in conditions]
    return exact(backend, together([plan.scan for plan in plans]))


def together(scans: Sequence[Scan]) -> Scan:
    """One scan for the measures of several over the same relation and keys."""
    tallies: list[Tally] = []
    measures: list[MeasureSql] = []
    for scan in scans:
        first = len(tallies)
        tallies += scan.tallies
        for measure in scan.measures:
            terms = tuple(replace(term, tally=term.tally + first) for term in measure.terms)
            guards = tuple(guard + first for guard in measure.guards)
            measures.append(replace(measure, terms=terms, guards=guards))
    return replace(scans[0], tallies=tuple(tallies), measures=tuple(measures))


def exact(backend: Backend, scan: Scan) -> list[list[int]]:
    """The measures of a scan, which only tests may look at."""
    with backend.measure(scan) as found:
        return [column.tolist() for column in unsealed(found)]


def _query(condition: str) -> str:
    return (
        f"SELECT rows.g FROM rows JOIN caps ON caps.g = rows.g GROUP BY rows.g HAVING {condition}"
    )
