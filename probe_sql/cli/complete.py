"""What could come next in the shell: dot commands with their arguments, and SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from probe_sql.catalogue import Catalogue
from probe_sql.cli.arguments import FORMATS
from probe_sql.completion import Suggestion, matching
from probe_sql.completion import suggest as suggest_sql
from probe_sql.options import OPTIONS


def suggest(before: str, catalogue: Catalogue, dots: Sequence[str] = ()) -> list[Suggestion]:
    """Suggestions for the text before the cursor, the likeliest kind first."""
    stripped = before.lstrip()
    if stripped.startswith(".") and not stripped.startswith(".explain "):
        return _of_dots(stripped, catalogue, dots)
    return suggest_sql(before, catalogue)


def _of_dots(text: str, catalogue: Catalogue, dots: Sequence[str]) -> list[Suggestion]:
    command, space, rest = text.partition(" ")
    if not space:
        return matching(command, dots, "command")
    word = rest.split(" ")[-1]
    choices: Mapping[str, Iterable[str]] = {
        ".schema": catalogue.tables,
        ".columns": catalogue.tables,
        ".mode": FORMATS,
        ".set": [*OPTIONS, "confirm"],
        ".unset": [*OPTIONS, "confirm"],
        ".help": dots,
    }
    return matching(word, choices.get(command, ()), "argument")
