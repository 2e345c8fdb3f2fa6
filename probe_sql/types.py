"""The few facts about SQL types that privacy and correctness depend on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Families of SQL types that the dialect tells apart."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    TIME = "time"
    INTERVAL = "interval"
    NULL = "null"
    OTHER = "other"


NUMERIC = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT})
TEMPORAL = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ})

_INTEGERS: dict[str, tuple[int, int]] = {
    name: (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for names, bits, unsigned in (
        ("TINYINT INT1", 8, False),
        ("SMALLINT INT2 SHORT", 16, False),
        ("INTEGER INT INT4 SIGNED SERIAL", 32, False),
        ("BIGINT INT8 LONG BIGSERIAL", 64, False),
        ("HUGEINT INT128", 128, False),
        ("UTINYINT UINT8", 8, True),
        ("USMALLINT UINT16", 16, True),
        ("UINTEGER UINT32", 32, True),
        ("UBIGINT UINT64", 64, True),
    )
    for name in names.split()
}
_SIMPLE: dict[str, Kind] = {
    "BOOLEAN": Kind.BOOLEAN, "BOOL": Kind.BOOLEAN, "LOGICAL": Kind.BOOLEAN,
    "FLOAT": Kind.FLOAT, "REAL": Kind.FLOAT, "FLOAT4": Kind.FLOAT,
    "DOUBLE": Kind.FLOAT, "DOUBLE PRECISION": Kind.FLOAT, "FLOAT8": Kind.FLOAT,
    "VARCHAR": Kind.TEXT, "TEXT": Kind.TEXT, "STRING": Kind.TEXT, "CHAR": Kind.TEXT,
    "BPCHAR": Kind.TEXT, "DATE": Kind.DATE,
    "TIMESTAMP": Kind.TIMESTAMP, "DATETIME": Kind.TIMESTAMP,
    "TIMESTAMP_NS": Kind.TIMESTAMP, "TIMESTAMP_MS": Kind.TIMESTAMP,
    "TIMESTAMP_S": Kind.TIMESTAMP, "TIMESTAMP_US": Kind.TIMESTAMP,
    "TIMESTAMP WITHOUT TIME ZONE": Kind.TIMESTAMP,
    "TIMESTAMPTZ": Kind.TIMESTAMPTZ, "TIMESTAMP WITH TIME ZONE": Kind.TIMESTAMPTZ,
    "TIME": Kind.TIME, "INTERVAL": Kind.INTERVAL,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SqlType:
    """A column's type: its family, the name the database uses, and its exact limits.

    `low`/`high` bound every value of an INTEGER type; `scale` is a DECIMAL's number of
    digits after the point and `precision` its number of digits.
    """

    kind: Kind
    name: str
    low: int | None = None
    high: int | None = None
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: dict[int, object]) -> SqlType:
        return self  # nothing in it can be changed; expressions that carry one are copied often

    @property
    def numeric(self) -> bool:
        return self.kind in NUMERIC

    @property
    def temporal(self) -> bool:
        return self.kind in TEMPORAL


def parse_type(text: str) -> SqlType:
    """Read a DuckDB type name; what is not known becomes Kind.OTHER, never an error."""
    name = re.sub(r"\s+", " ", text.strip().upper())
    if name in _INTEGERS:
        low, high = _INTEGERS[name]
        return SqlType(Kind.INTEGER, name, low, high)
    if name in _SIMPLE:
        return SqlType(_SIMPLE[name], name)
    if re.fullmatch(r"ENUM ?\(.*\)", name):
        return SqlType(Kind.TEXT, "VARCHAR")
    if re.fullmatch(r"(VARCHAR|CHAR|TEXT|BPCHAR) ?\(\d+\)", name):
        return SqlType(Kind.TEXT, "VARCHAR")
    if name in ("DECIMAL", "NUMERIC", "DEC"):
        return SqlType(Kind.DECIMAL, "DECIMAL(18,3)", precision=18, scale=3)
    if match := re.fullmatch(r"(?:DECIMAL|NUMERIC|DEC) ?\( ?(\d+) ?(?:, ?(\d+) ?)?\)", name):
        precision, scale = int(match[1]), int(match[2] or 0)
        if 1 <= precision <= 38 and scale <= precision:
            return SqlType(
                Kind.DECIMAL, f"DECIMAL({precision},{scale})", precision=precision, scale=scale
            )
    return SqlType(Kind.OTHER, name)


BOOLEAN = SqlType(Kind.BOOLEAN, "BOOLEAN")
BIGINT = parse_type("BIGINT")
DOUBLE = SqlType(Kind.FLOAT, "DOUBLE")
VARCHAR = SqlType(Kind.TEXT, "VARCHAR")
DATE = SqlType(Kind.DATE, "DATE")
TIMESTAMP = SqlType(Kind.TIMESTAMP, "TIMESTAMP")
