"""CSV files: one line is one row, whatever it holds, or the file is refused on opening."""

from __future__ import annotations

import csv
import gzip
import io
import random
from pathlib import Path

import pytest

from probe_sql.errors import OperationalError
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backends import open_backend
from tests.examples import awkward
from tests.examples.policies import listed, one_table, within

LINES = 3000


def rules() -> Policy:
    return parse_policy(
        one_table(
            "t",
            {"g": listed("a", "b"), "x": within(0, 9), "p": 'type = "BIGINT"'},
            rows=10000,
            epsilon=1,
        )
    )


def counted(path: Path) -> list[int]:
    backend = open_backend(path, rules())
    sql = "SELECT g FROM t GROUP BY g HAVING count(*) > 1 AND count(x) > 1 AND count(p) > 1"
    try:
        found = awkward.values(backend.measure(awkward.planned(backend, sql, rules()).scan))
        return [column[0] for column in found]
    finally:
        backend.close()


def written(path: Path, line: bytes, end: bytes = b"\n") -> Path:
    lines = [b"a,%d,%d" % (i % 9, i % 5) for i in range(LINES)]
    lines[LINES // 2 : LINES // 2] = [line]
    path.write_bytes(end.join([b"g,x,p", *lines, b""]))
    return path


ONE_ROW = {
    b"a,x,1": [1, 0, 1],
    b"a,1,y": [1, 1, 0],
    b"a,,": [1, 0, 0],
    b"a": [1, 0, 0],
    b'a,"3\n4",1': [1, 0, 1],
    b'a,"3\r\n4",1': [1, 0, 1],
    b'"a","3","1"': [1, 1, 1],
    b'"a" ,"3", "1" ': [1, 1, 1],
    b'a,3"4,1': [1, 0, 1],
    b'a,"3""",1': [1, 0, 1],
    b'a,"",1': [1, 0, 1],
    b'a,"""""",1': [1, 0, 1],
    b'a,",",1': [1, 0, 1],
    b'a,\\"3,1': [1, 0, 1],
    b"a,\x003,1": [1, 0, 1],
    b"a,1,1,1,1,1": [1, 1, 1],
    b"a,\xff,1": [0, 0, 0],
    b"": [0, 0, 0],
}


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("line", list(ONE_ROW))
def test_a_line_is_one_row_and_an_unreadable_cell_is_null(
    line: bytes, end: bytes, tmp_path: Path
) -> None:
    expected = [LINES + more for more in ONE_ROW[line]]
    assert counted(written(tmp_path / "t.csv", line, end)) == expected


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    "line",
    [b'a,"3,1', b'"a,3,1', b'a, "3,1', b'a,"3"4,1', b'a,"3,1\na,"3,1', b'a,"""3,1', b'a,3,"1""'],
)
def test_a_quote_that_does_not_close_is_refused_on_opening(
    line: bytes, zipped: bool, tmp_path: Path
) -> None:
    path = written(tmp_path / "t.csv", line)
    if zipped:
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    with pytest.raises(OperationalError, match="begins with a quote and does not end") as caught:
        open_backend(path, rules())
    assert "3" not in str(caught.value)


def test_whatever_a_library_writes_or_is_not_refused_has_one_row_for_each_line(
    tmp_path: Path,
) -> None:
    """Texts of the characters that matter, written well, and lines that are just made up."""
    rng = random.Random(7)
    for number in range(10):
        text = "".join(rng.choices('"",\n\r ax\t;|\\', k=rng.randrange(9)))
        made = io.StringIO()
        dialect = rng.choice(["excel", "unix"])  # quotes where they are needed, and everywhere
        csv.writer(made, dialect, lineterminator="\r\n").writerow(["a", text, "1"])
        path = written(tmp_path / f"w{number}.csv", made.getvalue()[:-2].encode())
        assert counted(path) == [LINES + 1, LINES, LINES + 1], repr(text)
        raw = "".join(rng.choices('"",ax \t', k=rng.randrange(9)))
        try:
            found = counted(written(tmp_path / f"r{number}.csv", b"a," + raw.encode()))
        except OperationalError:
            continue
        assert abs(found[0] - LINES) <= 1, repr(raw)
