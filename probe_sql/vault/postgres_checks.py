"""What a server says of a table before a scan: its columns, whether its rows are all, and fixed."""

from __future__ import annotations

from probe_sql.errors import ProbeError
from probe_sql.types import Kind, SqlType, parse_type
from probe_sql.vault import refusals

# Nodes of a view's rule that cannot raise for a row, by both names where versions differ.
# `CoerceViaIO`, subqueries, aggregates, functions in FROM, DISTINCT and the rest are not here.
_NODES = (
    "ALIAS", "ARRAY", "ARRAYEXPR", "BOOLEANTEST", "BOOLEXPR", "CASE", "CASEEXPR", "CASETESTEXPR",
    "CASEWHEN", "COALESCE", "COALESCEEXPR", "COLLATE", "COLLATEEXPR", "CONST", "DISTINCTEXPR",
    "FROMEXPR", "FUNCEXPR", "JOINEXPR", "NULLIFEXPR", "NULLTEST", "OPEXPR", "QUERY",
    "RANGETBLENTRY", "RANGETBLREF", "RELABELTYPE", "RTE", "RTEPERMISSIONINFO",
    "SCALARARRAYOPEXPR", "SETOPERATIONSTMT", "TARGETENTRY", "VAR", "WHEN",
)  # fmt: skip
_TYPES = (
    "bool", "bpchar", "date", "float4", "float8", "int2", "int4", "int8", "interval", "name",
    "numeric", "text", "time", "timestamp", "timestamptz", "uuid",
)  # fmt: skip
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
# Columns of a table that the role may not read: they are there, but not for it.
WITHHELD = """
SELECT a.attname::text
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname = $1 AND lower(c.relname) = lower($2) AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
  AND a.attnum > 0 AND NOT a.attisdropped
  AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT'))
"""

_NAMES = {
    "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "bool": "BOOLEAN",
    "float4": "FLOAT", "float8": "DOUBLE", "text": "VARCHAR", "varchar": "VARCHAR",
    "bpchar": "VARCHAR", "name": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE", "time": "TIME", "interval": "INTERVAL",
}  # fmt: skip


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# What lies behind a table: views, to their ends, and partitions. A materialised view has rows of
# its own. A rule's text names the functions it calls, since those of the server are in no list.
# Functions that cannot raise: the server's own comparisons of `_TYPES`, and casts to wider types;
# a comparison of texts without a collation raises. In a rule's text a { that is no node's is
# escaped, and taken for an unknown node here: that refuses.
BEHIND = f"""
WITH RECURSIVE reached(oid, relkind) AS (
  SELECT c.oid, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = $2
  UNION
  SELECT c.oid, c.relkind FROM reached r CROSS JOIN LATERAL (
    SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d ON d.objid = w.oid
    WHERE w.ev_class = r.oid AND d.classid = 'pg_rewrite'::regclass
      AND d.refclassid = 'pg_class'::regclass AND r.relkind = 'v'
    UNION ALL
    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = r.oid
  ) found(oid) JOIN pg_class c ON c.oid = found.oid
), rules(text) AS (
  SELECT w.ev_action::text FROM pg_rewrite w JOIN reached r ON r.oid = w.ev_class
  WHERE r.relkind = 'v'
), calls(id, by) AS (
  SELECT DISTINCT f.found[1]::oid, coalesce(f.found[2]::oid, 0) FROM rules CROSS JOIN LATERAL
    regexp_matches(text, ':(?:op)?funcid (\\d+)(?:[^{{}}]*:inputcollid (\\d+))?', 'g') f(found)
), types(oid) AS (
  SELECT oid FROM pg_type
  WHERE typnamespace = 'pg_catalog'::regnamespace AND typname IN ({_listed(_TYPES)})
), sure(id) AS (
  SELECT p.oid FROM pg_amop a
  JOIN pg_am m ON m.oid = a.amopmethod AND m.amname = 'btree'
  JOIN pg_operator x ON x.oid = a.amopopr
  JOIN pg_operator o ON o.oid IN (x.oid, x.oprnegate)
  JOIN pg_proc p ON p.oid = o.oprcode
  JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'internal'
  WHERE p.pronamespace = 'pg_catalog'::regnamespace
    AND o.oprleft IN (SELECT oid FROM types) AND o.oprright IN (SELECT oid FROM types)
  UNION
  SELECT c.castfunc FROM pg_cast c WHERE c.castcontext = 'i' AND (
    c.castsource IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'float4'::regtype)
    AND c.casttarget IN ('int4'::regtype, 'int8'::regtype, 'float4'::regtype, 'float8'::regtype,
                         'numeric'::regtype)
    OR c.castsource IN ('bpchar'::regtype, 'name'::regtype) AND c.casttarget = 'text'::regtype)
)
SELECT
  EXISTS (SELECT FROM reached WHERE relkind = 'f'),
  EXISTS (SELECT FROM rules WHERE text LIKE '%:tsmhandler %') OR EXISTS (
    SELECT FROM calls JOIN pg_proc p ON p.oid = calls.id WHERE p.provolatile = 'v'),
  EXISTS (SELECT FROM rules WHERE text LIKE '%:multidims true%')
  OR EXISTS (
    SELECT FROM rules CROSS JOIN LATERAL regexp_matches(text, '\\{{([A-Z_]*)', 'g') n(label)
    WHERE n.label[1] NOT IN ({_listed(_NODES)}))
  OR EXISTS (
    SELECT FROM calls LEFT JOIN pg_proc p ON p.oid = calls.id
    WHERE calls.id NOT IN (SELECT id FROM sure) OR calls.by = 0 AND EXISTS (
      SELECT FROM pg_type t WHERE t.oid = ANY (p.proargtypes) AND t.typcollation <> 0))
  OR EXISTS (SELECT FROM reached r JOIN pg_attribute a ON a.attrelid = r.oid
             WHERE a.attgenerated = 'v')
"""


def forbidden(table: str, column: str | None = None) -> ProbeError:
    """The role may not read a table, or one of its columns."""
    what = table if column is None else f"the column {column} of {table}"
    granted = "SELECT" if column is None else f"SELECT ({column})"
    return refusals.FORBIDDEN.error(what=what, granted=granted, table=table)


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
