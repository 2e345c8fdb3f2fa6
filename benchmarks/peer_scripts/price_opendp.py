"""OpenDP says what values within margins cost, and what it counts for all of them together.

Standard input has one JSON line: the size of a group, how often a margin may fail, the most that a
question may cost, and questions with value, margin and bounds. Standard output gets the epsilon of
each and that of their composition.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp

SPACE = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.symmetric_distance()


def counted(margin: float, failure: float) -> Any:
    """A count whose noise stays within the margin."""
    scale = dp.accuracy_to_discrete_laplacian_scale(float(margin), failure)
    return SPACE >> dp.t.then_count(TO="i64") >> dp.m.then_laplace(scale)


def summed(bounds: tuple[float, float], margin: float, failure: float) -> Any:
    """A sum whose noise stays within the margin."""
    scale = dp.accuracy_to_laplacian_scale(float(margin), failure)
    clamped = SPACE >> dp.t.then_clamp(bounds) >> dp.t.then_sum()  # type: ignore[no-untyped-call]
    return clamped >> dp.m.then_laplace(scale)


def measured(question: dict[str, Any], rows: int, failure: float) -> list[Any]:
    """The measurements behind a value; a mean is a sum around the middle and a count, at one price.

    What the count's noise adds to the margin of a mean is left out, in favour of the peer.
    """
    low, high = map(float, question["bounds"])
    if question["value"] == "count":
        return [counted(question["margin"], failure)]
    if question["value"] == "sum":
        return [summed((low, high), question["margin"], failure)]
    half = (high - low) / 2
    total = summed((-half, half), question["margin"] * rows, failure)
    number = SPACE >> dp.t.then_count(TO="i64") >> dp.m.then_laplace(1 / total.map(1))
    return [total, number]


def main() -> None:
    """Answer the one line."""
    dp.enable_features("contrib", "idealized-numerics")
    task = json.loads(sys.stdin.readline())
    made = [measured(one, task["rows"], task["failure"]) for one in task["questions"]]
    epsilons = [sum(float(each.map(1)) for each in parts) for parts in made]
    asked = [
        each
        for parts, epsilon in zip(made, epsilons, strict=True)
        if epsilon <= task["most"]
        for each in parts
    ]
    composed: Any = dp.c.make_composition(asked)
    together = float(composed.map(1))
    name = "OpenDP " + version("opendp")
    print(json.dumps({"version": name, "epsilons": epsilons, "together": together}), flush=True)


if __name__ == "__main__":
    main()
