"""When two things of a plan are the same, and when two questions are: decided here alone.

Everything is written down in the canonical form of `sql.canonical` and compared as bytes. Within
one query public tables go by their alias; between queries, by what they are joined on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

from probe_sql.errors import InternalError
from probe_sql.logic.formula import Constant, Formula, interpret
from probe_sql.measuring import Atom, Figure, Part
from probe_sql.plan.tally import MeasureSql, Multiplier, Scan, Tally, Threshold
from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys, TableKeys
from probe_sql.policy.model import Column
from probe_sql.sql.bound import Call, GroupKey
from probe_sql.sql.canonical import Value, conjunction, encode, expression
from probe_sql.sql.relation import Relation
from probe_sql.sql.scalar import Scalar
from probe_sql.sql.scope import exact

_VERSION = 3  # of the form below; what was written under another is another question


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a plan does not know of itself: where it is asked, and what public tables hold.

    `engine` names the database and its version, `source` the data, `schema` where unqualified
    tables are found, `role` as whom rows are read. `public` has a digest of the content of each
    public table.
    """

    engine: str
    source: str
    schema: str
    role: str
    public: Mapping[str, str]


def threshold(value: int | Threshold) -> bytes:
    """Write a threshold down: within a query, those that share it are equal in every group."""
    return _threshold(value, lambda scalar: scalar.identity)


def aggregate(call: Call) -> bytes:
    """Write an aggregate down: within a query, those that share it are equal in every group."""
    parts = (call.argument, call.filter, call.present)
    written = tuple(_optional(part, lambda scalar: scalar.identity) for part in parts)
    return encode((call.function, call.fraction, call.zero_if_empty, *written))


def domain(scan: Scan) -> bytes:
    """Write a key domain down: scans that share it have the same groups in the same order."""
    keys = tuple(_key(key, lambda scalar: scalar.identity) for key in scan.keys)
    owners = _owners(scan.relation)
    return encode((keys, _joint(scan), conjunction([one.ast for one in scan.kept], owners)))


def question(
    scan: Scan,
    atoms: Sequence[Atom],
    thresholds: Sequence[Threshold | None],
    formula: Formula,
    surroundings: Surroundings,
) -> str:
    """Give the digest that a question shares with every way to ask it, and with no other.

    It covers which groups HAVING selects, and from what: private table, unit with its caps and
    its rule for NULL, columns with their types and bounds, joins, WHERE, keys, atoms, formula,
    and the surroundings. It does not cover what is shown of them (that is `measure` and
    `figure`) and in which order, names, nor accuracy and epsilon: whoever answers from an
    earlier answer compares those himself.
    `thresholds` has an entry for each atom: where those of its groups come from.
    Privacy: questions that differ may not share a digest. Equal ones need not.
    """
    relation = scan.relation
    owners = _owners(relation)
    table = relation.table
    unit = table.unit
    named = sorted(tables(scan))
    written = _writer(owners)
    for name in named:
        if name not in surroundings.public:
            raise InternalError(f"the content of the public table {name} was not handed in")
    read = [*_frame(scan)]
    for atom, public in zip(atoms, thresholds, strict=True):
        read += [*_behind(scan, scan.measures[atom.measure]), *_of_threshold(public)]
    parts: Value = (
        _VERSION,
        (surroundings.engine, surroundings.source, surroundings.schema, surroundings.role),
        tuple((name, surroundings.public[name]) for name in named),
        table.name,
        (unit.column, unit.max_rows, unit.max_groups, unit.max_rows_per_group, unit.null),
        _columns(read, scan, owners),
        tuple(sorted(owners.values())),
        conjunction([condition.ast for condition in relation.where], owners),
        tuple(_key(key, written) for key in scan.keys),
        _joint(scan),
        conjunction([one.ast for one in scan.kept], owners),
        _formula(
            formula,
            [_atom(scan, *each, written) for each in zip(atoms, thresholds, strict=True)],
        ),
    )
    return hashlib.sha256(encode(parts)).hexdigest()


def chain(scan: Scan, number: int, surroundings: Surroundings) -> str:
    """Give the digest of a measure in every group: equal for all questions that measure it there.

    It covers what decides its exact values and what one row may change, and no condition.
    """
    frame = question(scan, (), (), Constant(True), surroundings)
    return hashlib.sha256(encode((_VERSION, "chain", frame, measure(scan, number)))).hexdigest()


def tables(scan: Scan) -> set[str]:
    """Name the public tables whose content decides something."""
    # What was released is no table of the database: its name tells its content.
    found = {join.table.name for join in scan.relation.joins if join.released is None}
    listed = [one.keys for key in scan.keys for one in key.columns]
    found |= {keys.table for keys in listed if isinstance(keys, TableKeys)}
    return found if scan.joint is None else found | {scan.joint.table}


def measure(scan: Scan, number: int) -> str:
    """Give the digest of a measure: within one question, those that share it are one number."""
    owners = _owners(scan.relation)
    if number >= len(scan.measures):
        raise InternalError("a rank is no measure")
    found = scan.measures[number]
    parts: Value = (
        _VERSION,
        "measure",
        _columns(_behind(scan, found), scan, owners),
        *_measure(scan, found, 1, _writer(owners)),
        found.delta,
    )
    return hashlib.sha256(encode(parts)).hexdigest()


def form(scan: Scan, number: int) -> dict[str, Fraction] | None:
    """Write a measure as a combination of tallies, which go by their digests.

    Within one question the same digests are the same numbers. None for a measure that is none: a
    rank, what a guard cuts off, or what public columns multiply.
    """
    if number >= len(scan.measures):
        return None
    found, owners = scan.measures[number], _owners(scan.relation)
    if found.guards or any(term.multiplier is not None for term in found.terms):
        return None
    weights: dict[str, Fraction] = {}
    for term in found.terms:
        one = scan.tallies[term.tally]
        columns = _columns(_read_by(one), scan, owners)
        parts: Value = (_VERSION, "tally", columns, _weight(one, _writer(owners)))
        digest = hashlib.sha256(encode(parts)).hexdigest()
        weights[digest] = weights.get(digest, Fraction(0)) + term.coefficient
    return {digest: weight for digest, weight in weights.items() if weight}


def figure(scan: Scan, value: Figure) -> str:
    """Give the digest of a value that is shown: within one question, of what and how it is made.

    Without its name, its place in the SELECT list, its margin, and the size for which that is
    bought.
    A field that a figure gains is a part of it.
    """
    left_out = ("name", "output", "rows", "margin", "parts", "rank")
    made: Value
    if value.rank is None:
        made = tuple(
            (measure(scan, part.measure), _fields(part, ("measure",))) for part in value.parts
        )
    else:
        owners = _owners(scan.relation)
        ranking = scan.rankings[value.rank.ranking]
        weight = _weight(ranking, _writer(owners))
        made = (_columns(_read_by(ranking), scan, owners), weight, value.rank.share)
    parts: Value = (_VERSION, "figure", _fields(value, left_out), made)
    return hashlib.sha256(encode(parts)).hexdigest()


# --- parts -----------------------------------------------------------------------------------

_Written = Callable[[Scalar], bytes]


def _writer(owners: Mapping[str, bytes]) -> _Written:
    return lambda scalar: scalar.written(owners)


def _fields(value: Figure | Part, without: Sequence[str]) -> Value:
    """Every field by its name, but some."""
    named = (field.name for field in fields(value) if field.name not in without)
    return tuple((name, getattr(value, name)) for name in named)


def _optional(value: Scalar | None, written: _Written) -> Value:
    return None if value is None else written(value)


def _threshold(value: int | Threshold, written: _Written) -> bytes:
    if isinstance(value, int):
        return encode(value)
    parts = tuple((factor, written(scalar)) for factor, scalar in value.parts)
    return encode((value.constant, parts, value.unit, value.floor, value.shift))


def _key(key: GroupKey, written: _Written) -> Value:
    types = (key.column_type.name, key.scalar.type.name)
    parts = tuple(_key(part, written) for part in key.parts)
    own = (written(key.scalar), _keys(key.keys), types, key.identity, key.step, _stairs(key))
    return (*own, parts)


def _stairs(key: GroupKey) -> Value:
    """Over which whole numbers a key is computed; their column stands for nothing else."""
    if key.stairs is None:
        return None
    ends = key.stairs.ends
    return expression(key.stairs.image), None if ends is None else tuple(map(expression, ends))


def _keys(keys: KeySet) -> Value:
    """A key domain; `repr` tells 1 from TRUE and 1.0, and is fast for a long list."""
    if isinstance(keys, ListKeys):
        return ("list", hashlib.sha256(repr(keys.values).encode()).digest())
    if isinstance(keys, IntegerKeys):
        return ("integers", keys.first, keys.last, keys.step)
    if isinstance(keys, DateKeys):
        return ("dates", keys.first, keys.last, keys.count, keys.unit)
    return ("table", keys.table, keys.column)


def _joint(scan: Scan) -> Value:
    joint = scan.joint
    return None if joint is None else (joint.columns, joint.table, joint.table_columns)


# --- between queries ---------------------------------------------------------------------------


def _owners(relation: Relation) -> dict[str, bytes]:
    """What owns the columns of each alias: a public table by its name and what it is joined on.

    A join comes after those it reads, so the aliases of those are known.
    """
    owners = {"t": encode(("private", relation.table.name)), "d": encode("keys")}
    for join in relation.joins:
        on = tuple((key, expression(value.ast, owners)) for key, value in join.on)
        owners[join.alias] = encode(("public", join.table.name, join.outer, on))
    return owners


def _atom(scan: Scan, atom: Atom, public: Threshold | None, written: _Written) -> bytes:
    """An atom, with its sign in the terms: `f > 3` and `-(-f) > 3` are one."""
    if public is None and not isinstance(atom.threshold, int):
        raise InternalError("a threshold of each group has no origin")
    line = public if public is not None else atom.threshold
    assert isinstance(line, int | Threshold)
    terms, guards, cut = _measure(scan, scan.measures[atom.measure], atom.sign, written)
    return encode((terms, guards, cut, _threshold(line, written), atom.delta))


def _measure(
    scan: Scan, value: MeasureSql, sign: int, written: _Written
) -> tuple[Value, Value, Value]:
    """The terms of a measure times a sign, its guards, and where they cut it off."""
    terms = frozenset(
        encode(
            (
                sign * term.coefficient,
                _weight(scan.tallies[term.tally], written),
                _multiplier(term.multiplier, written),
            )
        )
        for term in value.terms
    )
    guards = frozenset(_weight(scan.tallies[guard], written) for guard in value.guards)
    return terms, guards, _threshold(value.guard_threshold, written) if guards else None


def _weight(value: Tally, written: _Written) -> bytes:
    """A tally with the bounds of what one row adds.

    Without `after`: it excludes rows that pass two exclusive filters, and there are none.
    """
    present = _optional(value.present, written)
    return encode((value.written(written), value.low, value.high, present))


def _multiplier(value: Multiplier | None, written: _Written) -> Value:
    return None if value is None else (written(value.scalar), value.grid, value.low, value.high)


def _formula(formula: Formula, atoms: Sequence[bytes]) -> bytes:
    return interpret(
        formula,
        lambda atom: atoms[atom],
        lambda parts: encode(("and", frozenset(parts))),
        lambda parts: encode(("or", frozenset(parts))),
        encode,
    )


def _columns(
    scalars: Iterable[Scalar], scan: Scan, owners: Mapping[str, bytes]
) -> frozenset[bytes]:
    """The columns that expressions read, each with what the policy says of it."""
    tables = {"t": scan.relation.table} | {join.alias: join.table for join in scan.relation.joins}
    found = set()
    for alias, name in {column for scalar in scalars for column in scalar.columns}:
        if alias in tables:
            column = tables[alias].find_column(name)
            facts = None if column is None else _column(column)
            found.add(encode((owners[alias], name, facts)))
    return frozenset(found)


def _column(column: Column) -> Value:
    bounds = None if column.bounds is None else tuple(map(exact, column.bounds))
    type_ = None if column.resolved_type is None else column.resolved_type.name
    return (type_, bounds, column.scale, column.granularity)


def _frame(scan: Scan) -> Iterator[Scalar]:
    """Every expression that decides which rows there are and in which group each is."""
    yield from scan.relation.where
    for join in scan.relation.joins:
        yield from (value for _, value in join.on)
    yield from (key.scalar for key in scan.keys)
    yield from scan.kept


def _behind(scan: Scan, value: MeasureSql) -> Iterator[Scalar]:
    """Every expression that a measure is made of."""
    for number in (*(term.tally for term in value.terms), *value.guards):
        yield from _read_by(scan.tallies[number])
    yield from (t.multiplier.scalar for t in value.terms if t.multiplier is not None)
    if isinstance(value.guard_threshold, Threshold):
        yield from _of_threshold(value.guard_threshold)


def _read_by(value: Tally) -> list[Scalar]:
    """Every expression of a tally."""
    return [v for v in (value.argument, value.filter, value.present) if v is not None]


def _of_threshold(line: Threshold | None) -> Iterator[Scalar]:
    yield from () if line is None else (scalar for _, scalar in line.parts)
