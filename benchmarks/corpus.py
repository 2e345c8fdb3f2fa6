"""How many queries of a corpus are accepted, and what stands in the way of the others.

The corpus lies in `benchmarks/corpus`: for each schema a policy, and two files with a query to a
line, plain GROUP BY and HAVING, in the manner of text-to-SQL benchmarks, forums and TPC. A query
counts as accepted if EXPLAIN explains it under the policy: no data is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from probe_sql.errors import ProbeError
from probe_sql.policy import Policy, load_policy
from probe_sql.session import explain_only

FOLDER = Path(__file__).parent / "corpus"
KINDS = ("plain", "having")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one query; `obstacle` is empty where it was accepted."""

    schema: str
    kind: str
    sql: str
    obstacle: str
    fix: str = ""


def judged(sql: str, policy: Policy) -> tuple[str, str]:
    """The obstacle of a query and the way around it; both empty where it is accepted."""
    try:
        explain_only(sql, policy)
    except ProbeError as error:
        return error.what, error.fix or ""
    return "", ""


def queries(path: Path) -> list[str]:
    """The queries of a file, one to a line; lines that begin with -- say something of them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("--")]


def verdicts(folder: Path = FOLDER, policies: Path = FOLDER) -> Iterator[Verdict]:
    """Judge every query of a folder under the policy of its schema."""
    for path in sorted(folder.glob("*.sql")):
        schema, kind = path.stem.split(".")
        policy = load_policy(policies / f"{schema}.toml")
        for sql in queries(path):
            yield Verdict(schema, kind, sql, *judged(sql, policy))


def share(found: Sequence[Verdict]) -> float:
    """The part that was accepted."""
    return sum(not one.obstacle for one in found) / len(found) if found else 0.0


def main(argv: Sequence[str] | None = None) -> int:
    """Print the shares, and the obstacles that are left."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks corpus", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="files NAME.plain.sql, NAME.having.sql"
    )
    parser.add_argument("--list", action="store_true", help="every query that is refused, and why")
    options = parser.parse_args(argv)
    found = list(verdicts(options.folder))
    console = Console(width=150, soft_wrap=True)
    table = Table("schema", *KINDS)
    for schema in sorted({one.schema for one in found}):
        row = [[one for one in found if (one.schema, one.kind) == (schema, kind)] for kind in KINDS]
        table.add_row(schema, *(f"{100 * share(part):.0f} % of {len(part)}" for part in row))
    whole = [[one for one in found if one.kind == kind] for kind in KINDS]
    table.add_row("all", *(f"{100 * share(part):.1f} % of {len(part)}" for part in whole))
    console.print(table)
    obstacles = Counter((one.kind, one.obstacle) for one in found if one.obstacle)
    for (kind, obstacle), count in obstacles.most_common():
        console.print(f"{count:3d}  {kind:6s}  {obstacle}", markup=False, highlight=False)
    if options.list:
        for one in found:
            if one.obstacle:
                lines = [
                    f"\n{one.schema} {one.kind}: {one.sql}",
                    f"  {one.obstacle}",
                    f"  fix: {one.fix}",
                ]
                console.print("\n".join(lines), markup=False, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
