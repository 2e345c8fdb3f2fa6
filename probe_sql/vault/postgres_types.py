"""Columns of a PostgreSQL schema, and DuckDB's names of their types."""

from __future__ import annotations

from probe_sql.types import Kind, SqlType, parse_type

# Tables, views and columns that the role may read; domains stand for what they are made of.
COLUMNS = """
WITH RECURSIVE known AS (
  SELECT c.relname, a.attname, a.attnum, a.atttypid AS type, a.atttypmod AS mod
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE n.nspname = $1 AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
    AND a.attnum > 0 AND NOT a.attisdropped
    AND has_schema_privilege(n.oid, 'USAGE')
    AND has_column_privilege(c.oid, a.attnum, 'SELECT')
  UNION ALL
  SELECT k.relname, k.attname, k.attnum, t.typbasetype, t.typtypmod
  FROM known k JOIN pg_type t ON t.oid = k.type WHERE t.typtype = 'd'
)
SELECT k.relname::text, k.attname::text, t.typname::text, t.typtype::text,
  t.typnamespace = 'pg_catalog'::regnamespace, k.mod
FROM known k JOIN pg_type t ON t.oid = k.type
WHERE t.typtype <> 'd'
ORDER BY k.relname, k.attnum
"""

_NAMES = {
    "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "bool": "BOOLEAN",
    "float4": "FLOAT", "float8": "DOUBLE", "text": "VARCHAR", "varchar": "VARCHAR",
    "bpchar": "VARCHAR", "name": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE", "time": "TIME", "interval": "INTERVAL",
}  # fmt: skip


def column_type(name: str, kind: str, builtin: bool, modifier: int) -> SqlType:
    """The type of a column; `Kind.OTHER` for what a query can only test for NULL."""
    if kind == "e":
        return parse_type("VARCHAR")
    if builtin and name == "numeric":
        return _numeric(modifier)
    if builtin and name in _NAMES:
        return parse_type(_NAMES[name])
    return SqlType(Kind.OTHER, name.upper())


def _numeric(modifier: int) -> SqlType:
    """NUMERIC of at most 38 digits; without a limit on them it has no counterpart."""
    if modifier >= 4:
        precision = (modifier - 4) >> 16 & 0xFFFF
        scale = (((modifier - 4) & 0x7FF) ^ 1024) - 1024
        if precision <= 38 and 0 <= scale <= precision:
            return parse_type(f"DECIMAL({precision},{scale})")
    return SqlType(Kind.OTHER, "NUMERIC WITHOUT PRECISION")
