"""Messages and values of the protocol: what is written is read back, and no bytes are a crash."""

from __future__ import annotations

import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.errors import SqlError
from probe_sql.serve.postgres import messages as m
from probe_sql.serve.postgres import types as t

NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def text(value: str) -> bytes:
    return value.encode() + b"\0"


@given(NAMES, NAMES, st.lists(st.integers(0, 2**32 - 1), max_size=5))
def test_parse_is_read_as_it_was_written(name: str, sql: str, oids: list[int]) -> None:
    body = text(name) + text(sql) + struct.pack(f"!h{len(oids)}I", len(oids), *oids)
    assert m.decode(b"P", body) == m.Parse(name, sql, tuple(oids))


@given(NAMES, NAMES, st.lists(st.none() | st.binary(max_size=30), max_size=5))
def test_bind_is_read_as_it_was_written(portal: str, name: str, values: list[bytes | None]) -> None:
    cells = b"".join(
        struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values
    )
    count = struct.pack("!h", len(values))
    body = text(portal) + text(name) + struct.pack("!hh", 1, 1) + count + cells
    assert m.decode(b"B", body + struct.pack("!hh", 1, 0)) == m.Bind(
        portal, name, (1,), tuple(values), (0,)
    )


@given(st.dictionaries(NAMES.filter(bool), NAMES, max_size=5))
def test_the_first_message_is_read_as_it_was_written(parameters: dict[str, str]) -> None:
    body = b"".join(text(name) + text(value) for name, value in parameters.items())
    found = m.decode_first(struct.pack("!I", 196608) + body + b"\0")
    assert found == m.Startup(0, parameters)


@given(st.binary(max_size=80))
def test_any_bytes_are_a_message_or_a_protocol_error(data: bytes) -> None:
    for letter in [*b"pQPBEDCHSXcdfF", 0, 255]:
        try:
            m.decode(bytes([letter]), data)
        except m.ProtocolError:
            continue
    try:
        m.decode_first(data)
    except m.ProtocolError:
        return


@pytest.mark.parametrize("body", [b"", b"\0\0", text("x")[:-1], text("x") + b"y", b"\xff\0"])
def test_messages_that_are_too_short_too_long_or_no_text_are_refused(body: bytes) -> None:
    with pytest.raises(m.ProtocolError):
        m.decode(b"Q", body)


def test_an_error_has_its_fields_and_no_zero_byte() -> None:
    sent = m.report(b"E", "ERROR", "42601", "a\0b", detail="why", hint="fix", position=7)
    assert sent[0:1] == b"E"
    assert struct.unpack("!i", sent[1:5])[0] == len(sent) - 1
    fields = {part[:1]: part[1:] for part in sent[5:].rstrip(b"\0").split(b"\0")}
    assert fields == {
        b"S": b"ERROR",
        b"V": b"ERROR",
        b"C": b"42601",
        b"M": b"ab",
        b"D": b"why",
        b"H": b"fix",
        b"P": b"7",
    }


# --- values ------------------------------------------------------------------------------

VALUES = st.one_of(
    st.tuples(st.just(t.BOOL), st.booleans()),
    st.tuples(st.just(t.INT4), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(st.just(t.INT8), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(t.FLOAT8), st.floats(allow_nan=False)),
    st.tuples(
        st.just(t.NUMERIC),
        st.decimals(allow_nan=False, allow_infinity=False, places=4)
        | st.integers(-(10**30), 10**30).map(Decimal),
    ),
    st.tuples(st.just(t.TEXT), NAMES),
    st.tuples(st.just(t.DATE), st.dates()),
    st.tuples(st.just(t.TIMESTAMP), st.datetimes()),
    st.tuples(st.just(t.TIME), st.times()),
    st.tuples(st.just(1016), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1))),
    st.tuples(st.just(1009), st.lists(st.none() | NAMES)),
)


@given(VALUES, st.booleans())
def test_values_are_read_as_they_were_written(pair: tuple[int, Any], binary: bool) -> None:
    oid, value = pair
    sent = t.encode(value, oid, binary)
    assert t.decode(sent, oid, binary, 1) == value


def test_numbers_have_the_bytes_that_postgresql_documents() -> None:
    sent = t.encode(Decimal("-12345.678"), t.NUMERIC, True)
    assert sent == struct.pack("!hhHh3h", 3, 1, 0x4000, 3, 1, 2345, 6780)
    assert t.encode(Decimal("0.00001"), t.NUMERIC, True) == struct.pack("!hhHhh", 1, -2, 0, 5, 1000)
    assert t.encode(date(2000, 1, 2), t.DATE, True) == struct.pack("!i", 1)
    assert t.encode(datetime(2000, 1, 1, 0, 0, 1), t.TIMESTAMP, True) == struct.pack(
        "!q", 1_000_000
    )


@given(
    st.binary(max_size=20),
    st.sampled_from([*t.SIZES, *t.ARRAYS, t.NUMERIC, t.TEXT, 600]),
    st.booleans(),
)
def test_any_parameter_is_a_value_or_an_error_that_does_not_quote_it(
    data: bytes, oid: int, binary: bool
) -> None:
    said = ""
    try:
        t.decode(data, oid, binary, 3)
    except SqlError as error:
        said = str(error)
    assert said == "" or ("$3" in said and len(said) < 200)


def test_arrays_of_one_dimension_are_read() -> None:
    assert t.decode(b'{r,"a b",NULL,"q\\"x"}', 1009, False, 1) == ["r", "a b", None, 'q"x']
    assert t.decode(b"{1,2}", 1007, False, 1) == [1, 2]
    assert t.decode(b"{}", 1007, False, 1) == []
    for wrong in (b"1,2", b"{{1}}", b"{x}"):
        with pytest.raises(SqlError, match="not a value"):
            t.decode(wrong, 1007, False, 1)


def test_arrays_in_binary_are_read() -> None:
    head = struct.pack("!iiIii", 1, 0, t.TEXT, 3, 1)
    cells = struct.pack("!i", 2) + b"ab" + struct.pack("!i", -1) + struct.pack("!i", 0)
    assert t.decode(head + cells, 1009, True, 1) == ["ab", None, ""]
    assert t.decode(struct.pack("!iiI", 0, 0, t.INT4), 1007, True, 1) == []
    one = struct.pack("!iiIiiii", 1, 0, t.INT4, 1, 1, 4, 7)
    assert t.decode(one, 1007, True, 1) == [7]
    wrong = (head, head + cells + b"x", one[:-1], struct.pack("!iiI", 2, 0, t.INT4), b"", one[:9])
    for data in wrong:
        with pytest.raises(SqlError, match="not a value"):
            t.decode(data, 1007, True, 1)


def test_a_date_may_have_a_zone_behind_it() -> None:
    assert t.decode(b"2020-03-02 +01", t.DATE, False, 1) == date(2020, 3, 2)
