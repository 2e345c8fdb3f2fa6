"""How a column of an outer query came about, and what arithmetic makes of that.

Utility: margins follow sums, differences and written factors, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class NoisyTerm:
    """A number times a noisy value: column `column` of the block behind `source`.

    `summed`: times the sum of these values over the rows that are listed; `averaged`: divided by
    the number of these rows.
    """

    factor: Fraction
    source: int
    column: int
    summed: bool = False
    averaged: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """How a column came about: exact (keys, public values), linear in noisy values, or derived.

    `terms` are of a linear one, `slack` is what rounding may add.
    """

    kind: str  # 'exact' | 'linear' | 'derived'
    terms: tuple[NoisyTerm, ...] = ()
    offset: Fraction = Fraction(0)
    slack: Fraction = Fraction(0)

    @property
    def plain(self) -> NoisyTerm | None:
        """The one value that is shown as it is."""
        bare = len(self.terms) == 1 and not self.offset and not self.slack
        return self.terms[0] if bare and self.terms[0].factor == 1 and not self.summed else None

    @property
    def summed(self) -> bool:
        """Whether it is made of a sum over several rows."""
        return any(term.summed for term in self.terms)


EXACT = Origin("exact")
DERIVED = Origin("derived")


def number(node: exp.Expr | None) -> Fraction | None:
    """The number that is written there; 0 where nothing is."""
    if node is None:
        return Fraction(0)
    if isinstance(node, exp.Paren):
        return number(node.this)
    if isinstance(node, exp.Neg):
        inner = number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            return Fraction(node.this)
        except ValueError:
            return None
    return None


def times(origin: Origin | None, factor: Fraction) -> Origin | None:
    """A column times a number."""
    if origin is None:
        return None
    terms = tuple(replace(term, factor=term.factor * factor) for term in origin.terms)
    return replace(
        origin, terms=terms, offset=origin.offset * factor, slack=origin.slack * abs(factor)
    )


def added(left: Origin | None, right: Origin | None, sign: Fraction) -> Origin | None:
    """One column and `sign` times another, where noisy values are in it."""
    right = times(right, sign)
    if left is None or right is None or not (left.terms or right.terms):
        return None
    factors: dict[tuple[int, int, bool, bool], Fraction] = {}
    for term in (*left.terms, *right.terms):
        at = (term.source, term.column, term.summed, term.averaged)
        factors[at] = factors.get(at, Fraction(0)) + term.factor
    terms = tuple(NoisyTerm(factor, *at) for at, factor in factors.items() if factor)
    return Origin("linear", terms, left.offset + right.offset, left.slack + right.slack)
