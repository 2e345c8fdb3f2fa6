"""The parts of the policy's documentation that are made from its table of settings.

`python -m tests.policy.reference` writes them; `test_docs.py` compares.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from probe_sql.policy import fields, json_schema
from probe_sql.policy.section import Section

DOCS = Path(__file__).parents[2] / "docs"
PAGE, SCHEMA = DOCS / "policy.md", DOCS / "policy.schema.json"
SECTIONS = {
    section.name: section
    for section in vars(fields).values()
    if isinstance(section, Section) and section is not fields.PUBLIC_COLUMN
} | {section.name: section for section in fields.KEY_FORMS.values()}
_MARKED = re.compile(r"(<!-- settings: (\w+) -->\n).*?(<!-- end of settings -->)", re.DOTALL)


def page(text: str) -> str:
    """The page with the table of each section between its marks."""

    def table(match: re.Match[str]) -> str:
        rows = "".join(
            f"| `{row.name}` | {row.meaning} | {row.default} |\n"
            for row in SECTIONS[match[2]].fields
        )
        return f"{match[1]}| setting | meaning | default |\n|---|---|---|\n{rows}{match[3]}"

    return _MARKED.sub(table, text)


def schema() -> str:
    """The text of the JSON Schema's file."""
    return json.dumps(json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    SCHEMA.write_text(schema(), "utf-8")
