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


class Asked:
    """A question over its own rows, which are copied into the library's database once.

    The library would copy them for every release: two thirds of all its time.
    """

    def __init__(self, frame: Any, question: dict[str, Any]) -> None:
        key, (low, high) = question["key"], question["bounds"]
        self.query = f"SELECT {key}, {question['value']} AS v FROM d.trips GROUP BY {key}"
        rows = frame[[key, "fare"]].dropna().astype({key: int})
        keys = question["keys"]
        table = {
            "rows": len(rows),
            "row_privacy": True,
            "censor_dims": False,
            "clamp_counts": False,
            key: {"type": "int", "lower": min(keys), "upper": max(keys)},
            "fare": {"type": "float", "lower": float(low), "upper": float(high)},
        }
        self.metadata = {"": {"d": {"trips": table}}}
        privacy = snsql.Privacy(epsilon=1.0, delta=DELTA)
        first = snsql.from_df(rows, privacy=privacy, metadata=self.metadata)
        self.price = float(first.get_privacy_cost(self.query)[0])
        self.rows = first.reader

    def release(self, epsilon: float, runs: int) -> list[list[list[float]]]:
        """Values by key for each run, of a query that costs `epsilon` in all."""
        privacy = snsql.Privacy(epsilon=epsilon / self.price, delta=DELTA)
        reader = snsql.sql.PrivateReader(self.rows, self.metadata, privacy)
        found = []
        for _ in range(runs):
            answer = reader.execute(self.query)
            found.append([[int(row[0]), float(row[1] or 0)] for row in answer[1:]])
        return found


def main() -> None:
    """Answer until the input ends."""
    task = json.loads(sys.stdin.readline())
    frame = pd.read_csv(task["rows"])
    print(json.dumps({"version": "SmartNoise SQL " + version("smartnoise-sql")}), flush=True)
    questions: dict[int, Asked] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        number = asked["question"]
        reply: dict[str, Any]
        try:
            if number not in questions:
                questions[number] = Asked(frame, task["questions"][number])
            reply = {"runs": questions[number].release(asked["epsilon"], asked["runs"])}
        except (ValueError, NotImplementedError, KeyError) as error:
            reply = {"refused": str(error).splitlines()[0][:200]}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
