"""Where bounded tables are kept: beside the source as long as it does not change.

A private directory `<source>.bounded` (mode 0700) holds the key of the hash and, for each table
and policy, one DuckDB file (mode 0600) named after everything its content depends on: the source's
files, their marks, the key and the caps. A file is built in a workplace and renamed when
it is complete, so one that is there is whole and fits. Whoever opens the source removes those that
fit no more. Frames, and sources whose folder cannot be written, have a directory that
lives as long as the connection.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from probe_sql.policy.names import find
from probe_sql.vault.sources import Files, Layout
from probe_sql.vault.workplace import held, private, sweep

_LAYOUT = 3  # of what is kept; a new number makes old files be built again
_ENDS = 1 << 14  # bytes at both ends of a file that are looked at: a database's headers, a footer

Mark = tuple[str, *tuple[object, ...]]  # the path first
Marks = Mapping[Path, Mark]


@dataclass(frozen=True, slots=True)
class BoundedTableStore:
    """A private directory for bounded tables, and the marks of the source they come from."""

    folder: Path
    key: int
    marks: tuple[Mark, ...]
    policy: str  # whose tables these are: two policies of one source keep their own

    def path(self, table: str, *depends: object) -> Path:
        """The file of a table that depends on the source, the key and `depends`."""
        digest = _digest(_LAYOUT, table, self.key, self.marks, depends)
        name = f"{_safe(table)}-{_owner(self.policy)}-{_digest(_LAYOUT, self.marks)[:16]}-{digest}"
        return self.folder / f"{name}.duckdb"

    @property
    def current(self) -> bool:
        """Whether the source is still what it was when the store was opened."""
        return all(mark(Path(one[0])) == one for one in self.marks)

    def keep(self, draft: Path, path: Path) -> None:
        """Put a complete file under its name."""
        draft.chmod(0o600)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)

    def clean(self, paths: Iterable[Path]) -> None:
        """Remove what fits no more: other sources' rows, and this policy's tables but `paths`.

        Privacy: whoever deletes a person from the source has them deleted here at the next opening.
        """
        wanted = {path.name for path in paths}
        marks = _digest(_LAYOUT, self.marks)[:16]
        for old in self.folder.glob("*.duckdb"):
            parts = old.stem.split("-")
            others = parts[1:2] != [_owner(self.policy)] and parts[2:3] == [marks]
            if old.name not in wanted and not others:
                old.unlink(missing_ok=True)
        with held(self.folder):
            sweep(self.folder)


def store_folder(layout: Layout, table: str) -> Path | None:
    """The directory beside a table's source; None for a frame."""
    paths = _files(layout, table)
    return paths[0].with_name(paths[0].name + ".bounded") if paths else None


def open_store(
    layout: Layout, table: str, spare: Path, opened: Marks, policy: str | None
) -> BoundedTableStore:
    """The store for a table of the layout; `spare` is a private directory of the connection.

    `opened` are the marks of the source before it was opened. If it has changed since, what the
    connection reads is not what later ones will, and is kept for this connection alone.
    """
    paths = _files(layout, table)
    marks = tuple(mark(path) for path in paths)
    folder = store_folder(layout, table)
    named = str(Path(policy).resolve()) if policy is not None else ""
    if folder is not None and marks == tuple(opened.get(path) for path in paths):
        with suppress(OSError):  # not ours to write in: bounded anew for this connection
            return BoundedTableStore(folder, key_in(private(folder)), marks, named)
    return BoundedTableStore(spare, key_in(private(spare)), marks, named)


def purge(layout: Layout) -> list[Path]:
    """Remove all that is kept beside the sources of a layout; returns the directories."""
    paths = [layout.database.path] if layout.database is not None else []
    for source in layout.private.values():
        paths += source.paths[:1] if isinstance(source, Files) else ()
    removed = []
    for folder in (path.with_name(path.name + ".bounded") for path in paths):
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
            removed.append(folder)
    return removed


def kept_key(beside: Path | None) -> int:
    """The key for a source that is elsewhere: kept beside the ledger, where there is one.

    Privacy: any key protects; the same one ever after keeps the choice of rows the same.
    """
    if beside is not None:
        with suppress(OSError):  # likewise
            return key_in(private(beside.with_name(beside.name + ".bounded")))
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
    return {path: mark(path) for path in paths}


def file_state(layout: Layout, opened: Marks) -> str | None:
    """A word for what the files of the private tables hold now; None where one is no file.

    Parquet files are read anew by every scan, all others as they were when they were `opened`.
    """
    sources = layout.private.values()
    if any(not isinstance(source, Files) for source in sources):
        return None
    read_again = {
        path
        for source in sources
        if isinstance(source, Files) and source.format == "parquet"
        for path in source.paths
    }
    marks = (mark(path) if path in read_again else opened[path] for path in sorted(opened))
    return _digest("state", *marks)


def read_once(layout: Layout) -> Marks:
    """The marks of the files that are read on opening and not again: of all but private Parquet
    files, which every scan reads anew."""
    paths = [] if layout.database is None else [layout.database.path]
    private = [s for s in layout.private.values() if isinstance(s, Files) and s.format == "csv"]
    for source in (*private, *layout.public.values()):
        paths += source.paths if isinstance(source, Files) else ()
    return {path: mark(path) for path in paths}


def mark(path: Path) -> Mark:
    """The marks of a file; a database's log of late writes counts as a part of it.

    The time of the last change of the file's entry cannot be set back as that of its content can;
    the ends hold a database's counters of checkpoints and the footer of a Parquet file.
    """
    found: list[tuple[object, ...]] = []
    for part in (path, path.with_name(path.name + ".wal")):
        try:
            state = part.stat()
            ends = _ends(part, state.st_size)
        except OSError:
            continue
        found.append(
            (
                part.name,
                state.st_size,
                state.st_mtime_ns,
                state.st_ctime_ns,
                state.st_dev,
                state.st_ino,
                ends,
            )
        )
    return str(path), *found


def _ends(path: Path, size: int) -> str:
    with path.open("rb") as file:
        start = file.read(_ENDS)
        file.seek(max(0, size - _ENDS))
        return hashlib.sha256(start + file.read(_ENDS)).hexdigest()


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _owner(policy: str) -> str:
    return _digest(policy)[:12]


def key_in(folder: Path) -> int:
    """The key of the hash: random, made once for a source, and the same ever after."""
    path = folder / "key"
    if not path.exists():
        draft = folder / f".key.{secrets.token_hex(8)}"
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{secrets.randbits(64)}\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # unlike a rename, it leaves a key that another process made
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    text = path.read_text().strip()
    if not text.isdecimal() or int(text) >= 2**64:
        raise PermissionError
    return int(text)


def _safe(table: str) -> str:
    """The table's name as a part of a file name, different for different tables."""
    if re.fullmatch(r"[0-9a-z_]{1,40}", table):
        return table
    return "table" + hashlib.sha256(table.encode()).hexdigest()[:12]
