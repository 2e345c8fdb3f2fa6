"""The catalogue that clients look at, from public facts alone.

`pg_catalog`, `information_schema` and `probe` are tables in a database in memory that holds
nothing else: it is neither the vault's nor reads any file, and never knows a number of rows.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from probe_sql.catalogue import use_of
from probe_sql.errors import NotSupportedError
from probe_sql.policy import Column, Policy, PublicTable, Table
from probe_sql.serve import types
from probe_sql.serve.analyst import Result
from probe_sql.serve.catalogue_tables import (
    CLASSES,
    EMPTY,
    FILLED,
    MACROS,
    PROBE,
    STANDARD,
)
from probe_sql.serve.messages import Field
from probe_sql.serve.settings import SERVER_VERSION
from probe_sql.serve.statements import Statement
from probe_sql.serve.translate import SCHEMAS, translated
from probe_sql.session import BudgetState, Entry

_KINDS = {"#": "BIGINT", "?": "BOOLEAN", "[": "BIGINT[]", "{": "VARCHAR[]"}
_PUBLIC, _CATALOGUE, _STANDARD = 2200, 11, 13  # OIDs of schemas
_FIRST = 16384  # OID of the first table
_TYPES = {  # OID: name, name in words, array's OID, category
    types.BOOL: ("bool", "boolean", 1000, "B"), types.INT8: ("int8", "bigint", 1016, "N"),
    types.INT2: ("int2", "smallint", 1005, "N"), types.INT4: ("int4", "integer", 1007, "N"),
    types.TEXT: ("text", "text", 1009, "S"), types.OID: ("oid", "oid", 1028, "N"),
    types.NAME: ("name", "name", 1003, "S"), types.CHAR: ("char", '"char"', 1002, "S"),
    types.FLOAT4: ("float4", "real", 1021, "N"),
    types.FLOAT8: ("float8", "double precision", 1022, "N"),
    types.VARCHAR: ("varchar", "character varying", 1015, "S"),
    types.BPCHAR: ("bpchar", "character", 1014, "S"), types.DATE: ("date", "date", 1182, "D"),
    types.TIME: ("time", "time without time zone", 1183, "D"),
    types.TIMESTAMP: ("timestamp", "timestamp without time zone", 1115, "D"),
    types.TIMESTAMPTZ: ("timestamptz", "timestamp with time zone", 1185, "D"),
    types.NUMERIC: ("numeric", "numeric", 1231, "N"), types.JSON: ("json", "json", 199, "U"),
}  # fmt: skip
_WIRE = {
    "BOOLEAN": types.BOOL, "TINYINT": types.INT4, "SMALLINT": types.INT4, "INTEGER": types.INT4,
    "BIGINT": types.INT8, "UBIGINT": types.NUMERIC, "HUGEINT": types.NUMERIC,
    "DOUBLE": types.FLOAT8, "FLOAT": types.FLOAT8, "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP, "TIMESTAMP WITH TIME ZONE": types.TIMESTAMPTZ,
    "VARCHAR[]": 1009, "INTEGER[]": 1007, "BIGINT[]": 1016, "BOOLEAN[]": 1000,
}  # fmt: skip
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False, "threads": 1, "memory_limit": "128MB",
    "autoinstall_known_extensions": False, "autoload_known_extensions": False,
}  # fmt: skip
_SECONDS = 10.0
_MOST_ROWS = 100_000


def is_about_catalogue(given: Statement) -> bool:
    """Whether a statement asks the catalogue: it reads a table of it, or no table at all.

    Privacy: the catalogue knows public facts only, so that a wrong guess tells nothing.
    """
    if given.verb not in ("SELECT", "WITH", "VALUES", "TABLE"):
        return False
    found = given.tokens
    reads = False
    for token, after, dot in zip(found, found[1:], [*found[2:], None], strict=False):
        if token.upper in ("FROM", "JOIN", ",", "TABLE"):
            reads = reads or token.upper in ("FROM", "JOIN")
            schema = after.value + "." in SCHEMAS and dot is not None and dot.text == "."
            called = token.upper != "," and dot is not None and dot.text == "("
            if schema or called or (token.upper != "," and re.match(r"pg_\w", after.value)):
                return True
    return not reads


class Facts:
    """The catalogue of one policy."""

    def __init__(self, policy: Policy, database: str) -> None:
        self._db = duckdb.connect(":memory:", config=_CONFIG)
        self._make(database)
        self._fill(policy, database)
        self._db.execute("SET lock_configuration = true")

    # --- what it holds ---

    def _make(self, database: str) -> None:
        for schema in SCHEMAS.values():
            self._db.execute(f"CREATE SCHEMA {schema}")
        for schema, tables in (("pgc", FILLED | EMPTY), ("std", STANDARD), ("own", PROBE)):
            for name, columns in tables.items():
                typed = [
                    f'"{one.rstrip("#?[{")}" {_KINDS.get(one[-1], "VARCHAR")}'
                    for one in columns.split()
                ]
                self._db.execute(f"CREATE TABLE {schema}.{name} ({', '.join(typed)})")
        for name, column in (("types", "shown"), ("definitions", "text"), ("classes", "name")):
            self._db.execute(f"CREATE TABLE main.probe_{name} (oid BIGINT, {column} VARCHAR)")
        own = (
            ("version", "", f"'PostgreSQL {SERVER_VERSION} (probe-sql)'"),
            ("current_database", "", "'" + database.replace("'", "''") + "'"),
        )
        for name, parameters, body in (*MACROS, *own):
            self._db.execute(f"CREATE OR REPLACE MACRO main.{name}({parameters}) AS {body}")

    def _insert(self, table: str, **values: Any) -> None:
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        self._db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*values.values()])

    def _fill(self, policy: Policy, database: str) -> None:
        for oid, name in ((_PUBLIC, "public"), (_CATALOGUE, "pg_catalog"),
                          (_STANDARD, "information_schema")):  # fmt: skip
            self._insert("pgc.pg_namespace", oid=oid, nspname=name, nspowner=10)
            self._insert("std.schemata", catalog_name=database, schema_name=name,
                         schema_owner="owner")  # fmt: skip
        for oid, (name, shown, array, category) in _TYPES.items():
            size = types.SIZES.get(oid, -1)
            self._type(oid, name, category, size, array=array)
            self._type(array, "_" + name, "A", -1, element=oid)
            for number, words in ((oid, shown), (array, shown + "[]")):
                self._insert("main.probe_types", oid=number, shown=words)
        self._insert("pgc.pg_database", oid=1, datname=database, datdba=10, encoding=6,
                     datlocprovider="c", datistemplate=False, datallowconn=True, datconnlimit=-1,
                     dattablespace=1663, datcollate="C", datctype="C")  # fmt: skip
        self._insert("pgc.pg_roles", oid=10, rolname="owner", rolsuper=False, rolinherit=True,
                     rolcreaterole=False, rolcreatedb=False, rolcanlogin=False,
                     rolreplication=False, rolconnlimit=-1, rolbypassrls=False)  # fmt: skip
        for oid, name, kind in ((2, "heap", "t"), (403, "btree", "i")):
            self._insert("pgc.pg_am", oid=oid, amname=name, amtype=kind)
        self._insert("pgc.pg_tablespace", oid=1663, spcname="pg_default", spcowner=10)
        self._insert("pgc.pg_collation", oid=100, collname="default", collnamespace=_CATALOGUE)
        for name, value in (("server_version", SERVER_VERSION), ("server_version_num", "150000"),
                            ("standard_conforming_strings", "on"), ("search_path", "public"),
                            ("server_encoding", "UTF8"), ("timezone", "UTC"),
                            ("max_index_keys", "32")):  # fmt: skip
            self._insert("pgc.pg_settings", name=name, setting=value)
        for name, oid in CLASSES.items():
            self._insert("main.probe_classes", oid=oid, name=name)
        tables: Mapping[str, Table | PublicTable] = {**policy.tables, **policy.public}
        for number, table in enumerate(tables.values()):
            self._table(_FIRST + 10 * number, database, table)

    def _type(self, oid: int, name: str, category: str, size: int, array: int = 0,
              element: int = 0) -> None:  # fmt: skip
        self._insert("pgc.pg_type", oid=oid, typname=name, typnamespace=_CATALOGUE, typowner=10,
                     typlen=size, typbyval=0 < size <= 8, typtype="b", typcategory=category,
                     typispreferred=False, typisdefined=True, typdelim=",", typrelid=0,
                     typelem=element, typarray=array, typnotnull=False, typbasetype=0,
                     typtypmod=-1, typndims=0, typcollation=0, typinput="", typoutput="",
                     typreceive="", typsend="", typsubscript="")  # fmt: skip

    def _table(self, oid: int, database: str, table: Table | PublicTable) -> None:
        public = isinstance(table, PublicTable)
        kind = "public" if public else "private"
        self._insert("main.probe_classes", oid=oid, name=table.name)
        self._insert("pgc.pg_class", oid=oid, relname=table.name, relnamespace=_PUBLIC,
                     reltype=0, reloftype=0, relowner=10, relam=2, relfilenode=0, reltablespace=0,
                     reltuples=-1, relpages=0, reltoastrelid=0, relhasindex=public,
                     relisshared=False, relpersistence="p", relkind="r",
                     relnatts=len(table.columns), relchecks=0, relhasrules=False,
                     relhastriggers=False, relhassubclass=False, relrowsecurity=False,
                     relforcerowsecurity=False, relispopulated=True, relreplident="d",
                     relispartition=False, relhasoids=False)  # fmt: skip
        self._insert("pgc.pg_tables", schemaname="public", tablename=table.name,
                     tableowner="owner", hasindexes=public, hasrules=False, hastriggers=False,
                     rowsecurity=False)  # fmt: skip
        names = {"table_catalog": database, "table_schema": "public", "table_name": table.name}
        self._insert("std.tables", **names, table_type="BASE TABLE", is_insertable_into="NO",
                     is_typed="NO")  # fmt: skip
        self._describe(oid, 0, _told(table))
        for number, column in enumerate(table.columns.values(), start=1):
            self._column(oid, number, names, kind, column)
        if isinstance(table, PublicTable):
            self._key(oid, names, table)

    def _column(self, oid: int, number: int, names: Mapping[str, str], kind: str,
                column: Column) -> None:  # fmt: skip
        type_ = types.oid_of(column.type)
        shown = _TYPES[type_][1]
        use = use_of(column, kind == "public")
        use = use if column.about is None else f"{column.about}; {use}"
        self._insert("pgc.pg_attribute", attrelid=oid, attname=column.name, atttypid=type_,
                     attstattarget=-1, attlen=types.SIZES.get(type_, -1), attnum=number,
                     attndims=0, attcacheoff=-1, atttypmod=-1, attbyval=False, attstorage="p",
                     attcompression="", attalign="i", attnotnull=False, atthasdef=False,
                     atthasmissing=False, attidentity="", attgenerated="", attisdropped=False,
                     attislocal=True, attinhcount=0, attcollation=0)  # fmt: skip
        self._insert("std.columns", **names, column_name=column.name, ordinal_position=number,
                     is_nullable="YES", data_type=shown, udt_catalog=names["table_catalog"],
                     udt_schema="pg_catalog", udt_name=_TYPES[type_][0], is_identity="NO",
                     is_generated="NEVER", is_updatable="NO")  # fmt: skip
        self._insert("own.columns", table_name=names["table_name"], column_name=column.name,
                     data_type=shown, kind=kind, use=use)  # fmt: skip
        self._describe(oid, number, use)

    def _key(self, oid: int, names: Mapping[str, str], table: PublicTable) -> None:
        order = [*table.columns]
        if not set(table.key) <= set(order):
            return
        numbers = [order.index(name) + 1 for name in table.key]
        name = f"{table.name}_pkey"
        listed = ", ".join(table.key)
        self._insert("pgc.pg_constraint", oid=oid + 1, conname=name, connamespace=_PUBLIC,
                     contype="p", condeferrable=False, condeferred=False, convalidated=True,
                     conrelid=oid, contypid=0, conindid=oid + 2, conparentid=0, confrelid=0,
                     conislocal=True, coninhcount=0, connoinherit=True, conkey=numbers)  # fmt: skip
        self._insert("main.probe_definitions", oid=oid + 1, text=f"PRIMARY KEY ({listed})")
        made = f"CREATE UNIQUE INDEX {name} ON public.{table.name} USING btree ({listed})"
        self._insert("main.probe_definitions", oid=oid + 2, text=made)
        self._insert("pgc.pg_class", oid=oid + 2, relname=name, relnamespace=_PUBLIC, relowner=10,
                     relam=403, reltablespace=0, reltuples=-1, relkind="i", relpersistence="p",
                     relnatts=len(numbers), relispartition=False)  # fmt: skip
        self._insert("pgc.pg_index", indexrelid=oid + 2, indrelid=oid, indnatts=len(numbers),
                     indnkeyatts=len(numbers), indisunique=True, indnullsnotdistinct=False,
                     indisprimary=True, indisexclusion=False, indimmediate=True,
                     indisclustered=False, indisvalid=True, indcheckxmin=False, indisready=True,
                     indislive=True, indisreplident=False, indkey=numbers,
                     indoption=[0] * len(numbers))  # fmt: skip
        key = {"constraint_catalog": names["table_catalog"], "constraint_schema": "public",
               "constraint_name": name}  # fmt: skip
        self._insert("std.table_constraints", **names, **key, constraint_type="PRIMARY KEY",
                     is_deferrable="NO", initially_deferred="NO")  # fmt: skip
        for position, column in enumerate(table.key, start=1):
            self._insert("std.key_column_usage", **names, **key, column_name=column,
                         ordinal_position=position)  # fmt: skip

    def _describe(self, oid: int, number: int, text: str) -> None:
        self._insert("pgc.pg_description", objoid=oid, classoid=1259, objsubid=number,
                     description=text)  # fmt: skip

    # --- what is asked of it ---

    def ask(
        self, given: Statement, values: Sequence[Any], user: str, budget: BudgetState,
        entries: Sequence[Entry],
    ) -> Result:  # fmt: skip
        """Answer a question about the catalogue; free, within limits of time, memory and rows."""
        text = translated(given, user)
        with self._db.cursor() as cursor:
            timer = threading.Timer(_SECONDS, cursor.interrupt)
            timer.start()
            try:
                _own_tables(cursor, budget, entries)
                parsed = cursor.extract_statements(text)
                if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
                    raise NotSupportedError("the catalogue can only be read", fix="SELECT ...")
                wanted = {str(number): values[number - 1] for number in given.parameters}
                cursor.execute(parsed[0], wanted or None)
                rows = cursor.fetchmany(_MOST_ROWS)
                fields = tuple(_field(one[0], str(one[1])) for one in cursor.description or ())
            except duckdb.Error as error:
                raise _refused(error) from None
            finally:
                timer.cancel()
        return Result(f"SELECT {len(rows)}", fields, rows)


def _own_tables(
    cursor: duckdb.DuckDBPyConnection, budget: BudgetState, entries: Sequence[Entry]
) -> None:
    """What only this user may see: tables of this cursor alone."""
    cursor.execute(
        "CREATE TEMP TABLE probe_budget (budget_of VARCHAR, epsilon DOUBLE, spent DOUBLE, "
        "remaining DOUBLE)"
    )
    cursor.execute(
        "CREATE TEMP TABLE probe_ledger (number BIGINT, time VARCHAR, sql VARCHAR, "
        "outcome VARCHAR, reserved DOUBLE, charged DOUBLE)"
    )
    rows: list[list[Any]] = [["database", budget.total, budget.spent, budget.total - budget.spent]]
    if budget.analyst_total is not None:
        rows.append(["analyst", budget.analyst_total, budget.analyst_spent,
                     budget.analyst_remaining])  # fmt: skip
    cursor.executemany("INSERT INTO probe_budget VALUES (?, ?, ?, ?)", rows)
    if entries:
        cursor.executemany(
            "INSERT INTO probe_ledger VALUES (?, ?, ?, ?, ?, ?)",
            [[e.number, e.time, e.sql, e.outcome, e.reserved, e.charged] for e in entries],
        )


def _told(table: Table | PublicTable) -> str:
    if isinstance(table, PublicTable):
        return f"public: exact, joined on {', '.join(table.key)}"
    who = "one row" if table.unit.column is None else f"all rows of one {table.unit.column}"
    return f"private: protects {who}; ask with GROUP BY ... HAVING"


def _field(name: str, type_: str) -> Field:
    oid = types.NUMERIC if type_.startswith("DECIMAL") else _WIRE.get(type_, types.TEXT)
    called = re.fullmatch(r'"?(\w+)"?\(.*\)', name, re.DOTALL)
    shown = called[1] if called else "?column?" if name.startswith("'") else name
    return Field(shown, oid, types.SIZES.get(oid, -1))


def _refused(error: duckdb.Error) -> NotSupportedError:
    """What is not in the catalogue, by the name that DuckDB says it missed."""
    if isinstance(error, duckdb.InterruptException):
        return NotSupportedError("the question about the catalogue took too long")
    missing = re.search(r"with name \"?(\w+)\"? does not exist|column \"(\w+)\"", str(error))
    name = next((one for one in (missing.groups() if missing else ()) if one), None)
    return NotSupportedError(
        f"{name} is not in the catalogue" if name else "the catalogue cannot answer this",
        fix="SELECT * FROM probe.columns shows what can be asked",
    )
