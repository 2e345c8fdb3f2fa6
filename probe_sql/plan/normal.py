"""Comparisons in normal form: every atom is `sign * measure > threshold`, all integers.

The table of theory 2.1, row by row: counts, sums, averages, linear combinations and ratios
become one integer sum; MIN, MAX and quantiles count rows on the two sides of a constant.
SQL's NULL holds: an aggregate that is NULL selects nothing, whatever the comparison.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from probe_sql.errors import ProbeError, Refused, SqlError
from probe_sql.logic.merge_thresholds import HalfLine
from probe_sql.measuring import FAR, OPEN, Atom, Ints, Rank
from probe_sql.plan import identity
from probe_sql.plan.apart import Apart
from probe_sql.plan.linear import Quotient, Summand, add, half_line, quotient, scale, sized
from probe_sql.plan.ranges import Ranges
from probe_sql.plan.sensitivity import presence, row_bounds
from probe_sql.plan.tally import MeasureSql, Multiplier, Tally, Term, Threshold
from probe_sql.plan.weights import (
    INTEGER_LIMIT,
    count_where,
    public_multiplier,
    ranking_of,
    side,
    tally_of,
)
from probe_sql.sql.bound import Call, Comparison, Value
from probe_sql.sql.compare import not_null
from probe_sql.sql.scalar import fraction_gcd

_WIDEST = 10**300  # of a range in steps, so that it stays a DOUBLE
_MIRROR = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "=": "=", "<>": "<>"}


@dataclass(frozen=True, slots=True)
class Measure:
    """An integer aggregate of sensitivity `delta`; one step is `unit` of the SQL value."""

    scan: MeasureSql
    delta: int
    unit: Fraction
    text: str
    single: bool  # one count or sum: the threshold says how large it may be
    aggregates: tuple[str, ...]  # texts of the SQL aggregates it comes from


@dataclass(frozen=True, slots=True)
class AtomOrigin:
    """What an atom was in SQL: the facts beside it that only a plan reads.

    `threshold` is where that of each group comes from, if the query does not tell it. `line` is
    the constant that one sum, count or average is compared with.
    """

    text: str
    half_line: HalfLine | None
    threshold: Threshold | None
    note: str | None = None
    line: Fraction | None = None


@dataclass(slots=True)
class Normaliser:
    """Brings comparisons to normal form, and numbers atoms, measures and tallies as they come.

    `origins` has an entry for each atom.
    """

    ranges: Ranges
    tallies: list[Tally] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    atoms: list[Atom] = field(default_factory=list)
    origins: list[AtomOrigin] = field(default_factory=list)
    apart: Apart = field(default_factory=Apart)
    rankings: list[Tally] = field(default_factory=list)
    ranks: list[Rank] = field(default_factory=list)
    _tally_index: dict[Hashable, int] = field(default_factory=dict)
    _measure_index: dict[Hashable, int] = field(default_factory=dict)
    _atom_index: dict[Hashable, int] = field(default_factory=dict)

    def atom(self, comparison: Comparison, op: str) -> int:
        """The number of the atom `left op right`, shared with an earlier equal one."""
        try:
            return self._atom(comparison, op)
        except ProbeError as error:
            error.span = error.span or comparison.span
            raise

    def _atom(self, comparison: Comparison, op: str) -> int:
        left, right = comparison.left, comparison.right
        text = f"{comparison.left.text} {op} {comparison.right.text}"
        if _ordered(right) and not _ordered(left):
            left, right, op = right, left, _MIRROR[op]
        if _ordered(left):
            assert isinstance(left, Call)
            if not isinstance(right, Value):
                raise Refused(
                    f"{left.text} can only be compared with a constant or a public column",
                    why="it is decided by counting rows on both sides of one constant",
                    fix=f"compare {left.text} with a number",
                    span=comparison.span,
                )
            return self._order_statistic(left, op, right, text)
        return self._linear(comparison, op, text)

    def _number(
        self,
        index: int,
        sign: int,
        threshold: int | Threshold,
        text: str,
        half_line: HalfLine | None,
        note: str | None = None,
        line: Fraction | None = None,
    ) -> int:
        """The number of the atom `sign * measure > threshold`: an earlier one, or the next."""
        number = len(self.atoms)
        found = self._atom_index.setdefault((index, sign, identity.threshold(threshold)), number)
        if found == number:
            measure = self.measures[index]
            known, public = (threshold, None) if isinstance(threshold, int) else (OPEN, threshold)
            size = self._range(text, measure, known)
            self.atoms.append(Atom(f"Q{number + 1}", index, sign, known, measure.delta, size))
            self.origins.append(AtomOrigin(text, half_line, public, note, line))
        return found

    def _range(self, text: str, measure: Measure, threshold: int | Ints) -> float:
        """The public range of a measure in steps, where the comparison `text` reads it."""
        hint = self.ranges.hinted(text, measure.aggregates)
        if hint is not None:
            return max(1.0, float(min(hint / measure.unit, _WIDEST)))
        return self.ranges.guessed(measure.delta, threshold if measure.single else None)

    # --- counts, sums, averages, ratios ---

    def _linear(self, comparison: Comparison, op: str, text: str) -> int:
        left, right = quotient(comparison.left), quotient(comparison.right)
        whole = add(left, scale(right, Fraction(-1)), comparison.span)
        parts = [part for part in whole.parts if part.tally is not None]
        if not parts:
            raise SqlError(
                "both sides are the same aggregate",
                why="nothing is left to compare",
                span=comparison.span,
            )
        sized(replace(whole, parts=tuple(parts)), comparison.span)
        fixed = [part for part in whole.parts if part.tally is None]
        upward = op in (">", ">=")
        oriented = parts if upward else [_negated(part) for part in parts]
        constant = [part if not upward else _negated(part) for part in fixed]
        terms, unit = self.terms(oriented)
        threshold = _integer_threshold(constant, unit, strict=op in (">", "<"))
        threshold = _with_multipliers(threshold, terms, unit, strict=op in (">", "<"))
        aggregates = tuple(dict.fromkeys(_calls(comparison.left) + _calls(comparison.right)))
        guards = self._guards(whole.guards, terms, threshold)
        axis = half_line(whole, op)
        measure, sign = self._measure(terms, unit, guards, threshold, aggregates)
        sides = (comparison.left, comparison.right)
        alone = any(isinstance(side, Call) for side in sides)
        constants = [side.scalar.constant for side in sides if isinstance(side, Value)]
        line = constants[0] if alone and constants else None
        known = line if isinstance(line, Fraction) else None
        return self._number(measure, sign, threshold, text, axis, line=known)

    def terms(self, parts: Sequence[Summand]) -> tuple[tuple[Term, ...], Fraction]:
        """Integer coefficients of the parts and the SQL value of one step."""
        entries: list[tuple[Fraction, Tally, Multiplier | None]] = []
        unit = Fraction(0)
        for part in parts:
            assert part.tally is not None
            multiplier = None
            factor = part.factor
            if part.public is not None:
                multiplier = public_multiplier(part.public)
                factor *= multiplier.grid
            entries.append((factor, part.tally, multiplier))
            unit = fraction_gcd(unit, abs(factor))
        coefficients = [factor / unit for factor, _, _ in entries]
        largest = max(
            abs(c) * max(abs(t.low), abs(t.high), 1)
            for c, (_, t, _) in zip(coefficients, entries, strict=True)
        )
        if largest > INTEGER_LIMIT:
            # Coefficients with too many digits: round them to a grid 2^-40 of the largest.
            exponent = math.floor(math.log2(largest * unit)) - 40
            unit = Fraction(2) ** exponent
            coefficients = [Fraction(round(factor / unit)) for factor, _, _ in entries]
            if not all(coefficients):
                raise Refused(
                    "the aggregates of this condition differ too much in size",
                    why="beside the largest, the smallest would be rounded away",
                    fix="bound the larger one, with LEAST and GREATEST",
                )
        terms = [
            Term(int(c), self.tally(tally), multiplier)
            for c, (_, tally, multiplier) in zip(coefficients, entries, strict=True)
            if int(c)
        ]
        return tuple(terms), unit

    def tally(self, tally: Tally) -> int:
        """The number of a tally, shared with an earlier equal one."""
        index = self._tally_index.setdefault(tally.identity, len(self.tallies))
        if index == len(self.tallies):
            self.tallies.append(tally)
        return index

    def _guards(
        self, guards: tuple[Tally, ...], terms: tuple[Term, ...], threshold: int | Threshold
    ) -> tuple[int, ...]:
        """Guards that are needed: where NULL would otherwise pass the threshold.

        If every tally of the measure is zero whenever the guard counts no row, the measure is
        0 there, and 0 > t is false for t >= 0: no guard is needed.
        """
        needed = []
        for guard in guards:
            covered = all(
                presence(self.tallies[term.tally]).implies(presence(guard)) for term in terms
            )
            if not covered or isinstance(threshold, Threshold) or threshold < 0:
                needed.append(self.tally(guard))
        return tuple(needed)

    def _measure(
        self,
        terms: tuple[Term, ...],
        unit: Fraction,
        guards: tuple[int, ...],
        threshold: int | Threshold,
        aggregates: tuple[str, ...],
    ) -> tuple[int, int]:
        """Number and sign of a measure; one without guards is shared up to its sign."""
        sign = 1
        if not guards and terms[0].coefficient < 0:
            sign = -1
            terms = tuple(Term(-t.coefficient, t.tally, t.multiplier) for t in terms)
        least, greatest = row_bounds(terms, self.tallies, self.apart)
        delta = max(abs(least), abs(greatest))
        if delta == 0:
            raise SqlError("this aggregate is the same for every row", why="nothing can change it")
        if delta > INTEGER_LIMIT:
            raise Refused(
                "the bounds of this condition are too wide for exact integers",
                fix="the data owner can declare tighter bounds; or bound what is summed, with "
                "numbers that you know: LEAST(GREATEST(..., low), high)",
            )
        multiplied = tuple(
            (t.coefficient, t.tally, b"" if t.multiplier is None else t.multiplier.scalar.identity)
            for t in terms
        )
        guard_key = (guards, identity.threshold(threshold)) if guards else ()
        key = (multiplied, guard_key)
        if key not in self._measure_index:
            self._measure_index[key] = len(self.measures)
            scan = MeasureSql(terms, guards, threshold if guards else 0, delta)
            text = self._text(terms, guards)
            single = len(terms) == 1 and terms[0].multiplier is None
            self.measures.append(Measure(scan, delta, unit, text, single, aggregates))
        return self._measure_index[key], sign

    def plain_measure(self, parts: list[Summand]) -> tuple[int, int, Fraction]:
        """A measure whose value is wanted itself: its number, sign and the value of a step."""
        terms, unit = self.terms(parts)
        return *self.plain(terms, unit), unit

    def plain(self, terms: tuple[Term, ...], unit: Fraction) -> tuple[int, int]:
        """Number and sign of the measure that is the sum of these terms."""
        return self._measure(terms, unit, (), 0, ())

    def rank(self, call: Call) -> int:
        """The number of the rank of an order statistic, shared with an earlier equal one."""
        assert call.fraction is not None
        tally = ranking_of(call)
        known = [each.identity for each in self.rankings]
        if tally.identity not in known:
            self.rankings.append(tally)
            known.append(tally.identity)
        rank = Rank(known.index(tally.identity), call.fraction, tally.low, tally.high)
        if rank not in self.ranks:
            self.ranks.append(rank)
        return self.ranks.index(rank)

    def measured_shift(self, form: Quotient, measured: set[int]) -> Fraction | None:
        """c such that `sum - c * count` of this average is among the measured, if any is."""
        if len(form.parts) != 1:
            return None
        top, bottom = form.parts[0], form.denominator
        if top.tally is None or bottom is None or bottom.tally is None:
            return None
        above, below = top.tally.identity, bottom.tally.identity
        for index in sorted(measured):
            measure = self.measures[index]
            weights = {self.tallies[t.tally].identity: t.coefficient for t in measure.scan.terms}
            if measure.scan.guards or set(weights) != {above, below}:
                continue
            if any(term.multiplier is not None for term in measure.scan.terms):
                continue
            ratio = Fraction(weights[below], weights[above])
            return -ratio * top.factor / bottom.factor
        return None

    # --- MIN, MAX, MEDIAN, QUANTILE_DISC ---

    def _order_statistic(self, call: Call, op: str, value: Value, text: str) -> int:
        """Count the rows beyond the constant.

        MAX(x) > c iff some x > c; MAX(x) < c iff there are rows and none has x >= c.
        QUANTILE(x, p) > c iff #(x <= c) < p n, and p n - #(x <= c) is a sum over rows.
        """
        assert call.argument is not None
        x, c = call.argument, value.scalar
        half_line = None
        if isinstance(c.constant, Fraction):
            half_line = HalfLine(
                axis=(call.function, call.text, str(call.fraction)),
                up=op in (">", ">="),
                bound=c.constant,
                strict=op in (">", "<"),
                integer=False,
                nullable=True,
                lowest=None,
            )
        beyond = {">": ">", ">=": ">=", "<": ">=", "<=": ">"}[op]
        if call.function == "quantile":
            return self._quantile(call, op, beyond, value, text, half_line)
        if call.function == "min":
            beyond = {"<": "<", "<=": "<=", ">": "<=", ">=": "<"}[op]
        words = f"{call.argument_text} {beyond} {value.text}"
        counted = count_where(side(x, beyond, c), call, words)
        some = op in ((">", ">=") if call.function == "max" else ("<", "<="))
        terms = (Term(1 if some else -1, self.tally(counted)),)
        return self._rows(call, value, terms, some, text, half_line)

    def _rows(
        self,
        call: Call,
        value: Value,
        terms: tuple[Term, ...],
        some: bool,
        text: str,
        half_line: HalfLine | None,
        note: str | None = None,
    ) -> int:
        """`terms > 0`, or, with `some` False, `terms > -1` where the group has rows to compare."""
        assert call.argument is not None
        threshold = 0 if some else -1
        guards: tuple[int, ...] = ()
        if not some:
            guard = tally_of(call, "count")
            if not value.scalar.is_constant:
                # Beside a public value that is NULL no row compares, and nothing is selected.
                words = f"{value.text} IS NOT NULL"
                guard = count_where(not_null(value.scalar), call, words, present=call.present)
            guards = (self.tally(guard),)
        measure, sign = self._measure(terms, Fraction(1), guards, threshold, (call.text,))
        return self._number(measure, sign, threshold, text, half_line, note)

    def _quantile(
        self, call: Call, op: str, beyond: str, value: Value, text: str, half_line: HalfLine | None
    ) -> int:
        assert call.argument is not None
        assert call.fraction is not None
        x, p = call.argument, call.fraction
        within = {">": "<=", ">=": "<"}[beyond]
        above, below = (
            count_where(
                side(x, test, value.scalar), call, f"{call.argument_text} {test} {value.text}"
            )
            for test in (beyond, within)
        )
        some = op in (">", ">=")
        sign = 1 if some else -1
        terms = [Term(sign * p.numerator, self.tally(above))]
        if p != 1:
            weight = p.denominator - p.numerator
            terms.append(Term(-sign * weight, self.tally(below)))
        note = None
        if call.text.lower().startswith("median"):
            note = "MEDIAN is the lower of the two middle values where their number is even"
        if re.match(r"(percentile|quantile)_cont\b", call.text.lower()):
            note = f"{call.text} is taken as QUANTILE_DISC: a row's value, never one between two"
        return self._rows(call, value, tuple(terms), some, text, half_line, note)

    def _text(self, terms: tuple[Term, ...], guards: tuple[int, ...]) -> str:
        """The measure as arithmetic over tallies, for EXPLAIN."""
        pieces = []
        for term in terms:
            tally = self.tallies[term.tally]
            name = tally.label
            if term.multiplier is not None:
                name = f"{term.multiplier.scalar.ast.name} * {name}"
            factor = abs(term.coefficient)
            body = name if factor == 1 else f"{factor} * {name}"
            minus = term.coefficient < 0
            pieces.append((" - " if minus else " + ") + body)
        text = "".join(pieces)
        text = text[3:] if text.startswith(" + ") else "-" + text[3:]
        if guards:
            caps = " and ".join(f"{self.tallies[g].label} > 0" for g in guards)
            return f"{text}, where {caps}"
        return text


def _ordered(expression: object) -> bool:
    return isinstance(expression, Call) and expression.function in ("min", "max", "quantile")


def _calls(expression: object) -> list[str]:
    if isinstance(expression, Call):
        return [expression.text]
    left, right = getattr(expression, "left", None), getattr(expression, "right", None)
    return (_calls(left) if left is not None else []) + (_calls(right) if right else [])


def _negated(part: Summand) -> Summand:
    return Summand(-part.factor, part.tally, part.public)


def _integer_threshold(constant: list[Summand], unit: Fraction, strict: bool) -> int | Threshold:
    """t with `f * unit > r` iff `f > t`: floor(r), or ceil(r) - 1 where the comparison is >=."""
    number = sum((part.factor for part in constant if part.public is None), Fraction(0))
    public = tuple((p.factor, p.public) for p in constant if p.public is not None)
    if public:
        return Threshold(number, public, unit, strict, 0 if strict else -1)
    ratio = number / unit
    threshold = math.floor(ratio) if strict else math.ceil(ratio) - 1
    return max(-FAR, min(FAR, threshold))


def _with_multipliers(
    threshold: int | Threshold, terms: tuple[Term, ...], unit: Fraction, strict: bool
) -> int | Threshold:
    """Let a NULL of a public multiplier reach the threshold: such a group never passes."""
    silent = tuple((Fraction(0), t.multiplier.scalar) for t in terms if t.multiplier is not None)
    if not silent:
        return threshold
    if isinstance(threshold, Threshold):
        return replace(threshold, parts=threshold.parts + silent)
    whole = threshold if strict else threshold + 1
    return Threshold(whole * unit, silent, unit, strict, 0 if strict else -1)
