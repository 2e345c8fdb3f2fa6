"""The README's blocks, and its shell session replayed with a seed.

`python -m tests.readme` writes the session anew; a test compares it with a replay.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path

from benchmarks.seeded import SeededWords
from probe_sql.cli.shell import Shell
from probe_sql.database import Database, ledger_path
from probe_sql.ledger import Ledger
from probe_sql.owner import build_demo
from probe_sql.policy import load_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

README = Path(__file__).parent.parent / "README.md"
SEED = 20
WIDTH = 96
PROMPT, CONTINUED = "probe> ", "  ...> "


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def blocks(language: str) -> list[str]:
    """The fenced blocks of the README in a language."""
    text = README.read_text(encoding="utf-8")
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


def replay(session: str, folder: Path) -> str:
    """The session as the shell would have shown it, with a seeded sampler."""
    demo = build_demo(folder)
    policy = load_policy(demo.policy)
    book, identity = ledger_path(demo.database, policy, None)
    backend = open_backend(demo.database, policy)
    typed = policy.with_types(backend.schemas())
    ledger = Ledger.open(book, budget=typed.budget, identity=identity)
    connection = Connection(
        Database(backend, typed, ledger, Sampler(SeededWords(SEED))), "maria", owner=True
    )
    screen = Screen()
    with connection, contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        shell = Shell(connection, str(demo.database), {})
        for text in inputs(session):
            screen.write(PROMPT + text.replace("\n", "\n" + CONTINUED) + "\n")
            shell.run_script(text)
    lines = session.partition("\n")[0] + "\n" + screen.getvalue()
    return re.sub(r" +$", "", lines, flags=re.MULTILINE)


def main() -> None:
    """Write the session of the README as it is now."""
    os.environ |= {"NO_COLOR": "1", "COLUMNS": str(WIDTH)}
    (session,) = blocks("console")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        shown = replay(session, Path(folder) / "demo")
    text = README.read_text(encoding="utf-8")
    README.write_text(text.replace(session, shown), encoding="utf-8")


if __name__ == "__main__":
    main()
