"""Where the package builds a fix, and which of these places an error came from."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from probe_sql.errors import ProbeError

PACKAGE = Path(__file__).parent.parent.parent / "probe_sql"
# Rooms whose fixes are SQL, options of the clause, or settings of the policy for a query.
ROOMS = ("sql", "plan", "blocks", "outside", "scan", "logic", "algorithms", "options.py")
# Where those that build an error from a fix take it, if not by its name.
POSITION = {"refused": 2, "refuse": 2, "_nonlinear": 2, "_unsafe": 1}


@dataclass(frozen=True, slots=True)
class Place:
    """A call that builds a fix: its file, its lines, and the expression of the fix."""

    file: str
    first: int
    last: int
    text: str

    @property
    def key(self) -> str:
        """What names the place, however the lines above it change."""
        return f"{self.file}: {self.text}"


def files(rooms: Sequence[str] = ROOMS) -> Iterator[Path]:
    """The sources of the rooms."""
    for room in rooms:
        path = PACKAGE / room
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


@cache
def places(rooms: Sequence[str] = ROOMS) -> tuple[Place, ...]:
    """Every call with a `fix` or an `instead`, inner ones after those around them."""
    found: dict[tuple[str, int, int], Place] = {}
    for path in files(rooms):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            given = {k.arg: k.value for k in node.keywords if k.arg in ("fix", "instead")}
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called in POSITION and len(node.args) > POSITION[called]:
                given["fix"] = node.args[POSITION[called]]
            for role in ("instead", "fix"):
                value = given.get(role)
                if value is None or (isinstance(value, ast.Constant) and value.value is None):
                    continue
                end = node.end_lineno or node.lineno
                found[name, node.lineno, end] = Place(name, node.lineno, end, ast.unparse(value))
    return tuple(found.values())


@contextmanager
def watched() -> Iterator[None]:
    """Let each error remember the places that it was built at, as `places_of` gives them."""
    plain = ProbeError.__init__

    def watching(self: ProbeError, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        self.__dict__["_frames"] = list(_frames(sys._getframe(1)))

    with patch.object(ProbeError, "__init__", watching):
        yield


@contextmanager
def gathered(rooms: Sequence[str]) -> Iterator[set[str]]:
    """The keys of the places in these rooms at which errors are built, in any thread."""
    plain, found = ProbeError.__init__, set[str]()

    def gathering(self: ProbeError, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        for file, line in _frames(sys._getframe(1)):
            for one in places(rooms):
                if one.file == file and one.first <= line <= one.last:
                    found.add(one.key)

    with patch.object(ProbeError, "__init__", gathering):
        yield found


def _frames(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    inside = f"{PACKAGE}/"
    while frame is not None:
        if frame.f_code.co_filename.startswith(inside):
            yield frame.f_code.co_filename.removeprefix(inside), frame.f_lineno
        frame = frame.f_back


def places_of(error: ProbeError) -> set[str]:
    """The keys of the places that an error was built at, while it was watched."""
    found = set()
    for file, line in error.__dict__["_frames"]:
        at = [one for one in places() if one.file == file and one.first <= line <= one.last]
        if at:
            found.add(min(at, key=lambda one: one.last - one.first).key)
    return found
