"""Files that change while they are read: what was read then is discarded, by each mark alone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from probe_sql.errors import ScanError
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.steady import ATTEMPTS, file_marks, steadily


class Reads:
    """Reads that see each of `marks` in turn, before and after."""

    def __init__(self, *marks: int, failing: int = 0) -> None:
        self._marks = list(marks)
        self._failing = failing
        self.made: list[int] = []
        self.discarded: list[int] = []

    def read(self) -> int:
        self.made.append(len(self.made))
        if len(self.made) <= self._failing:
            raise scan_error(Failure.FILE)
        return self.made[-1]

    def run(self) -> int:
        return steadily(self.read, lambda: self._marks.pop(0), self.discarded.append)


def test_what_was_read_while_the_marks_changed_is_discarded_and_read_again() -> None:
    reads = Reads(1, 2, 2, 3, 3, 3)
    assert reads.run() == 2
    assert reads.discarded == [0, 1]


def test_an_error_counts_only_if_the_marks_did_not_change() -> None:
    assert Reads(1, 2, 2, 2, failing=1).run() == 1
    with pytest.raises(ScanError):
        Reads(1, 1, failing=1).run()


def test_what_is_never_steady_is_a_failure_and_nothing_of_it_is_kept() -> None:
    reads = Reads(*range(2 * ATTEMPTS))
    with pytest.raises(ScanError):
        reads.run()
    assert reads.discarded == list(range(ATTEMPTS))


def again(path: Path) -> None:
    path.write_bytes(b"two")


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"two")
    other.replace(path)


@pytest.mark.parametrize("change", [again, replaced])
@pytest.mark.parametrize("restored", [False, True])
def test_a_file_of_the_same_size_has_other_marks(
    tmp_path: Path, change: Callable[[Path], None], restored: bool
) -> None:
    """Also where whoever wrote it sets its time back."""
    path = tmp_path / "rows"
    path.write_bytes(b"one")
    state = path.stat()
    before = file_marks([path])
    assert file_marks([path]) == before
    time.sleep(0.03)
    change(path)
    if restored:
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert file_marks([path]) != before
