"""Monotone formulas over numbered atoms: AND and OR without negation.

How large one may be is limited, so that simplifying it takes bounded time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from probe_sql.errors import Refused

Value = TypeVar("Value")
Style = Literal["sql", "words", "symbols"]
MAX_ATOMS = 16
MAX_LEAVES = 5000


@dataclass(frozen=True, slots=True)
class Leaf:
    """One occurrence of atom number `atom`."""

    atom: int


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of at least two parts."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of at least two parts."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """Always true (every group) or always false (no group)."""

    value: bool


Formula = Leaf | And | Or | Constant
TRUE = Constant(True)
FALSE = Constant(False)

_WORDS: Mapping[Style, tuple[str, str, str, str]] = {
    "sql": (" AND ", " OR ", "TRUE", "FALSE"),
    "words": (" and ", " or ", "true", "false"),
    "symbols": (" & ", " | ", "1", "0"),
}


def conjunction(parts: Iterable[Formula]) -> Formula:
    """AND of `parts`: flat, without constants or repeated parts; TRUE when nothing is left."""
    kept = _flat(parts, And, TRUE, FALSE)
    if kept is None:
        return FALSE
    if len(kept) < 2:
        return kept[0] if kept else TRUE
    return And(kept)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """OR of `parts`: flat, without constants or repeated parts; FALSE when nothing is left."""
    kept = _flat(parts, Or, FALSE, TRUE)
    if kept is None:
        return TRUE
    if len(kept) < 2:
        return kept[0] if kept else FALSE
    return Or(kept)


def _flat(
    parts: Iterable[Formula], kind: type[And] | type[Or], neutral: Constant, absorbing: Constant
) -> tuple[Formula, ...] | None:
    """Parts of one level in order of first appearance; None when one of them decides it."""
    kept: dict[Formula, None] = {}
    for part in parts:
        if part == absorbing:
            return None
        if part == neutral:
            continue
        inner = part.parts if isinstance(part, kind) else (part,)
        kept.update(dict.fromkeys(inner))
    return tuple(kept)


def interpret(
    formula: Formula,
    leaf: Callable[[int], Value],
    every: Callable[[list[Value]], Value],
    some: Callable[[list[Value]], Value],
    constant: Callable[[bool], Value],
) -> Value:
    """Value of `formula` computed bottom-up: `every` for AND, `some` for OR."""
    if isinstance(formula, Leaf):
        return leaf(formula.atom)
    if isinstance(formula, Constant):
        return constant(formula.value)
    values = [interpret(part, leaf, every, some, constant) for part in formula.parts]
    return every(values) if isinstance(formula, And) else some(values)


def simplified(formula: Formula) -> Formula:
    """The same formula rebuilt flat: no constants inside, no part twice on one level."""
    return substituted(formula, Leaf)


def substituted(formula: Formula, replacement: Callable[[int], Formula]) -> Formula:
    """`formula` with each leaf replaced by `replacement(atom)`, rebuilt flat."""
    return interpret(formula, replacement, conjunction, disjunction, Constant)


def leaves(formula: Formula) -> tuple[int, ...]:
    """The atom of each leaf, left to right, repetitions included."""
    found: list[int] = []
    _collect(formula, found)
    return tuple(found)


def _collect(formula: Formula, into: list[int]) -> None:
    if isinstance(formula, Leaf):
        into.append(formula.atom)
    elif not isinstance(formula, Constant):
        for part in formula.parts:
            _collect(part, into)


def occurrences(formula: Formula) -> dict[int, int]:
    """Number of leaves of each atom that occurs, by ascending atom (the paper's o_i)."""
    return dict(sorted(Counter(leaves(formula)).items()))


def atoms(formula: Formula) -> tuple[int, ...]:
    """The distinct atoms that occur, ascending."""
    return tuple(sorted(set(leaves(formula))))


def render(formula: Formula, names: Mapping[int, str] | Sequence[str], style: Style = "sql") -> str:
    """Text of `formula`, with parentheses where AND and OR meet and nowhere else."""
    conj, disj, true, false = _WORDS[style]
    if isinstance(formula, Constant):
        return true if formula.value else false
    if isinstance(formula, Leaf):
        return names[formula.atom]
    # SQL's precedence would spare `(a AND b) OR c` its pair, but people misread it without.
    other = Or if isinstance(formula, And) else And
    texts = (render(part, names, style) for part in formula.parts)
    return (conj if isinstance(formula, And) else disj).join(
        f"({text})" if isinstance(part, other) else text
        for part, text in zip(formula.parts, texts, strict=True)
    )


def dual(formula: Formula) -> Formula:
    """The formula with AND and OR exchanged: its negation, where leaves stand for negations."""
    if isinstance(formula, Leaf):
        return formula
    if isinstance(formula, Constant):
        return Constant(not formula.value)
    parts = tuple(dual(part) for part in formula.parts)
    return Or(parts) if isinstance(formula, And) else And(parts)


def check_size(distinct: int) -> None:
    """Refuse a formula of more than `MAX_ATOMS` distinct atoms."""
    if distinct > MAX_ATOMS:
        raise Refused(
            f"HAVING has {distinct} distinct comparisons; at most {MAX_ATOMS} are supported",
            why="each comparison takes a share of the error bound and of the privacy budget, and "
            "the work to simplify them grows with 2 to the number of comparisons",
            fix="split the query in two, or merge comparisons on one aggregate "
            "(BETWEEN instead of IN)",
        )


def check_length(count: int) -> None:
    """Refuse a formula of more than `MAX_LEAVES` leaves, which would take too long."""
    if count > MAX_LEAVES:
        raise Refused(
            f"HAVING has {count} comparisons; at most {MAX_LEAVES} are supported",
            why="simplifying it would take too long",
            fix="write the condition with fewer repetitions of the same comparison",
        )
