"""Whether the rows that a scan reads are those that an earlier one read: by all bytes of the files.

Sizes, times and ends of a file may be equal though a row differs, so they prove nothing between two
openings. Its bytes do: their digest is taken anew before every query that rests on it. The marks
are looked at beside it, since DuckDB keeps in memory what it has read of a file: what
changed while it was open is proved by nothing.

Privacy: a digest of exact rows would let whoever has the ledger and guesses all rows see that the
guess is right. So what leaves the vault is the digest under a key that lies elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from probe_sql.vault.bounded_store import Mark, key_in, mark
from probe_sql.vault.workplace import private

READING = 2
"""Of how values are computed from rows: another number makes the same bytes another content.

Raise it when the SQL of a scan changes: no value is gone on from then that other SQL has computed.
"""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Content:
    """What the rows of a table are made of: a keyed digest, and the opening that read them.

    `opening` is a random word, made when the source was opened.
    """

    digest: str
    opening: str
    marks: tuple[Mark, ...]

    @property
    def stands(self) -> bool:
        """Whether the files are still what they were when the digest was taken."""
        return all(mark(Path(one[0])) == one for one in self.marks)


class Contents:
    """The digests of files, as one open source knows them."""

    def __init__(self) -> None:
        self.opening = secrets.token_hex(16)
        self._known: dict[Path, tuple[Mark, str]] = {}

    def of(
        self,
        paths: Sequence[Path],
        opened: Mapping[Path, Mark],
        anew: bool,
        key: bytes,
        tick: Callable[[], None],
    ) -> Content | None:
        """The content of files; None where one changes, or is not what it was when it was opened.

        `opened` has the marks of those that are read on opening. With `anew` every byte is read,
        else only what was not read under the same marks in this opening.
        """
        keyed = hmac.new(key, f"{READING}\0".encode(), hashlib.sha256)
        marks = tuple(map(mark, paths))
        for path, before in zip(paths, marks, strict=True):
            known = self._known.get(path)
            if len(before) == 1 or opened.get(path, before) != before:
                return None
            if anew or known is None or known[0] != before:
                found = _digest(path, before, tick)
                if found is None or mark(path) != before:
                    return None
                self._known[path] = known = before, found
            keyed.update(known[1].encode())
        return Content(keyed.hexdigest(), self.opening, marks)


def content_key(ledger: Path) -> bytes | None:
    """The key for digests, kept in a private directory beside the ledger; None where none can be.

    Whoever has a copy of the ledger alone has it not.
    """
    with suppress(OSError):
        return key_in(private(ledger.with_name(ledger.name + ".content"))).to_bytes(8, "big")
    return None


def _digest(path: Path, before: Mark, tick: Callable[[], None]) -> str | None:
    """The digest of a file, and of the log of late writes that a database has beside it.

    None where one is longer than its mark says: it might grow as fast as it is read.
    """
    whole = hashlib.sha256()
    try:
        for name, size in _parts(before):
            whole.update(f"{name}\0".encode())
            with path.with_name(name).open("rb") as file:
                part, left = hashlib.sha256(), size
                while chunk := file.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        return None
                    part.update(chunk)
                    tick()
            whole.update(part.digest())
    except OSError:
        return None
    return whole.hexdigest()


def _parts(before: Mark) -> Iterator[tuple[str, int]]:
    """The name and the size of each file that a mark is of."""
    for part in before[1:]:
        assert isinstance(part, tuple)
        yield str(part[0]), int(part[1])
