"""SmartNoise SQL says what values within margins cost, and what its odometer counts for all.

Standard input has one JSON line: the size of a group, how often a margin may fail, the most that a
question may cost, and questions with value, margin and bounds. Standard output gets the epsilon of
each and that of their composition.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import pandas as pd
import snsql
from snsql.sql.odometer import OdometerHeterogeneous

DELTA = 1e-9


def price(question: dict[str, Any], rows: int, failure: float) -> float:
    """The epsilon at which its stated accuracy is the margin; a mean costs what its two sums do.

    The accuracy of a mean is not stated: taken is that of its sum, for the given size of a group.
    """
    low, high = map(float, question["bounds"])
    table = {
        "rows": 1000, "row_privacy": True, "censor_dims": False, "clamp_counts": False,
        "key": {"type": "int", "lower": 0, "upper": 1},
        "x": {"type": "float", "lower": float(low), "upper": float(high)},
    }  # fmt: skip
    frame = pd.DataFrame({"key": [0, 1], "x": [0.0, 1.0]})
    privacy = snsql.Privacy(epsilon=1.0, delta=DELTA)
    reader = snsql.from_df(frame, privacy=privacy, metadata={"": {"d": {"t": table}}})
    value = {"count": "count(*)", "sum": "sum(x)", "avg": "avg(x)"}[question["value"]]
    query = f"SELECT key, {value} AS v FROM d.t GROUP BY key"
    margin = question["margin"]
    stated = query
    if question["value"] == "avg":
        margin, stated = margin * rows, query.replace("avg", "sum")
    at_one = float(reader.get_simple_accuracy(stated, failure)[1])
    cost: float = float(reader.get_privacy_cost(query)[0]) * at_one / float(margin)
    return cost


def main() -> None:
    """Answer the one line."""
    task = json.loads(sys.stdin.readline())
    epsilons = [price(one, task["rows"], task["failure"]) for one in task["questions"]]
    odometer = OdometerHeterogeneous(snsql.Privacy(epsilon=1.0, delta=DELTA))
    for epsilon in epsilons:
        if epsilon <= task["most"]:
            odometer.spend(snsql.Privacy(epsilon=epsilon, delta=DELTA))
    together = float(odometer.spent[0])
    name = "SmartNoise SQL " + version("smartnoise-sql")
    print(json.dumps({"version": name, "epsilons": epsilons, "together": together}), flush=True)


if __name__ == "__main__":
    main()
