"""SmartNoise SQL answers questions on standard input, one JSON line each, with JSON lines.

The first line names the file of rows and the questions; each further line a question, an epsilon
and a number of runs. Its epsilon is for each column: the total is asked of the library itself.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import pandas as pd
import snsql

DELTA = 1e-9


def reader(frame: Any, question: dict[str, Any], epsilon: float) -> Any:
    """One reader that protects a row and shows every group of the data."""
    low, high = question["bounds"]
    keys = question["keys"]
    table = {
        "rows": len(frame),
        "row_privacy": True,
        "censor_dims": False,
        "clamp_counts": False,
        question["key"]: {"type": "int", "lower": min(keys), "upper": max(keys)},
        "fare": {"type": "float", "lower": float(low), "upper": float(high)},
    }
    privacy = snsql.Privacy(epsilon=epsilon, delta=DELTA)
    return snsql.from_df(frame, privacy=privacy, metadata={"": {"d": {"trips": table}}})


def release(frame: Any, question: dict[str, Any], epsilon: float, runs: int) -> dict[str, Any]:
    """Values by key for each run, of a query that costs `epsilon` in all; or a refusal."""
    key, value = question["key"], question["value"]
    query = f"SELECT {key}, {value} AS v FROM d.trips GROUP BY {key}"
    try:
        price = float(reader(frame, question, 1.0).get_privacy_cost(query)[0])
        found = []
        for _ in range(runs):
            rows = reader(frame, question, epsilon / price).execute(query)
            found.append([[int(row[0]), float(row[1] or 0)] for row in rows[1:]])
    except (ValueError, NotImplementedError, KeyError) as error:
        return {"refused": str(error).splitlines()[0][:200]}
    return {"runs": found}


def main() -> None:
    """Answer until the input ends."""
    task = json.loads(sys.stdin.readline())
    frame = pd.read_csv(task["rows"])
    print(json.dumps({"version": "SmartNoise SQL " + version("smartnoise-sql")}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        question = task["questions"][asked["question"]]
        columns = frame[[question["key"], "fare"]].dropna().astype({question["key"]: int})
        print(json.dumps(release(columns, question, asked["epsilon"], asked["runs"])), flush=True)


if __name__ == "__main__":
    main()
