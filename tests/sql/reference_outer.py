"""The list of functions around private blocks in docs/dialect.md, as the engine has it.

python -m tests.sql.reference_outer      write it
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from probe_sql.sql.outer import OUTER_FUNCTIONS

PAGE = Path(__file__).parent.parent.parent / "docs" / "dialect.md"
_MARKS = ("<!-- outer functions -->\n", "<!-- end -->")


def listed() -> str:
    """The names, in order; operators need no list."""
    names = sorted(name for name in OUTER_FUNCTIONS if name.isidentifier())
    return textwrap.fill(", ".join(f"`{name}`" for name in names), 150) + "\n"


def written(page: str) -> str:
    """The page with the list as it should be."""
    before, mark, rest = page.partition(_MARKS[0])
    _, end, after = rest.partition(_MARKS[1])
    assert mark
    assert end
    return before + mark + listed() + end + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
