"""Wrong arguments of the Python API: a `ProbeError` that says what would work, never a charge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import probe_sql
from probe_sql.errors import InterfaceError, NotSupportedError, PolicyError, ProbeError
from probe_sql.session import Connection, Explanation, connect, explain_only
from tests.examples.clinic import POLICY, build

SQL = "SELECT disease FROM patients WHERE disease_type = ? GROUP BY disease HAVING count(*) > 200"
WHOLE = SQL.replace("?", "'viral'")


class Bytes:
    """A path that gives bytes."""

    def __fspath__(self) -> bytes:
        return b"x"

    def __repr__(self) -> str:
        return "Bytes()"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("arguments"))


@pytest.fixture(scope="module")
def db(path: Path) -> Iterator[Connection]:
    with connect(path, POLICY, analyst="maria") as opened:
        yield opened


def explained(db: Connection) -> probe_sql.Cursor:
    return db.cursor().execute(f"EXPLAIN {WHOLE}")


def sized(db: Connection, size: Any) -> list[Any]:
    cursor = explained(db)
    cursor.arraysize = size
    return cursor.fetchmany()


@pytest.mark.parametrize(
    "wrong",
    [
        {"analyst": b"maria"}, {"analyst": ["maria"]}, {"analyst": 5}, {"analyst": {}},
        {"analyst": "a\ud800"}, {"source": None}, {"source": 5}, {"source": b"x"},
        {"source": ["x"]}, {"source": "a\0b"}, {"source": Bytes()}, {"policy": None}, {"policy": 5},
        {"policy": b"x"},
        {"policy": {}}, {"policy": "a\0b"}, {"policy": Bytes()}, {"ledger": 5}, {"ledger": b"x"},
        {"ledger": "a\0"},
    ],
    ids=repr,
)  # fmt: skip
def test_connect(path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises((InterfaceError, PolicyError), match="fix: "):
        connect(**{"source": path, "policy": POLICY, **wrong})


ASKED: dict[str, Callable[[Connection, Any], Any]] = {
    "sql": lambda db, value: db.sql(SQL, value),
    "explain": lambda db, value: db.explain(SQL, value),
    "plan": lambda db, value: db.plan(SQL, value),
    "execute": lambda db, value: db.cursor().execute(SQL, value),
    "explain_only": lambda _, value: explain_only(SQL, POLICY, value),
}


@pytest.mark.parametrize("call", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize(
    "wrong",
    ["v", b"v", 5, {"a": "viral"}, {"viral"}, iter(["viral"]), np.array(["viral"]), object(),
     [np.array([1, 2])], [["viral"]], [object()], ["\ud800"], []],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_parameters(db: Connection, call: Callable[[Connection, Any], Any], wrong: Any) -> None:
    for _ in range(2):  # the last plan is kept, and compared with what is asked next
        with pytest.raises(ProbeError):
            call(db, wrong)
    assert db.budget.spent == 0


def test_no_parameters_may_be_none(db: Connection) -> None:
    assert db.explain(WHOLE, None).as_dict() == db.explain(WHOLE).as_dict()
    assert isinstance(db.sql(f"EXPLAIN {WHOLE}", None), Explanation)
    assert db.cursor().execute(f"EXPLAIN {WHOLE}", None).fetchone()
    assert explain_only(WHOLE, POLICY, None).draws
    with pytest.raises(ProbeError):
        db.explain(SQL, None)


WRONG: dict[str, Callable[[Connection], Any]] = {
    "sql None": lambda db: db.sql(None),  # type: ignore[arg-type]
    "sql bytes": lambda db: db.sql(b"SELECT"),  # type: ignore[arg-type]
    "explain int": lambda db: db.explain(5),  # type: ignore[arg-type]
    "execute list": lambda db: db.cursor().execute(["SELECT"]),  # type: ignore[arg-type]
    "explain_only None": lambda _: explain_only(None, POLICY),  # type: ignore[arg-type]
    "explain_only policy": lambda _: explain_only(WHOLE, 5),  # type: ignore[arg-type]
    "explain_only source": lambda _: explain_only(WHOLE, POLICY, source=5),
    "progress": lambda db: db.sql(WHOLE, progress=5),  # type: ignore[arg-type]
    "unknown option": lambda db: db.sql(WHOLE, frob=1),
    "option list": lambda db: db.sql(WHOLE, fnr=[1]),
    "option None": lambda db: db.sql(WHOLE, epsilon=None),
    "key_values table": lambda db: db.key_values(5, "disease"),  # type: ignore[arg-type]
    "key_values column": lambda db: db.key_values("patients", None),  # type: ignore[arg-type]
    "key_values limit": lambda db: db.key_values("patients", "disease", "x"),  # type: ignore[arg-type]
    "key_values negative": lambda db: db.key_values("patients", "disease", -1),
    "key_values half": lambda db: db.key_values("patients", "disease", 1.5),  # type: ignore[arg-type]
    "executemany None": lambda db: db.cursor().executemany(SQL, None),
    "executemany generator": lambda db: db.cursor().executemany(SQL, iter([])),
    "fetchmany text": lambda db: explained(db).fetchmany("x"),  # type: ignore[arg-type]
    "fetchmany half": lambda db: explained(db).fetchmany(1.5),  # type: ignore[arg-type]
    "fetchmany negative": lambda db: explained(db).fetchmany(-1),
    "arraysize": lambda db: sized(db, "x"),
    "ticks text": lambda _: probe_sql.DateFromTicks("x"),  # type: ignore[arg-type]
    "ticks far": lambda _: probe_sql.TimestampFromTicks(1e30),
    "ticks nan": lambda _: probe_sql.TimeFromTicks(float("nan")),
    "load_policy": lambda _: probe_sql.load_policy(5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_everything_else(db: Connection, call: Callable[[Connection], Any]) -> None:
    with pytest.raises(ProbeError) as caught:
        call(db)
    assert caught.value.fix or isinstance(caught.value, NotSupportedError)
    assert db.budget.spent == 0


def test_what_is_right_still_works(db: Connection) -> None:
    assert len(db.key_values("patients", "disease", np.int64(2))) == 2  # type: ignore[arg-type]
    assert db.key_values("patients", "disease", 0) == ()
    assert len(explained(db).fetchmany(np.int64(2))) == 2  # type: ignore[arg-type]
    assert db.explain(SQL, [np.str_("viral")]).draws
