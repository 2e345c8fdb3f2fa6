"""`python -m benchmarks`: the paper's experiments, and comparisons of speed and of limits."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = {
    "paper": "the paper's experiments, with a report",
    "speed": "private queries against the same queries without privacy",
    "ladder": "the ladder against the paper's algorithms and against the limit",
    "unit": "queries that protect people against the same queries without privacy",
    "scale": "scan time against rows, on DuckDB and on Spark",
    "growth": "private queries beside plain ones, by rows and by groups",
    "people": "what protecting people costs, on the campus and retail workloads",
    "questions": "fifteen questions on the stand-in data, by probe with fpr and ladder with fdr",
    "serving": "the server under load, killed in the middle, and what the wire adds",
    "corpus": "how many of 300 queries of six schemas are accepted, and what is in the way",
    "tpch": "eleven queries of TPC-H, the truth against private answers",
    "again": "two hundred questions by three analysts: what kept answers save",
    "coverage": "how often exact values lie within the margins that are printed",
    "pictures": "the pictures of the documentation",
    "peers": "what values cost here, with OpenDP and with SmartNoise, at equal margins",
}


def main(argv: list[str] | None = None) -> int:
    """Run one benchmark; its own module reads the rest of the command line."""
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments or arguments[0] not in COMMANDS:
        asked_for_help = bool(arguments) and arguments[0] in ("-h", "--help")
        print("usage: python -m benchmarks COMMAND [--help]\n")
        for name, meaning in COMMANDS.items():
            print(f"  {name:9s} {meaning}")
        return 0 if asked_for_help else 2
    module = import_module(f"benchmarks.{arguments[0]}")
    result: int = module.main(arguments[1:])
    return result


if __name__ == "__main__":
    sys.exit(main())
