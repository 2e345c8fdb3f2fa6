"""OpenDP answers questions on standard input, one JSON line each, with JSON lines.

The first line names the file of rows and the questions; each further line a question, an epsilon
and a number of runs. Groups are disjoint, so each is measured at the whole epsilon.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp

CANDIDATES = 20_001
SPACE = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.symmetric_distance()


def laplace(build: Callable[[float], Any], epsilon: float) -> Any:
    """The measurement of the smallest scale that costs at most `epsilon` for one row."""
    return dp.binary_search_chain(build, d_in=1, d_out=epsilon)


def count(_bounds: tuple[float, float], epsilon: float) -> Callable[[list[float]], float]:
    counted = SPACE >> dp.t.then_count(TO="i64")
    return laplace(lambda scale: counted >> dp.m.then_laplace(scale), epsilon)  # type: ignore[no-any-return]


def total(bounds: tuple[float, float], epsilon: float) -> Callable[[list[float]], float]:
    summed = SPACE >> dp.t.then_clamp(bounds) >> dp.t.then_sum()  # type: ignore[no-untyped-call]
    return laplace(lambda scale: summed >> dp.m.then_laplace(scale), epsilon)  # type: ignore[no-any-return]


def mean(bounds: tuple[float, float], epsilon: float) -> Callable[[list[float]], float]:
    """A sum of what lies above the middle and a count, each for half of the epsilon."""
    low, high = bounds
    middle, half = (low + high) / 2, (high - low) / 2
    add, number = total((-half, half), epsilon / 2), count(bounds, epsilon / 2)

    def measured(values: list[float]) -> float:
        centred = add([value - middle for value in values])
        return min(high, max(low, middle + centred / max(1, number(values))))

    return measured


def median(bounds: tuple[float, float], epsilon: float) -> Callable[[list[float]], float]:
    low, high = bounds
    grid = [low + (high - low) * i / (CANDIDATES - 1) for i in range(CANDIDATES)]

    def build(scale: float) -> Any:
        return SPACE >> dp.m.then_private_quantile(
            dp.max_divergence(), grid, alpha=0.5, scale=scale
        )

    return laplace(build, epsilon)  # type: ignore[no-any-return]


KINDS = {"count(*)": count, "sum(fare)": total, "avg(fare)": mean, "median(fare)": median}


def main() -> None:
    """Answer until the input ends."""
    dp.enable_features("contrib", "idealized-numerics")
    task = json.loads(sys.stdin.readline())
    with open(task["rows"], newline="", encoding="utf-8") as file:
        rows = [
            {name: float(value) for name, value in row.items() if value}
            for row in csv.DictReader(file)
        ]
    groups = []
    for question in task["questions"]:
        parts: dict[int, list[float]] = {key: [] for key in question["keys"]}
        for row in rows:
            if question["key"] in row:
                parts[int(row[question["key"]])].append(row["fare"])
        groups.append(parts)
    print(json.dumps({"version": "OpenDP " + version("opendp")}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        question = task["questions"][asked["question"]]
        low, high = question["bounds"]
        measure = KINDS[question["value"]]((float(low), float(high)), asked["epsilon"])
        parts = groups[asked["question"]]
        runs = [
            [[key, float(measure(part))] for key, part in parts.items()]
            for _ in range(asked["runs"])
        ]
        print(json.dumps({"runs": runs}), flush=True)


if __name__ == "__main__":
    main()
