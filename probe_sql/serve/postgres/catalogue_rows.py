"""What the catalogue holds: rows for its tables, from a policy's public facts alone.

Privacy: nothing here sees the data, so no number of rows can be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probe_sql.catalogue import use_of
from probe_sql.policy import Column, Policy, PublicTable, Table
from probe_sql.serve.postgres import types
from probe_sql.serve.postgres.catalogue_tables import CLASSES, SETTINGS

_PUBLIC, _CATALOGUE, _STANDARD = 2200, 11, 13  # OIDs of schemas
_FIRST = 16384  # OID of the first table
_ARRAY_RECV, _FIRST_RECV = 2400, 3000  # OIDs of functions by which drivers tell arrays from others
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


Line = tuple[str, dict[str, Any]]  # a table, and the values of a row by column


def lines_of(policy: Policy, database: str) -> list[Line]:
    """All rows of the catalogue of a policy."""
    return _Lines(policy, database).found


class _Lines:
    """Collects the rows."""

    def __init__(self, policy: Policy, database: str) -> None:
        self.found: list[Line] = []
        self._fill(policy, database)

    def _insert(self, table: str, **values: Any) -> None:
        self.found.append((table, values))

    def _fill(self, policy: Policy, database: str) -> None:
        for oid, name in ((_PUBLIC, "public"), (_CATALOGUE, "pg_catalog"),
                          (_STANDARD, "information_schema")):  # fmt: skip
            self._insert("pgc.pg_namespace", oid=oid, nspname=name, nspowner=10)
            self._insert(
                "std.schemata", catalog_name=database, schema_name=name, schema_owner="owner"
            )
        for oid, (name, shown, array, category) in _TYPES.items():
            size = types.SIZES.get(oid, -1)
            self._type(oid, name, category, size, array=array)
            self._type(array, "_" + name, "A", -1, element=oid)
            for number, words in ((oid, shown), (array, shown + "[]")):
                self._insert("main.probe_types", oid=number, shown=words)
        self._function(_ARRAY_RECV, "array_recv")
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
        for name, value in SETTINGS.items():
            self._insert("pgc.pg_settings", name=name, setting=value, reset_val=value)
        for name, oid in CLASSES.items():
            self._insert("main.probe_classes", oid=oid, name=name)
        tables: Mapping[str, Table | PublicTable] = {**policy.tables, **policy.public}
        for number, table in enumerate(tables.values()):
            self._table(_FIRST + 10 * number, database, table)

    def _type(
        self, oid: int, name: str, category: str, size: int, array: int = 0, element: int = 0
    ) -> None:
        self._insert("pgc.pg_type", oid=oid, typname=name, typnamespace=_CATALOGUE, typowner=10,
                     typlen=size, typbyval=0 < size <= 8, typtype="b", typcategory=category,
                     typispreferred=False, typisdefined=True, typdelim=",", typrelid=0,
                     typelem=element, typarray=array, typnotnull=False, typbasetype=0,
                     typtypmod=-1, typndims=0, typcollation=0,
                     typinput="array_in" if element else f"{name}in", typoutput="",
                     typreceive=_ARRAY_RECV if element else _FIRST_RECV + oid, typsend="",
                     typsubscript="")  # fmt: skip
        if not element:
            self._function(_FIRST_RECV + oid, f"{name}recv")

    def _function(self, oid: int, name: str) -> None:
        self._insert("pgc.pg_proc", oid=oid, proname=name, pronamespace=_CATALOGUE, proowner=10,
                     prolang=12, prokind="f", prosecdef=False, proretset=False, provolatile="i",
                     pronargs=1, prorettype=0, proisagg=False)  # fmt: skip

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
        self._insert(
            "std.tables", **names, table_type="BASE TABLE", is_insertable_into="NO", is_typed="NO"
        )
        self._describe(oid, 0, _told(table))
        for number, column in enumerate(table.columns.values(), start=1):
            self._column(oid, number, names, kind, column)
        if isinstance(table, PublicTable):
            self._key(oid, names, table)

    def _column(
        self, oid: int, number: int, names: Mapping[str, str], kind: str, column: Column
    ) -> None:
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
        self._insert(
            "own.columns",
            table_name=names["table_name"],
            column_name=column.name,
            data_type=shown,
            kind=kind,
            use=use,
        )
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
        for position, number in enumerate(numbers, start=1):
            part = table.columns[order[number - 1]]
            type_ = types.oid_of(part.type)
            self._insert("pgc.pg_attribute", attrelid=oid + 2, attname=part.name,
                         atttypid=type_, attlen=types.SIZES.get(type_, -1), attnum=position,
                         attndims=0, atttypmod=-1, attnotnull=False, atthasdef=False,
                         attidentity="", attgenerated="", attisdropped=False, attislocal=True,
                         attinhcount=0, attcollation=0)  # fmt: skip
        key = {"constraint_catalog": names["table_catalog"], "constraint_schema": "public",
               "constraint_name": name}  # fmt: skip
        self._insert(
            "std.table_constraints",
            **names,
            **key,
            constraint_type="PRIMARY KEY",
            is_deferrable="NO",
            initially_deferred="NO",
        )
        for position, column in enumerate(table.key, start=1):
            self._insert(
                "std.key_column_usage",
                **names,
                **key,
                column_name=column,
                ordinal_position=position,
            )

    def _describe(self, oid: int, number: int, text: str) -> None:
        self._insert(
            "pgc.pg_description", objoid=oid, classoid=1259, objsubid=number, description=text
        )


def _told(table: Table | PublicTable) -> str:
    if isinstance(table, PublicTable):
        return f"public: exact, joined on {', '.join(table.key)}"
    who = "one row" if table.unit.column is None else f"all rows of one {table.unit.column}"
    return f"private: protects {who}; ask with GROUP BY ... HAVING"
