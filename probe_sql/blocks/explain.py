"""EXPLAIN of a query with private blocks: each of them, its price, and what is around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from probe_sql.blocks.program import Program
from probe_sql.card import card, closed, preformatted
from probe_sql.loss import Loss
from probe_sql.markup import Html
from probe_sql.plan.brief import MORE, at_most, brief_lines
from probe_sql.plan.explain import Explanation
from probe_sql.sql.lineage import Lineage
from probe_sql.sql.outer import shown_outer
from probe_sql.sql.script import undecided
from probe_sql.text import limit, visible

_KINDS = {"exact": "exact", "linear": "with a margin", "derived": "computed from noisy values"}


@dataclass(frozen=True, slots=True)
class Outline:
    """A query of several blocks made presentable; `blocks` has the explanation of each.

    Where a block waits for another, its explanation has an example in place of what comes.
    """

    program: Program
    blocks: tuple[tuple[str, Explanation], ...]
    lines: Lineage

    def __getattr__(self, name: str) -> Any:
        """Refuse what only the explanation of one block has, and say where that is."""
        raise AttributeError(
            f"a query with SQL around private blocks has no {name}: each of its .blocks has"
        )

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """The explanation of each block."""
        return tuple(explanation for _, explanation in self.blocks)

    @property
    def worst_loss(self) -> Loss:
        """The most that all blocks together can be charged."""
        total = Loss.NOTHING
        steps = [step for step in self.program.steps if step.leads]
        for step, (_, explanation) in zip(steps, self.blocks, strict=True):
            waits = bool(step.block.holes)
            asked = Loss.asked(step.asked.accuracy.epsilon)
            total += max(asked, step.asked.least) if waits else explanation.worst_loss
        return total

    @property
    def epsilon_worst(self) -> float:
        """The most epsilon that the query can be charged."""
        return self.worst_loss.epsilon

    @property
    def free(self) -> str | None:
        """Tell of when the answers are that would all be given again; None where a block is asked.

        A block that waits for another is explained by an example, whose answer is not its own.
        """
        steps = [step for step in self.program.steps if step.leads]
        told = [each.free for each in self.explanations if not each.plan.decided_free]
        if not told or None in told or any(step.block.holes for step in steps):
            return None
        return "; ".join(dict.fromkeys(filter(None, told)))

    @property
    def verbose(self) -> bool:
        """Whether EXPLAIN VERBOSE asked for all of it."""
        return self.program.script.verbose

    def brief(self, remaining: float | None, width: int, epsilon: str) -> list[str]:
        """The short form in lines: the price of all, then each block in its own short form."""
        total = at_most(self.epsilon_worst, remaining, " in all")
        if self.free is not None:
            total = f"Free: {self.free}. Asked anew: {total}"
        lines = [total.replace("ε", epsilon), *(line.strip() for line in self._shares())]
        lines += [f"{sentence}." for sentence in undecided(self.program.script)]
        for name, explanation in self.blocks:
            lines += ["", f"{visible(name)}:"]
            inner = brief_lines(explanation, None, width - 2, epsilon)[:-1]
            lines += [f"  {line}".rstrip() for line in inner]
        return [*lines, "", MORE]

    def __str__(self) -> str:
        read = sum(step.same is None for step in self.program.steps)
        lines = [f"blocks      {read} that read private rows", *self._shares()]
        for name, explanation in self.blocks:
            many = any(step.receipt and step.name == name for step in self.program.steps)
            word = "blocks" if many else "block"
            lines += ["", name if name.startswith("block ") else f"{word} {name}"]
            lines += [f"  {line}" for line in str(explanation).split("\n")]
        lines += ["", "around them", *(f"  {line}" for line in self._around())]
        lines += ["", f"cost        at most epsilon {limit(self.epsilon_worst)} is charged in all"]
        return "\n".join(map(visible, lines))

    def _shares(self) -> list[str]:
        lines = []
        for step in self.program.steps:
            name, epsilon = step.block.name, step.plan.accuracy.epsilon
            if step.same is not None:
                equal = self.program.steps[step.same - 1].block.name
                lines.append(f"            {name}: the same as {equal}, asked once")
            elif not step.leads:
                continue
            elif step.receipt is not None:
                lines.append(
                    f"            {step.name}: at most epsilon {epsilon:.4g} for all, in one"
                    " charge: no row passes WHERE of two of them"
                )
            elif step.block.holes:
                lines.append(
                    f"            {name}: at most epsilon {limit(epsilon)}, after the subqueries in"
                    " it; planned here with an example for each"
                )
            elif not step.pays:
                lines.append(f"            {name}: free, public facts decide it")
            else:
                lines.append(f"            {name}: at most epsilon {limit(epsilon)}")
        return lines

    def _around(self) -> list[str]:
        names = {step.block.table: step.block.name for step in self.program.steps}
        text = shown_outer(self.program.script.outer, names).split("\n")
        fits = len(self.lines.columns) == len(self.program.columns)
        for index, column in enumerate(self.program.columns):
            kind = self.lines.columns[index].kind if fits else "derived"
            text.append(f"{column.name}: {column.type}, {_KINDS[kind]}")
        return [*text, *undecided(self.program.script)]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The text, where IPython would show the parts."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        price = f"At most ε {limit(self.epsilon_worst)} is charged in all"
        parts = [
            closed(f"The block {name}", Html(explanation._repr_html_()))
            for name, explanation in self.blocks
        ]
        return str(card(price, parts, closed("Around them", preformatted(self._around()))))

    def whole(self) -> dict[str, Any]:
        """All of it as JSON-ready values, from which a client makes it anew."""
        return {**self.as_dict(), "text": str(self)}

    def as_dict(self) -> dict[str, Any]:
        """EXPLAIN as JSON-ready values."""
        names = {step.block.table: step.block.name for step in self.program.steps}
        return {
            "blocks": [
                {"name": name, **explanation.as_dict()} for name, explanation in self.blocks
            ],
            "equal": {
                step.block.name: self.program.steps[step.same - 1].block.name
                for step in self.program.steps
                if step.same is not None
            },
            "shared": [
                list(step.receipt.names)
                for step in self.program.steps
                if step.receipt is not None and step.leads
            ],
            "around": shown_outer(self.program.script.outer, names),
            "columns": [
                {"name": column.name, "type": column.type} for column in self.program.columns
            ],
            "epsilon_worst": self.epsilon_worst,
        }


def brief(
    explained: Explanation | Outline, remaining: float | None, width: int, epsilon: str = "ε"
) -> list[str]:
    """EXPLAIN in a few lines: price, bounds and what stays in doubt; `remaining` if it is known."""
    if isinstance(explained, Outline):
        return explained.brief(remaining, width, epsilon)
    return brief_lines(explained, remaining, width, epsilon)
