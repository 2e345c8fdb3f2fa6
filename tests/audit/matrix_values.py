"""The types of the matrix, their most awkward values, their bounds in the policy, and literals."""

from __future__ import annotations

SIZE = 16  # rows are pairs of places below it, so no type has more values

TYPES: dict[str, str] = {
    "boolean": "BOOLEAN", "i8": "TINYINT", "i16": "SMALLINT", "i32": "INTEGER", "i64": "BIGINT",
    "i128": "HUGEINT", "u8": "UTINYINT", "u16": "USMALLINT", "u32": "UINTEGER", "u64": "UBIGINT",
    "d1": "DECIMAL(1,1)", "d9": "DECIMAL(9,2)", "d18": "DECIMAL(18,0)", "d186": "DECIMAL(18,6)",
    "d38": "DECIMAL(38,0)", "d382": "DECIMAL(38,2)", "d3838": "DECIMAL(38,38)",
    "f": "FLOAT", "x": "DOUBLE", "s": "VARCHAR", "day": "DATE", "ts": "TIMESTAMP",
    "tsec": "TIMESTAMP_S", "tms": "TIMESTAMP_MS", "tns": "TIMESTAMP_NS",
    "tz": "TIMESTAMP WITH TIME ZONE", "clock": "TIME", "span": "INTERVAL", "id": "UUID",
    "e": "ENUM('a', 'A', '', 'é')",
}  # fmt: skip


def _integers(bits: int, signed: bool = True) -> list[str]:
    top = 2 ** (bits - signed) - 1
    low = -top - 1 if signed else 0
    near = [low, low + 1, -1, 0, 1, 2, 7, top - 1, top, 2**24 + 1, 2**53 + 1, -(2**53) - 1]
    near += [2**94 + 2**41 + 1]
    return [*(f"'{n}'" for n in dict.fromkeys(near) if low <= n <= top), "NULL"]


def _decimals(precision: int, scale: int) -> list[str]:
    nines = "9" * precision
    top = f"{nines[: precision - scale] or '0'}" + (f".{nines[:scale]}" if scale else "")
    least = f"0.{'0' * (scale - 1)}1" if scale else "1"
    half = "0.5" if scale else "5"
    steps = [top, least, half, "0"]
    return [*(f"'{n}'" for n in steps), *(f"'-{n}'" for n in steps[:3]), "NULL"]


_STAMPS = ["'infinity'", "'-infinity'", "'2020-02-29 23:59:59.999999'", "'1970-01-01 00:00:00'",
           "'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'", "NULL"]  # fmt: skip
VALUES: dict[str, list[str]] = {
    "boolean": ["true", "false", "NULL"],
    **{f"i{bits}": _integers(bits) for bits in (8, 16, 32, 64, 128)},
    **{f"u{bits}": _integers(bits, False) for bits in (8, 16, 32, 64)},
    "d1": _decimals(1, 1), "d9": _decimals(9, 2), "d18": _decimals(18, 0),
    "d186": _decimals(18, 6), "d38": _decimals(38, 0), "d382": _decimals(38, 2),
    "d3838": _decimals(38, 38),
    "f": ["'nan'", "'inf'", "'-inf'", "3.4028235e38", "-3.4028235e38", "1e-45", "0", "'-0.0'",
          "0.1", "16777216", "NULL"],
    "x": ["'nan'", "'inf'", "'-inf'", "1.7976931348623157e308", "-1.7976931348623157e308",
          "5e-324", "'-0.0'", "0.5", "-0.5", "2.5", "1e20", "9223372036854775808",
          "9007199254740993", "0.1", "-1e16", "NULL"],
    "s": ["''", "'x'", "repeat('x', 300)", "'12'", "'-7.5e3'", "'NaN'", "'2020-02-30'",
          "'ẞß😀'", "chr(1)", "'%_\\'", "'5877642-06-25 (BC)'", "'a' || chr(769)", "'true'",
          "'294247-01-10 04:00:54.775806'", "'99999999999999999999999999999999999999'", "NULL"],
    "day": ["'5877642-06-25 (BC)'", "'5881580-07-10'", "'infinity'", "'-infinity'",
            "'290309-12-22 (BC)'", "'290000-01-01 (BC)'", "'294247-01-10'", "'294247-01-11'",
            "'2020-02-29'", "'0001-01-01'", "'1969-12-31'", "NULL"],
    "ts": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'",
           "'290000-06-01 (BC) 01:02:03'", *_STAMPS],
    "tsec": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'", *_STAMPS],
    "tms": ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775'", *_STAMPS],
    "tns": ["'1677-09-22 00:00:00'", "'2262-04-11 23:47:16.854775806'", "'infinity'",
            "'-infinity'", "'2020-02-29 23:59:59.999999999'", "'1970-01-01'", "NULL"],
    "tz": ["'290309-12-22 (BC) 00:00:00+00'", "'294247-01-10 04:00:54+00'", "'infinity'",
           "'2020-02-29 23:59:59+00'", "NULL"],
    "clock": ["'00:00:00'", "'24:00:00'", "'23:59:59.999999'", "NULL"],
    "span": ["'1 month'", "'30 days'", "'-999999 months'", "NULL"],
    "id": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
           "NULL"],
    "e": ["'a'", "'A'", "''", "'é'", "NULL"],
}  # fmt: skip

# Bounds of the three columns of a type: narrow, as wide as can be, and off every grid.
_BIG = {"a": ("-1000", "1000"), "b": ("-9223372036854775808", "9223372036854775807"),
        "c": ("-0.3", "99.995")}  # fmt: skip
_SMALL = {"a": ("-5", "7"), "b": ("-1e6", "1e6"), "c": ("0.3", "1.7")}
_REAL = {"a": ("-8", "8"), "b": ("-1e20", "1e23"), "c": ("-0.1", "0.3")}
BOUNDS: dict[str, dict[str, tuple[str, str]]] = {
    **dict.fromkeys(("i64", "i128", "u64", "d18", "d186", "d38", "d382", "u32", "i32"), _BIG),
    **dict.fromkeys(("i8", "i16", "u8", "u16", "d1", "d9"), _SMALL),
    "d3838": {"a": ("-0.5", "0.5"), "b": ("-1", "1"), "c": ("-0.3", "0.000005")},
    "f": _REAL, "x": _REAL,
}  # fmt: skip

# Literals, each with another that a row may choose in its place; "" for none.
LITERALS: dict[str, str] = {
    "0": "1", "1": "50000", "-1": "-2147483648", "50000": "0", "2147483647": "2", "3": "",
    "9223372036854775807": "1", "9223372036854775808": "-1",
    "19807040628566084398385987584": "19807040628566084398385987583",
    "0.5": "1.5", "-0.01": "12345.678", "99.995": "",
    "0.00000000000000000000000000000000000001": "1.5",
    "12345678901234567890123456789012345678": "0.5", "1e23": "1", "-1e-7": "1e300", "2.5e0": "",
    "499999999999999": "", "true": "false", "'a'": "'é'", "''": "", "'9020-01-01 00:00:00'": "",
    "'2020-02-29'": "'x'", "DATE '2020-02-29'": "TIMESTAMP '1970-01-01 00:00:01'",
    "TIMESTAMP '9020-01-01 00:00:00.5'": "", "NULL": "1",
}  # fmt: skip

# Bounds and grids of a column, each tried on every numeric type.
EDGES: tuple[tuple[float, float], ...] = (
    (0, 1), (-0.5, 0.5), (-1, 255.5), (0, 99.995), (0.2, 0.4), (-1e-9, 1e9), (1000, 2000),
    (-1e30, 1e30), (0, 1e37), (-128, 127), (-129.25, -0.75), (0.1, 0.3), (2**53, 2**53 + 3),
    (-(2**63), 2**63 - 1), (-(10**37), 10**38 - 1), (1e-300, 2e-300), (5e17, 1e18),
)  # fmt: skip
STEPS: tuple[str | None, ...] = (None, "1/3", "0.25", "7", "1e-6")
