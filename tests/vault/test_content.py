"""Digests of files: what they cover, and that SQL which computes otherwise is another content."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from probe_sql.scan.engine import DUCKDB
from probe_sql.vault import content
from probe_sql.vault.bounded_store import mark
from probe_sql.vault.content import Contents, content_key
from tests.engines.statements import FOLDER

COMPUTED = {
    1: "ce1f2c7ce8dcb23f38d83e4e2f7c355bb7431ae5af45e24cfb2b8b18c34af92c",
    2: "351b21b6f76b9cdd251156391459a606e86cb840aa20c8576bc34b2be25e7f85",
}
"""The SQL of the representative scans, for each number of `content.READING`."""


def statements() -> str:
    """The digest of what DuckDB is asked in the files of representative queries."""
    whole = hashlib.sha256()
    for path in sorted(FOLDER.glob("*.sql")):
        parts = path.read_text(encoding="utf-8").split("\n-- ")
        whole.update("".join(p for p in parts if p.startswith(DUCKDB.name)).encode())
    return whole.hexdigest()


def test_other_sql_is_another_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes the SQL of a scan raises READING and notes the new digest here."""
    assert statements() == COMPUTED[content.READING]
    file = tmp_path / "rows"
    file.write_bytes(b"rows")
    before = digest(file)
    assert before == digest(file)
    monkeypatch.setattr(content, "READING", content.READING + 1)
    assert digest(file) != before


def digest(*paths: Path, key: bytes = b"key") -> str | None:
    found = Contents().of(paths, {}, True, key, lambda: None)
    return None if found is None else found.digest


def test_every_byte_and_the_log_beside_it_count(tmp_path: Path) -> None:
    file, log = tmp_path / "rows", tmp_path / "rows.wal"
    seen = set()
    for text in (b"", b"a", b"b", b"a" * 3_000_000, b"a" * 2_999_999 + b"b"):
        file.write_bytes(text)
        seen.add(digest(file))
    log.write_bytes(b"late")
    seen |= {digest(file), digest(file, key=b"other")}
    file.write_bytes(b"late")
    log.write_bytes(b"a" * 2_999_999 + b"b")
    seen.add(digest(file))
    assert len(seen) == 8
    assert None not in seen
    assert digest(tmp_path / "none") is None


def test_a_file_that_changes_while_it_is_read_has_no_digest(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b"a" * 3_000_000)
    opened = {file: mark(file)}
    contents = Contents()

    def grow() -> None:
        with file.open("ab") as end:
            end.write(b"more")

    assert contents.of([file], {}, True, b"key", grow) is None
    assert contents.of([file], opened, True, b"key", lambda: None) is None  # nor later
    found = contents.of([file], {}, True, b"key", lambda: None)
    assert found is not None
    assert found.stands
    os.utime(file)
    assert not found.stands


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    ledger = tmp_path / "x.ledger"
    key = content_key(ledger)
    assert key == content_key(ledger) is not None
    folder = tmp_path / "x.ledger.content"
    assert (folder.stat().st_mode & 0o777, (folder / "key").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )
    (folder / "key").write_text("no number")
    assert content_key(ledger) is None
    assert content_key(tmp_path / "no folder" / "x.ledger") is None
