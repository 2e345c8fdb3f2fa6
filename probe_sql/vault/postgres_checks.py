"""What a server says about a table before it is scanned: whether its rows are all, and fixed."""

from __future__ import annotations

from probe_sql.errors import OperationalError

# What lies behind a table: views, to their ends, and partitions. A materialised view has rows of
# its own. A rule's text names the functions it calls, since those of the server are in no list.
BEHIND = """
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
)
SELECT
  EXISTS (SELECT FROM reached WHERE relkind = 'f'),
  EXISTS (SELECT FROM rules WHERE text LIKE '%:tsmhandler %') OR EXISTS (
    SELECT FROM rules CROSS JOIN LATERAL regexp_matches(text, ':(?:op)?funcid (\\d+)', 'g') f(id)
    JOIN pg_proc p ON p.oid = f.id[1]::oid WHERE p.provolatile = 'v')
"""


def hidden(table: str) -> OperationalError:
    """Row-level security applies to the role, or to the owner of a view."""
    return OperationalError(
        f"The table {table} is under row-level security, which hides rows from this role.",
        why="Answers would be about the rows that the role happens to see, perhaps none of them.",
        fix="Ask the owner for a view that shows the rows to be asked about, owned by a role that "
        "sees all of them; or for a role of its own with BYPASSRLS.",
    )


def unreadable(table: str) -> OperationalError:
    """The role may name the table, and not read it."""
    return OperationalError(
        f"The server does not let this role read {table}.",
        why="It is a view whose owner may not read what it shows.",
        fix="Ask the owner to GRANT SELECT to the owner of the view.",
    )


def unfixed(table: str, foreign: bool) -> OperationalError:
    """Two scans of one query could see different rows, or a row that is two."""
    if foreign:
        return OperationalError(
            f"The table {table} is a foreign table, or shows one.",
            why="All of a query must see one state of the rows, which another server does not "
            "promise, nor that it shows all of them.",
            fix="Connect to the server where the rows are, or to a materialized view of them.",
        )
    return OperationalError(
        f"The view {table} may show other values each time it is read.",
        why="It samples rows, or calls a function that is VOLATILE, such as random().",
        fix="Declare functions that read alone STABLE or IMMUTABLE, or use a materialized view.",
    )


def alike(table: str, column: str) -> OperationalError:
    """The type of the person's column has no equality."""
    return OperationalError(
        f"People in {table} cannot be told apart by {column}.",
        why="PostgreSQL cannot say of two values of its type whether they are equal.",
        fix="Name another column in unit, or show this one as text in a view.",
    )
