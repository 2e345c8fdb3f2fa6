"""The owner's story: every command of docs/owners-story.md, run in its order.

`python -m tests.owners_story` writes the page with what the commands print now.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

PAGE = Path(__file__).parent.parent / "docs" / "owners-story.md"
PORT = "5433"
FOLDER = "/srv/clinic"  # shown for where the story is run
_BLOCK = re.compile(r"^```(sql|toml|python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOISY = re.compile(r".*[±━].*")
_WHEN = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d\+00:00)?")
_ENDS = re.compile(r"(?<=day, on )\d{4}-\d\d-\d\d|(?<=  )\d{4}-\d\d-\d\d$", re.MULTILINE)


class Story:
    """A folder in which the page's blocks are run; a server may run meanwhile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        bin_ = Path(sys.executable).parent
        self.env = os.environ | {
            "PATH": f"{bin_}:{os.environ['PATH']}", "NO_COLOR": "1", "COLUMNS": "96",
            "XDG_STATE_HOME": str(folder.parent / "state"),
        }  # fmt: skip
        self.server: subprocess.Popen[str] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])

    def run(self, language: str, text: str) -> str:
        """Run a block; what it would show, with the prompts of a console."""
        if language == "sql":
            with duckdb.connect(str(self.folder / "clinic.duckdb")) as connection:
                connection.execute(text)
        elif language != "console":
            name = {"toml": "clinic.toml", "python": "ask.py"}[language]
            (self.folder / name).write_text(text.replace(PORT, self.port), encoding="utf-8")
        else:
            typed = [line for line in text.splitlines() if line.startswith("$ ")]
            text = "".join(f"{line}\n{self._shown(line[2:])}" for line in typed)
        return text

    def _shown(self, command: str) -> str:
        """What a command prints."""
        command = command.replace(PORT, self.port)
        if command.endswith(" &"):
            self.server = subprocess.Popen(
                shlex.split(command[:-2]),
                cwd=self.folder,
                env=self.env,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            assert self.server.stdout is not None
            return self._told(self.server.stdout.readline())
        if command == "kill %1":
            self.close()
            return ""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.folder,
            env=self.env,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        return self._told(done.stdout)

    def _told(self, text: str) -> str:
        text = text.replace(str(self.folder), FOLDER).replace(self.port, PORT)
        text = re.sub(rf"\b{re.escape(getpass.getuser())}\b", "owner", text)
        text = _ENDS.sub("2026-07-03", text)
        return re.sub(r" +$", "", _WHEN.sub("2026-07-02 09:30", text), flags=re.MULTILINE)

    def close(self) -> None:
        """End the server, if one runs."""
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.communicate(timeout=60)
            self.server = None


def blocks() -> list[tuple[str, str]]:
    """The blocks of the page that are run."""
    return [(m[1], m[2]) for m in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


def plain(text: str) -> str:
    """What must be the same in every run: all but noisy values, and the widths they need."""
    text = _NOISY.sub(lambda line: re.sub(r"[\d,.]+", "#", line[0]), text)
    return re.sub(r"-{3,}", "---", re.sub(r" {2,}", "  ", text))


def retold(folder: Path) -> list[str]:
    """All blocks, as they are after running them in a folder."""
    before = os.umask(0o022)  # what `check` says of modes follows it
    folder.mkdir()
    story = Story(folder)
    try:
        return [story.run(*block) for block in blocks()]
    finally:
        story.close()
        os.umask(before)


def main() -> None:
    """Write the page as the commands are now."""
    with tempfile.TemporaryDirectory() as scratch:
        now = iter(retold(Path(scratch) / "clinic"))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda m: f"```{m[1]}\n{next(now)}```", text), encoding="utf-8")


if __name__ == "__main__":
    main()
