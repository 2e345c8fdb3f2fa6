"""The README's blocks, and the shell sessions of README, tutorial and story replayed with a seed.

`python -m tests.readme` writes the sessions anew; tests compare them with a replay.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from benchmarks.seeded import SeededWords
from datasets.common import data_dir
from probe_sql.cli.shell import Shell
from probe_sql.database import Database, ledger_path
from probe_sql.ledger import Ledger
from probe_sql.owner import build_demo
from probe_sql.policy import load_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
STORY = ROOT / "docs" / "story.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
NEEDED = ("taxi_green_2020_03.parquet", "taxi_zone_lookup.parquet")
SEED = 20
WIDTH = 96
DAY = "2026-03-16"  # shown for the day of a replay
PROMPT, CONTINUED = "probe> ", "  ...> "


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def blocks(language: str, page: Path = README) -> list[str]:
    """The fenced blocks of a page in a language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def inputs(session: str) -> list[str]:
    """What was typed in a session: prompts with their continuation lines."""
    found: list[str] = []
    for line in session.splitlines():
        if line.startswith(PROMPT):
            found.append(line.removeprefix(PROMPT))
        elif line.startswith(CONTINUED):
            found[-1] += "\n" + line.removeprefix(CONTINUED)
    return found


def replay(parts: Sequence[str], folder: Path) -> list[str]:
    """A session with the demo, in parts, as the shell would have shown it with a seeded sampler."""
    demo = build_demo(folder)
    return shown(parts, demo.database, demo.policy, "maria")


def tell(parts: Sequence[str], folder: Path) -> list[str]:
    """The story's session: over the trips that it names, under the policy that it shows."""
    (made,) = blocks("sql", STORY)
    (policy,) = blocks("toml", STORY)
    folder.mkdir(exist_ok=True)
    with duckdb.connect(folder / "taxis.duckdb") as connection:
        connection.execute(made.replace("FROM '", f"FROM '{data_dir()}/"))
    (folder / "taxis.toml").write_text(policy, encoding="utf-8")
    return shown(parts, folder / "taxis.duckdb", folder / "taxis.toml", None)


def shown(parts: Sequence[str], database: Path, rules: Path, analyst: str | None) -> list[str]:
    """A session, in parts, as the shell would have shown it with a seeded sampler."""
    policy = load_policy(rules)
    book, identity = ledger_path(database, policy, None)
    backend = open_backend(database, policy)
    typed = policy.with_types(backend.schemas())
    ledger = Ledger.open(book, budget=typed.budget, identity=identity)
    connection = Connection(
        Database(backend, typed, ledger, Sampler(SeededWords(SEED))), analyst, owner=True
    )
    found = []
    with connection:
        shell = Shell(connection, database.name, {})
        for part in parts:
            screen = Screen()
            if part.startswith("$"):
                screen.write(part.partition("\n")[0] + "\n")
            with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
                for text in inputs(part):
                    screen.write(PROMPT + text.replace("\n", "\n" + CONTINUED) + "\n")
                    shell.run_script(text)
            text = screen.getvalue().replace(datetime.now(UTC).date().isoformat(), DAY)
            found.append(re.sub(r" +$", "", text, flags=re.MULTILINE))
    return found


def main() -> None:
    """Write the sessions as they are now."""
    os.environ |= {"NO_COLOR": "1", "COLUMNS": str(WIDTH)}
    for page, replayed in ((README, replay), (TUTORIAL, replay), (STORY, tell)):
        if page == STORY and not all((data_dir() / name).is_file() for name in NEEDED):
            print("the story is left as it is: its data are not here")
            continue
        parts = blocks("console", page)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_STATE_HOME"] = folder
            now = replayed(parts, Path(folder) / "demo")
        text = page.read_text(encoding="utf-8")
        for was, part in zip(parts, now, strict=True):
            text = text.replace(f"```console\n{was}```", f"```console\n{part}```")
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
