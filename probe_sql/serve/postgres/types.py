"""Values on the wire: PostgreSQL's types, and their text and binary forms."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from probe_sql.errors import SqlError
from probe_sql.types import Kind, SqlType

BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, OID = 16, 17, 18, 19, 20, 21, 23, 25, 26
JSON, FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR = 114, 700, 701, 705, 1042, 1043
DATE, TIME, TIMESTAMP, TIMESTAMPTZ, NUMERIC = 1082, 1083, 1114, 1184, 1700
SIZES = {
    BOOL: 1,
    CHAR: 1,
    NAME: 64,
    INT8: 8,
    INT2: 2,
    INT4: 4,
    OID: 4,
    FLOAT4: 4,
    FLOAT8: 8,
    DATE: 4,
    TIME: 8,
    TIMESTAMP: 8,
    TIMESTAMPTZ: 8,
}
ARRAYS = {1000: BOOL, 1002: CHAR, 1003: NAME, 1005: INT2, 1007: INT4, 1009: TEXT, 1015: VARCHAR,
          1016: INT8, 1028: OID}  # fmt: skip
TEXTS_LIST = 1009
TEXTS = frozenset({TEXT, VARCHAR, BPCHAR, NAME, CHAR, UNKNOWN, JSON, 0})
_INTEGERS = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I"}
_FLOATS = {FLOAT4: "!f", FLOAT8: "!d"}
_DAY_ZERO = date(2000, 1, 1)
_ZERO = datetime(2000, 1, 1)  # PostgreSQL counts from here
_KINDS = {
    Kind.BOOLEAN: BOOL,
    Kind.DECIMAL: NUMERIC,
    Kind.FLOAT: FLOAT8,
    Kind.DATE: DATE,
    Kind.TIMESTAMP: TIMESTAMP,
    Kind.TIMESTAMPTZ: TIMESTAMPTZ,
    Kind.TIME: TIME,
}


# A value of each kind that a parameter may have, in the order in which they are tried.
EXAMPLES: tuple[tuple[int, Any], ...] = (
    (TEXT, "x"),
    (NUMERIC, 1),
    (NUMERIC, Decimal("0.5")),
    (DATE, date(2020, 1, 1)),
    (TIMESTAMP, datetime(2020, 1, 1)),
    (BOOL, True),
)


def example(oid: int) -> Any:
    """A value of a type, to see what a statement gives."""
    if oid in TEXTS:
        return "x"
    return next((value for known, value in EXAMPLES if known == oid), 1)


def oid_of(type_: SqlType | None) -> int:
    """The OID for values of one of our types; text where there is none."""
    if type_ is None:
        return TEXT
    if type_.kind is Kind.INTEGER:
        assert type_.low is not None
        assert type_.high is not None
        if type_.low >= -(2**31) and type_.high < 2**31:
            return INT4
        return INT8 if type_.low >= -(2**63) and type_.high < 2**63 else NUMERIC
    return _KINDS.get(type_.kind, TEXT)


# --- to the client -----------------------------------------------------------------------


def encode(value: Any, oid: int, binary: bool) -> bytes | None:
    """A value of a result in the format that the client asked for; None is NULL."""
    if value is None:
        return None
    return _binary(value, oid) if binary else as_text(value).encode("utf-8", "replace")


def as_text(value: Any) -> str:
    """A value as PostgreSQL would print it."""
    match value:
        case bool():
            return "t" if value else "f"
        case float():
            return _float(value)
        case datetime():
            return value.isoformat(" ")
        case list() | tuple():
            return "{" + ",".join("NULL" if one is None else _element(one) for one in value) + "}"
        case bytes():
            return "\\x" + value.hex()
        case _:
            return str(value).replace("\0", "")


def _float(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    return text.removesuffix(".0")


def _element(value: Any) -> str:
    text = as_text(value)
    if text and text.upper() != "NULL" and not set(text) & set('{},"\\ \t\n\r\v\f'):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary(value: Any, oid: int) -> bytes:
    if oid == BOOL:
        return b"\1" if value else b"\0"
    if oid in _INTEGERS:
        return struct.pack(_INTEGERS[oid], int(value))
    if oid in _FLOATS:
        return struct.pack(_FLOATS[oid], float(value))
    if oid == NUMERIC:
        return _numeric(Decimal(str(value)))
    if oid == DATE:
        return struct.pack("!i", (value - _DAY_ZERO).days)
    if oid in (TIMESTAMP, TIMESTAMPTZ):
        moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return struct.pack("!q", (moment - _ZERO) // timedelta(microseconds=1))
    if oid in ARRAYS and isinstance(value, list | tuple):
        cells = [encode(one, ARRAYS[oid], True) for one in value]
        head = struct.pack("!iiI", 1 if cells else 0, int(None in cells), ARRAYS[oid])
        parts = [b"\xff\xff\xff\xff" if c is None else struct.pack("!i", len(c)) + c for c in cells]
        return head + (struct.pack("!ii", len(cells), 1) if cells else b"") + b"".join(parts)
    if oid == TIME:
        whole = value.hour * 3600 + value.minute * 60 + value.second
        return struct.pack("!q", whole * 1_000_000 + value.microsecond)
    return as_text(value).encode("utf-8", "replace")


def _numeric(value: Decimal) -> bytes:
    """A number as digits to the base 10,000, with the weight of the first one."""
    if not value.is_finite():
        sign = 0xC000 if value.is_nan() else 0xD000 if value > 0 else 0xF000
        return struct.pack("!hhHh", 0, 0, sign, 0)
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    text = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole, part = (text[: len(text) - scale], text[len(text) - scale :]) if scale else (text, "")
    if scale > len(text):
        whole, part = "", "0" * (scale - len(text)) + text
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    joined = whole + part
    groups = [int(joined[at : at + 4]) for at in range(0, len(joined), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    if not groups:
        weight = 0
    head = struct.pack("!hhHh", len(groups), weight, 0x4000 if sign and groups else 0, scale)
    return head + struct.pack(f"!{len(groups)}h", *groups)


# --- from the client ---------------------------------------------------------------------


def decode(data: bytes | None, oid: int, binary: bool, number: int) -> Any:
    """The value of a parameter. `number` names it in errors, which never quote it."""
    if data is None:
        return None
    try:
        return (_from_binary if binary else _from_text)(data, oid)
    except (ValueError, struct.error, InvalidOperation, OverflowError):
        raise SqlError(
            f"parameter ${number} is not a value of its type",
            fix="send it as text, or as its type is written",
        ) from None


def _from_text(data: bytes, oid: int) -> Any:
    text = data.decode()
    if oid == BOOL:
        return _boolean(text)
    if oid in _INTEGERS:
        return int(text)
    if oid in _FLOATS:
        return float(text)
    if oid in ARRAYS:
        return _list(text, ARRAYS[oid])
    convert = _FROM_TEXT.get(oid)
    return text if convert is None else convert(text)


def _list(text: str, oid: int) -> list[Any]:
    """The elements of an array of one dimension, as PostgreSQL writes it."""
    if not (text.startswith("{") and text.endswith("}")) or "{" in text[1:]:
        raise ValueError
    found = re.findall(r'"((?:[^"\\]|\\.)*)"|([^,"]+)', text[1:-1])
    return [
        None
        if plain.upper() == "NULL"
        else _from_text((plain or re.sub(r"\\(.)", r"\1", quoted)).encode(), oid)
        for quoted, plain in found
    ]


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word in ("t", "true", "y", "yes", "on", "1"):
        return True
    if word in ("f", "false", "n", "no", "off", "0"):
        return False
    raise ValueError


def _date(text: str) -> date:
    """A date; some clients write a zone behind it, which PostgreSQL takes no notice of."""
    found = re.fullmatch(r"\s*(\d{4}-\d\d-\d\d)(\s*[+-]\d\d(:?\d\d)?)?\s*", text)
    if found is None:
        raise ValueError
    return date.fromisoformat(found[1])


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


_FROM_TEXT: dict[int, Callable[[str], Any]] = {
    NUMERIC: Decimal,
    DATE: _date,
    TIME: time.fromisoformat,
    TIMESTAMP: _moment,
    TIMESTAMPTZ: datetime.fromisoformat,
}


def _from_binary(data: bytes, oid: int) -> Any:
    if oid == BOOL:
        return bool(struct.unpack("!B", data)[0])
    if oid in _INTEGERS:
        return int(struct.unpack(_INTEGERS[oid], data)[0])
    if oid in _FLOATS:
        return float(struct.unpack(_FLOATS[oid], data)[0])
    if oid == NUMERIC:
        return _decimal(data)
    if oid == DATE:
        return _DAY_ZERO + timedelta(days=struct.unpack("!i", data)[0])
    if oid in (TIMESTAMP, TIMESTAMPTZ):
        moment = _ZERO + timedelta(microseconds=struct.unpack("!q", data)[0])
        return moment.replace(tzinfo=UTC) if oid == TIMESTAMPTZ else moment
    if oid in ARRAYS:
        return _binary_list(data, ARRAYS[oid])
    if oid == TIME:
        return (_ZERO + timedelta(microseconds=struct.unpack("!q", data)[0])).time()
    if oid in TEXTS:
        return data.decode()
    raise ValueError


def _binary_list(data: bytes, oid: int) -> list[Any]:
    """The elements of an array of at most one dimension, each behind its length."""
    dimensions, _, kind = struct.unpack("!iiI", data[:12])
    if kind != oid or dimensions not in (0, 1):
        raise ValueError
    found: list[Any] = []
    at = 12 + 8 * dimensions
    count = struct.unpack("!i", data[12:16])[0] if dimensions else 0
    for _ in range(count):
        size = struct.unpack("!i", data[at : at + 4])[0]
        at += 4
        part = data[at : at + max(0, size)]
        if size < -1 or len(part) != max(0, size):
            raise ValueError
        found.append(None if size == -1 else _from_binary(part, oid))
        at += len(part)
    if at != len(data):
        raise ValueError
    return found


def _decimal(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack("!hhHh", data[:8])
    groups = struct.unpack(f"!{count}h", data[8:])
    if sign not in (0, 0x4000):
        return Decimal({0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}[sign])
    if scale < 0 or any(not 0 <= group < 10_000 for group in groups):
        raise ValueError
    total = sum(group * 10_000 ** (count - 1 - index) for index, group in enumerate(groups))
    exact = Decimal(total).scaleb(4 * (weight - count + 1))
    shown = exact.quantize(Decimal(1).scaleb(-scale)) if scale <= 100 else exact
    return -shown if sign else shown
