"""Which margin each measured value gets, so that every column has the one that is asked for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.relative import Share
from probe_sql.measuring import Figure
from probe_sql.plan.tolerances import needs
from probe_sql.sql.around import Around, Derivation, OutputValue
from probe_sql.sql.bound import Output
from probe_sql.text import inside, normal_name, percent

Margin = float | str


@dataclass(frozen=True, slots=True)
class Margins:
    """The margin that is bought for each value, by output, and what is to be said of some."""

    bought: dict[int, Margin] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def adopt(self, wanted: Mapping[int, Margin]) -> bool:
        """Buy what a result needs, unless a value needs a share for one, for another a number."""
        merged: dict[int, Margin] = {}
        for output, margin in wanted.items():
            other = self.bought.get(output, margin)
            if isinstance(margin, str) and isinstance(other, str):
                parsed = [Share.parse(each) for each in (margin, other)]
                merged[output] = str(Share.strictest(each for each in parsed if each is not None))
            elif isinstance(margin, str) or isinstance(other, str):
                return False
            else:
                merged[output] = min(margin, other)
        self.bought.update(merged)
        return True


def find_margins(
    outputs: Sequence[Output], figures: Mapping[int, Figure], accuracy: Accuracy
) -> Margins:
    """Each value has its own margin, or what the columns need that are computed from it.

    A computed column has the margin of its name or of the call, unless one of its values is named
    by itself. What is asked for in units is bought so that it is printed no wider.
    """
    found, behind = Margins(), behind_results(outputs)
    inner = {value for values in behind.values() for value in values}
    for index, figure in figures.items():
        margin = accuracy.margin_of(figure.name)
        if margin is None or (index in inner and not named_itself(index, outputs, accuracy)):
            continue
        units = isinstance(margin, float) and not figure.whole
        found.bought[index] = inside(float(margin)) if units else margin
    for index, values in behind.items():
        tree, name = outputs[index].derived, outputs[index].name
        margin, measured = accuracy.margin_of(name), [each for each in values if each in figures]
        if tree is None or margin is None or not measured:
            continue
        named = [outputs[each].name for each in measured if named_itself(each, outputs, accuracy)]
        if named:
            found.notes.append(f"the margin of {name} follows from that of {' and '.join(named)}")
            continue
        wanted = needs(tree, margin, figures)
        if wanted is None or not found.adopt(wanted.margins):
            found.notes.append(unbought(name, "how wide it is depends on the values behind it"))
            continue
        if isinstance(margin, str) and accuracy.spend == "least" and not wanted.alone:
            found.notes.append(_shared(name, margin))
        if wanted.before:
            found.notes.append(f"the margin of {name} is that before it is rounded")
    return found


def _shared(name: str, margin: str) -> str:
    share = Share.parse(margin)
    assert share is not None, "options checks it"
    return (
        f"the margin of {name} is {percent(share.share)} of it, but where one of the values behind"
        " it has more than its share"
    )


def unbought(name: str, why: str) -> str:
    """Say that a margin that was asked for is not promised."""
    return f"no margin can be bought for {name}, {why}: it has what is left of epsilon"


def named_itself(index: int, outputs: Sequence[Output], accuracy: Accuracy) -> bool:
    """Whether a margin names a value that a column is computed from, and not the column."""
    name = normal_name(outputs[index].name)
    columns = (normal_name(output.name) for output in outputs if output.derived is not None)
    return name in accuracy.margins and name not in columns


def asked_of(
    index: int, outputs: Sequence[Output], accuracy: Accuracy
) -> tuple[tuple[str, Margin], ...]:
    """The margins that are asked for a value and for what is computed from it, by column."""
    results = [result for result, values in behind_results(outputs).items() if index in values]
    names = [outputs[each].name for each in results or [index]]
    margins = [(name, accuracy.margin_of(name)) for name in names]
    if results and named_itself(index, outputs, accuracy):
        margins.insert(0, (outputs[index].name, accuracy.margin_of(outputs[index].name)))
    return tuple((name, margin) for name, margin in margins if margin is not None)


def behind_results(outputs: Sequence[Output]) -> dict[int, tuple[int, ...]]:
    """The outputs that each computed one reads."""
    return {
        index: tuple(dict.fromkeys(_read(output.derived)))
        for index, output in enumerate(outputs)
        if output.derived is not None
    }


def _read(tree: Derivation) -> Sequence[int]:
    if isinstance(tree, Around):
        return [each for part in tree.arguments for each in _read(part)]
    return [tree.output] if isinstance(tree, OutputValue) else []
