"""The two slots of an anchor: whatever tears a write, a whole one is left, and the later counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql.errors import LedgerError
from probe_sql.ledger import Ledger
from probe_sql.ledger.anchors import Anchor, AnchorFile
from probe_sql.loss import Loss

OpenLedger = Callable[..., Ledger]
StartWorker = Callable[..., "subprocess.Popen[str]"]
FAILURE, RESERVED = Loss.drawn(0.0625).units, Loss.drawn(0.25).units
BLOCK, SECTOR = 4096, 512


def anchor(seq: int, people: int = 0) -> Anchor:
    """A head of some ledger, with so many analysts."""
    analysts = tuple((f"analyst {number}", seq * number) for number in range(people))
    return Anchor("ab" * 16, seq, f"{seq:064x}", 1000 * seq, analysts)


def slots(path: Path) -> list[bytes]:
    text = path.read_bytes()
    return [text[: len(text) // 2], text[len(text) // 2 :]]


@pytest.fixture
def file(tmp_path: Path) -> AnchorFile:
    """An anchor with two whole slots, rows 4 and 5."""
    found = AnchorFile(tmp_path / "x.anchor", required=True)
    for seq in (4, 5):
        found.stage(anchor(seq))
        found.publish(anchor(seq))
    return found


def test_a_write_torn_at_any_length_leaves_the_last_anchor(file: AnchorFile) -> None:
    old, new = anchor(4).slot(), anchor(6).slot()
    for length in (*range(len(new.rstrip()) + 2), BLOCK):
        torn = new[:length] + old[length:]
        file.path.write_bytes(torn + anchor(5).slot())
        assert file.read() == (anchor(6) if torn == new else anchor(5))


def test_a_write_of_which_any_sectors_reached_the_disk_leaves_the_last_anchor(
    file: AnchorFile,
) -> None:
    """Seven sectors of text, written in any order until the power fails."""
    for seq in (7, 8):
        file.publish(anchor(seq, people=140))
    old, new = anchor(7, 140).slot(), anchor(9, 140).slot()
    assert len(old.strip()) > 6 * SECTOR < len(new.strip())
    assert len(old) == len(new) == BLOCK
    for chosen in product((old, new), repeat=BLOCK // SECTOR):
        parts = [part[i * SECTOR : (i + 1) * SECTOR] for i, part in enumerate(chosen)]
        torn = b"".join(parts)
        file.path.write_bytes(torn + anchor(8, 140).slot())
        assert file.read() == (anchor(9, 140) if torn == new else anchor(8, 140))


def test_a_torn_slot_is_the_next_that_is_written(file: AnchorFile) -> None:
    old = anchor(4).slot()
    file.path.write_bytes(anchor(6).slot()[:100] + old[100:] + anchor(5).slot())
    file.publish(anchor(7))
    assert file.read() == anchor(7)
    assert slots(file.path) == [anchor(7).slot(), anchor(5).slot()]


def test_an_anchor_with_no_whole_slot_is_damaged(file: AnchorFile) -> None:
    file.path.write_bytes(b"".join(slot[:50] + slot[51:] + b"\n" for slot in slots(file.path)))
    with pytest.raises(LedgerError, match="is damaged"):
        file.read()


@pytest.mark.parametrize("length", [0, 1, 40, 200, BLOCK - 1, BLOCK])
@pytest.mark.parametrize("which", ["beside", "own"])
@pytest.mark.parametrize("step", ["reserve", "draw"])
def test_killed_within_the_write_of_a_slot(
    open_ledger: OpenLedger, start: StartWorker, step: str, which: str, length: int
) -> None:
    """A real process that dies after so many bytes: charged as if the anchor lagged, or did not."""
    process = start("tear", step, which, length)
    output, trouble = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, trouble
    assert output == ""
    ledger = open_ledger()
    ledger.audit()
    assert ledger.state().spent_units == (FAILURE if step == "reserve" else RESERVED)
    ledger.reserve(None, Loss.asked(0.125), sql="and it goes on")


def test_each_slot_is_on_disk_before_the_other_is_written(
    file: AnchorFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the power could take both."""
    done: list[str] = []
    write, sync = os.write, os.fdatasync

    def written(descriptor: int, content: bytes) -> int:
        done.append("write")
        return write(descriptor, content)

    def synced(descriptor: int) -> None:
        sync(descriptor)
        done.append("sync")

    monkeypatch.setattr(os, "write", written)
    monkeypatch.setattr(os, "fdatasync", synced)
    before = file.path.stat().st_ino
    for seq in range(6, 10):
        file.stage(anchor(seq))
        file.publish(anchor(seq))
    assert done == ["write", "sync"] * 4
    assert file.path.stat().st_ino == before
    assert [Anchor.load(slot) for slot in slots(file.path)] == [anchor(8), anchor(9)]


@settings(max_examples=60, deadline=None)
@given(heads=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 150)), min_size=1, max_size=8))
def test_what_was_published_last_is_read(
    tmp_path_factory: pytest.TempPathFactory, heads: list[tuple[int, int]]
) -> None:
    """However it grows, shrinks or goes back, as when the owner takes an older copy over."""
    found = AnchorFile(tmp_path_factory.mktemp("anchors") / "x.anchor", required=True)
    for seq, people in heads:
        found.stage(anchor(seq, people))
        found.publish(anchor(seq, people))
        assert found.read() == anchor(seq, people)


@pytest.mark.parametrize("line", ['"format": 2', '"format": 1'])
def test_an_anchor_of_an_earlier_version_is_read_and_replaced(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.anchor"
    said: dict[str, object] = {"ledger": "ab" * 16, "seq": 4, "hash": f"{4:064x}", "spent": 4000}
    if line == '"format": 2':
        said |= {"analysts": [["maria", 7]], "failures": []}
    text = f"{{{line}, {json.dumps(said)[1:]}\n"
    path.write_text(text)
    found = AnchorFile(path, required=True)
    known = found.read()
    assert known is not None
    assert known.seq == 4
    assert known.analysts == ((("maria", 7),) if line == '"format": 2' else None)
    path.write_text(text.replace("4000", "4001 "))
    with pytest.raises(LedgerError, match="is damaged"):
        found.read()
    path.write_text(text)
    found.publish(anchor(5))
    assert slots(path) == [anchor(5).slot(), b"\n".rjust(BLOCK)]


def test_whose_file_it_may_not_be_is_not_written_over(file: AnchorFile, tmp_path: Path) -> None:
    """A link in the anchor's place is replaced, and what it leads to stays as it is."""
    other = tmp_path / "other"
    for make in (os.symlink, os.link):
        other.write_bytes(file.path.read_bytes())
        other.chmod(0o600)
        kept = other.read_bytes()
        file.path.unlink()
        make(other, file.path)
        known = file.read()
        assert known is not None
        later = replace(known, seq=known.seq + 1)
        file.stage(later)
        file.publish(later)
        assert file.read() == later
        assert other.read_bytes() == kept
        assert not file.path.is_symlink()
        assert file.path.stat().st_nlink == 1


def test_a_file_for_others_than_the_mode_says_is_replaced(file: AnchorFile) -> None:
    file.path.chmod(0o644)
    file.publish(anchor(6))
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.read() == anchor(6)


def test_another_ledgers_anchor_is_replaced_whole(file: AnchorFile) -> None:
    """No slot of the other is left, which could come back as the later one."""
    other = replace(anchor(6), ledger="cd" * 16)
    file.publish(other)
    assert slots(file.path) == [other.slot(), b"\n".rjust(BLOCK)]
