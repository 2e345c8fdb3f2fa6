"""Places whose fix no test does, and why."""

from __future__ import annotations

from collections.abc import Mapping

_RUNS = "how much the SQL around takes is known when it has run: tests/outside and tests/session"
_RECURSION = "a wall behind the limits on depth, which tests of hostile texts reach before it"
_LATER = "a wall behind another, which says it first"
WORDS: Mapping[str, str] = {
    "algorithms/__init__.py: f\"use one of {', '.join(NAMES)}\"": _LATER,
    "blocks/asker.py: 'join it inside of a block, on its key'": _RUNS,
    "logic/formula.py: 'write the condition with fewer repetitions of the same comparison'": _LATER,
    "outside/process.py: 'ask each block by itself'": "of a system without limits on processes",
    "outside/sandbox.py: 'LIMIT 1000, or aggregate'": _RUNS,
    "outside/sandbox.py: 'docs/dialect.md lists what runs there'": _LATER,
    "outside/sandbox.py: 'filter before joining, or take fewer rows'": _RUNS,
    "plan/figures.py: 'select them as separate columns'": _LATER,
    "plan/release.py: 'select them as separate columns'": _LATER,
    "sql/amend.py: 'SELECT ... FROM ... GROUP BY ... HAVING ...'": "an empty text of the console",
    "sql/bind.py: 'flatten the expression'": _RECURSION,
    "sql/blocks.py: 'flatten it'": _RECURSION,
    "sql/reshape.py: 'flatten it'": _RECURSION,
    "scan/spark/engine.py: 'CAST them to DOUBLE first'": _LATER,
    "sql/text.py: 'check it against the dialect'": "the parser cannot say what is wrong",
    "sql/text.py: 'db.sql(query, [value, ...])'": _LATER,
}
