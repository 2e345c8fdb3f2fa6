"""Where bounded tables are kept: beside the source as long as it does not change.

A private directory `<source>.bounded` (mode 0700) holds the key of the hash and, for each table,
one DuckDB file (mode 0600) named after everything its content depends on: the source's files,
their sizes and times, the key and the caps. A file is renamed into place when it is complete,
so one that is there is whole and fits. Frames, and sources whose folder cannot be
written, have a directory that lives as long as the connection.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from probe_sql.policy.names import find
from probe_sql.vault.sources import Files, Layout

_LAYOUT = 2  # of what is kept; a new number makes old files be built again

Mark = tuple[str, *tuple[object, ...]]  # the path first
Marks = Mapping[Path, Mark]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A private directory for bounded tables, and the marks of the source they come from."""

    folder: Path
    key: int
    marks: tuple[Mark, ...]

    def place(self, table: str, *depends: object) -> Path:
        """The file of a table that depends on the source, the key and `depends`."""
        text = repr((_LAYOUT, table, self.key, self.marks, depends))
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self.folder / f"{_safe(table)}-{digest}.duckdb"

    @property
    def current(self) -> bool:
        """Whether the source is still what it was when the shelf was opened."""
        return all(_mark(Path(mark[0])) == mark for mark in self.marks)

    def draft(self, place: Path) -> Path:
        """A fresh name beside `place` under which to build it."""
        return place.with_name(f".{place.stem}.{secrets.token_hex(8)}")

    def keep(self, draft: Path, place: Path) -> None:
        """Put a complete file into its place and remove what it replaces."""
        draft.chmod(0o600)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(place)
        table = place.name.rpartition("-")[0]
        for old in self.folder.glob("*.duckdb"):
            if old != place and old.name.rpartition("-")[0] == table:
                old.unlink(missing_ok=True)
        yesterday = time.time() - 86_400
        for left in self.folder.glob(".*"):  # by a process that was killed
            if left.stat().st_mtime < yesterday:
                left.unlink(missing_ok=True)

    def discard(self, draft: Path) -> None:
        """Remove what an interrupted build left."""
        for path in (draft, draft.with_name(draft.name + ".wal")):
            path.unlink(missing_ok=True)


def shelf_folder(layout: Layout, table: str) -> Path | None:
    """The directory beside a table's source; None for a frame."""
    paths = _files(layout, table)
    return paths[0].with_name(paths[0].name + ".bounded") if paths else None


def open_shelf(layout: Layout, table: str, spare: Path, opened: Marks) -> Shelf:
    """The shelf for a table of the layout; `spare` is a private directory of the connection.

    `opened` are the marks of the source before it was opened. If it has changed since, what the
    connection reads is not what later ones will, and is kept for this connection alone.
    """
    paths = _files(layout, table)
    marks = tuple(_mark(path) for path in paths)
    folder = shelf_folder(layout, table)
    if folder is not None and marks == tuple(opened.get(path) for path in paths):
        with suppress(OSError):  # not ours to write in: bounded anew for this connection
            return Shelf(folder, _key(_private(folder)), marks)
    return Shelf(spare, _key(_private(spare)), marks)


def kept_key(beside: Path | None) -> int:
    """The key for a source that is elsewhere: kept beside the ledger, where there is a place.

    Privacy: any key protects; the same one ever after keeps the choice of rows the same.
    """
    if beside is not None:
        with suppress(OSError):  # likewise
            return _key(_private(beside.with_name(beside.name + ".bounded")))
    return secrets.randbits(64)


def _files(layout: Layout, table: str) -> tuple[Path, ...]:
    source = find(layout.private, table)
    if isinstance(source, Files):
        return source.paths
    return () if layout.database is None or source is not None else (layout.database.path,)


def source_marks(layout: Layout) -> Marks:
    """What changes when a file of a private source does, for each file."""
    paths = [] if layout.database is None else [layout.database.path]
    for source in layout.private.values():
        paths += source.paths if isinstance(source, Files) else ()
    return {path: _mark(path) for path in paths}


def _mark(path: Path) -> Mark:
    """The marks of a file; a database's log of late writes counts as a part of it."""
    found: list[tuple[object, ...]] = []
    for part in (path, path.with_name(path.name + ".wal")):
        try:
            state = part.stat()
        except OSError:
            continue
        found.append((part.name, state.st_size, state.st_mtime_ns, state.st_ino))
    return str(path), *found


def _private(folder: Path) -> Path:
    """The folder, made if need be; `OSError` unless it is ours alone and can be written."""
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    ours = not hasattr(os, "getuid") or state.st_uid == os.getuid()
    if not stat.S_ISDIR(state.st_mode) or not ours or not os.access(folder, os.W_OK):
        raise PermissionError
    folder.chmod(0o700)
    return folder


def _key(folder: Path) -> int:
    """The key of the hash: random, made once for a source, and the same ever after."""
    place = folder / "key"
    if not place.exists():
        draft = folder / f".key.{secrets.token_hex(8)}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.randbits(64)}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, place)  # unlike a rename, it leaves a key that another process made
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    text = place.read_text().strip()
    if not text.isdecimal() or int(text) >= 2**64:
        raise PermissionError
    return int(text)


def _safe(table: str) -> str:
    """The table's name as a part of a file name, different for different tables."""
    if re.fullmatch(r"[0-9a-z_]{1,40}", table):
        return table
    return "table" + hashlib.sha256(table.encode()).hexdigest()[:12]
