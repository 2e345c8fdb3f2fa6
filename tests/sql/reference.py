"""What docs/dialect.md and the grammar list of functions, operators and aggregates.

    python -m tests.sql.reference    rewrite the lists

They come from the tables that the binder reads; `tests/sql/test_docs.py` compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from probe_sql.sql.expression import OPERATORS
from probe_sql.sql.forms.call import NoForm
from probe_sql.sql.functions import FUNCTIONS
from probe_sql.sql.functions.aggregates import AGGREGATES
from probe_sql.sql.functions.arguments import PART_NAMES, Want
from probe_sql.sql.functions.elsewhere import ELSEWHERE
from probe_sql.sql.functions.row import Row
from probe_sql.sql.functions.time import PARTS
from probe_sql.types import BIGINT, BOOLEAN, TIMESTAMP, VARCHAR, SqlType

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dialect.md"
GRAMMAR = ROOT / "grammar" / "probe_sql.lark"
_LETTERS = {
    Want.NUMBER: "x", Want.ANY: "x", Want.TEXT: "s", Want.MOMENT: "t", Want.WHOLE: "n",
    Want.WRITTEN: "'...'", Want.UNIT: "'unit'", Want.FORMAT: "'format'",
}  # fmt: skip
_RESULTS = {BIGINT: "whole", BOOLEAN: "truth", TIMESTAMP: "moment", VARCHAR: "text"}


# --- docs/dialect.md -------------------------------------------------------------------------


def signature(row: Row) -> str:
    """`substring(s, n[, n])`."""
    text = ""
    for index, taken in enumerate(row.takes):
        letter = f", {_LETTERS[taken.want]}" if index else _LETTERS[taken.want]
        text += f"[{letter}]" if taken.optional else letter
    return f"{row.name}({text}{', ...' if row.most else ''})"


def result(row: Row) -> str:
    """The type of what it gives."""
    return row.gives.name if isinstance(row.gives, SqlType) else "as its arguments"


def missing(row: Row) -> str:
    """The engines that refuse it by name."""
    forms = FUNCTIONS[row.through or row.name]
    engines = (("PostgreSQL", forms.postgres), ("Spark", forms.spark))
    return ", ".join(name for name, form in engines if isinstance(form, NoForm))


def functions() -> str:
    """The table of functions."""
    lines = ["| function | gives | NULL where | type | not on |", "|---|---|---|---|---|"]
    for row in FUNCTIONS.values():
        also = f" ({', '.join(f'`{alias}`' for alias in row.aliases)})" if row.aliases else ""
        cells = (f"`{signature(row)}`{also}", row.means, row.null_where, result(row), missing(row))
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |"))
    return "\n".join(lines)


def operators() -> str:
    """The table of operators."""
    lines = ["| kind | operators |", "|---|---|"]
    for group in dict.fromkeys(row.group for row in OPERATORS):
        written = [row.written.replace("|", "\\|") for row in OPERATORS if row.group == group]
        lines.append(f"| {group} | {', '.join(written)} |")
    return "\n".join(lines)


def elsewhere() -> str:
    """The table of what other systems call functions."""
    lines = ["| elsewhere | here | also called |", "|---|---|---|"]
    rows: dict[tuple[str, str], list[str]] = {}
    for row in ELSEWHERE.values():
        rows.setdefault((row.written, row.means), []).append(row.name)
    for (written, means), names in rows.items():
        others = [name for name in names if name != written.partition("(")[0].upper()]
        lines.append(f"| `{written}` | {means} | {', '.join(f'`{name}`' for name in others)} |")
    return "\n".join(line.replace("|  |", "| |") for line in lines)


def aggregates() -> str:
    """The table of aggregates."""
    lines = ["| aggregate | note |", "|---|---|"]
    for row in AGGREGATES:
        lines.append(f"| {', '.join(f'`{text}`' for text in row.written)} | {row.means} |")
    return "\n".join([*lines, "| any of them with `FILTER (WHERE condition)` | |"])


# --- grammar/probe_sql.lark ------------------------------------------------------------------


def _words(names: Iterable[str]) -> str:
    return " | ".join(f'"{name}"' for name in names)


def _arguments(row: Row) -> str:
    text = ""
    for index, taken in enumerate(row.takes):
        last = index == len(row.takes) - 1
        symbol = f'"," {taken.symbol}' if index else taken.symbol
        if taken.optional:
            symbol = f"({symbol})?"
        elif last and row.most:
            symbol = f"({symbol})+"
        text += f" {symbol}"
    return f'"("{text} ")"'


def _symbol(row: Row) -> str:
    return _RESULTS.get(row.gives, "number") if isinstance(row.gives, SqlType) else "number"


def calls(symbol: str) -> str:
    """The rule of the calls that give one kind of value, those with the same arguments together."""
    names: dict[str, list[str]] = {}
    for row in FUNCTIONS.values():
        if _symbol(row) == symbol and row not in PARTS:
            names.setdefault(_arguments(row), []).append(row.name)
    lines = []
    for arguments, called in names.items():
        words = _words(called)
        lines.append(f"({words}) {arguments}" if len(called) > 1 else f"{words} {arguments}")
    if symbol == "whole":
        lines.append('PART "(" moment ")"')
    head = f"{symbol}_call: "
    return head + f"\n{' ' * (len(head) - 2)}| ".join(lines)


def _either(names: Sequence[str]) -> str:
    return f"/'({'|'.join(names)})'/"


def terminals() -> str:
    """The words that stand for parts of dates and for order statistics."""
    units = {
        taken.symbol: taken.units
        for row in FUNCTIONS.values()
        for taken in row.takes
        if taken.want is Want.UNIT
    }
    short = [name for name, meant in PART_NAMES.items() if meant in units["PART_NAME"]]
    units["PART_NAME"] = (*units["PART_NAME"], *short)
    plain = [row.name.upper() for row in AGGREGATES if row.order and row.plain]
    # Longer names first: one may start with another.
    parts = sorted((row.name for row in PARTS), key=len, reverse=True)
    lines = [f"ORDER: {_words(plain)}", f"PART: {_words(parts)}"]
    return "\n".join([*lines, *(f"{name}: {_either(names)}" for name, names in units.items())])


# --- the files -------------------------------------------------------------------------------

_KINDS = ("number", "whole", "text", "moment", "truth")


def _filled(text: str, start: str, end: str, parts: dict[str, str]) -> str:
    """The text with each generated part between its two lines."""
    for name, part in parts.items():
        first, last = start.format(name), end.format(name)
        pattern = re.compile(f"{re.escape(first)}\n.*?{re.escape(last)}", re.DOTALL)
        assert len(pattern.findall(text)) == 1, name
        before, after = pattern.split(text)
        text = f"{before}{first}\n{part}\n{last}{after}"
    return text


def page() -> str:
    """docs/dialect.md as it should be."""
    parts = {
        "aggregates": aggregates(),
        "operators": operators(),
        "functions": functions(),
        "elsewhere": elsewhere(),
    }
    return _filled(
        PAGE.read_text(encoding="utf-8"), "<!-- {}: from the table -->", "<!-- end of {} -->", parts
    )


def grammar() -> str:
    """grammar/probe_sql.lark as it should be."""
    parts = {"functions": "\n".join(map(calls, _KINDS)), "words": terminals()}
    return _filled(
        GRAMMAR.read_text(encoding="utf-8"), "// {}: from the table", "// end of {}", parts
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    GRAMMAR.write_text(grammar(), encoding="utf-8")
