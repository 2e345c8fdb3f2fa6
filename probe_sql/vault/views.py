"""Views of the owner's, so that none of their rows can make a query fail.

A view may hold a CAST or a sum that raises for one row. Then whether a query fails tells something
about that row, for nothing. So a view that only selects and filters is made again here with
`TRY(...)` around everything it computes: what would raise is NULL. Whatever else a view does is
computed once, on opening, whole: it fails there, for everyone alike, or never again.

A table with generated columns computes them whenever it is read, so it is taken for a view.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

Node = dict[str, Any]
TableName = tuple[str, str]  # schema and name

_BARE = {"COLUMN_REF", "CONSTANT"}
_INSIDE = {
    "COLUMN_REF", "CONSTANT", "CAST", "FUNCTION", "COMPARISON", "CONJUNCTION", "OPERATOR", "CASE",
    "BETWEEN", "COLLATE", "TYPE",
}  # fmt: skip
_EMPTY = ("modifiers", "group_expressions", "group_sets", "having", "qualify", "sample")
_SERIES = ("range", "generate_series")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or view, with the expression of a generated one."""

    name: str
    type: str
    computed: str | None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the attached database holds: its views with their texts, and its tables."""

    name: str  # of the attached database
    columns: Mapping[TableName, Sequence[Column]]  # of tables and views, in order
    views: Mapping[TableName, str]
    tables: frozenset[TableName]
    generated: Mapping[TableName, str]  # tables with computed columns, as views
    plain: frozenset[str]  # names of functions that are the same wherever they are called

    def total(self, connection: duckdb.DuckDBPyConnection, table: TableName) -> str | None:
        """SQL with the rows of a view that cannot raise for any; None where that is not known.

        Privacy: errors become NULL by `TRY`, whatever the expression is. Only what is surely
        found where the view found it is said again: its tables and views, DuckDB's functions.
        """
        return self._view(connection, table, set()) if self.computes(table) else None

    def computes(self, table: TableName) -> bool:
        """Whether there is something to compute where rows of this table or view are read."""
        return table in self.views or table in self.generated

    def tried_casts(
        self, connection: duckdb.DuckDBPyConnection, table: TableName
    ) -> tuple[str | None, list[TableName]]:
        """The SELECT of a view with TRY_CAST for each CAST that a row could make fail, None where
        there is none, and the views that it names."""
        node = _selected(connection, self.views[table])
        casts, behind = [], []
        for one in _nodes(node):
            if one.get("class") == "CAST" and not one["try_cast"]:
                casts += [] if one["child"]["class"] == "CONSTANT" else [one]
            elif one.get("type") == "BASE_TABLE":
                behind.append((one["schema_name"] or table[0], one["table_name"]))
        for one in casts:
            one["try_cast"] = True
        sql = _text(connection, node) if casts and node is not None else None
        return sql, [view for view in behind if view in self.views]

    def _view(
        self, connection: duckdb.DuckDBPyConnection, table: TableName, above: set[TableName]
    ) -> str | None:
        sql = self.generated[table] if table in self.generated else self.views[table]
        node = None if table in above else _selected(connection, sql)
        if node is None or any(node.get(part) for part in _EMPTY) or node["cte_map"]["map"]:
            return None
        source = self._from(connection, node["from_table"], above | {table}, table[0])
        if source is None or node["aggregate_handling"] != "STANDARD_HANDLING":
            return None
        listed = [*node["select_list"], *filter(None, [node["where_clause"]])]
        if not all(map(self._known, listed)):
            return None
        node["select_list"] = [_tried(one) for one in node["select_list"]]
        if node["where_clause"] is not None:
            node["where_clause"] = _tried(node["where_clause"])
        node["from_table"] = source
        return _text(connection, node)

    def _from(
        self, connection: duckdb.DuckDBPyConnection, node: Node, above: set[TableName], schema: str
    ) -> Node | None:
        """What a view reads, its tables named in full; a view in it is made total, too."""
        if node["type"] == "JOIN":
            return self._join(connection, node, above, schema)
        if node["type"] == "TABLE_FUNCTION":
            call = node.get("function", {})
            good = call.get("function_name") in _SERIES and node.get("sample") is None
            constant = all(c == "CONSTANT" for c in _classes(call.get("arguments")))
            return node if good and constant else None
        if node["type"] != "BASE_TABLE" or node["sample"] or node.get("at_clause"):
            return None
        table = (node["schema_name"] or schema, node["table_name"])
        if table in self.tables and (table not in self.generated or table in above):
            path = [self.name, *table]
            return node | {
                "catalog_name": self.name,
                "schema_name": table[0],
                "qualified_name": {"path": path},
                "alias": node["alias"] or table[1],
            }
        if not self.computes(table):
            return None
        inner = self._view(connection, table, above)
        if inner is None:
            return None
        columns = [column.name for column in self.columns.get(table, ())]
        inside = _statement(connection, f"SELECT * FROM ({inner}) AS t")
        assert inside is not None
        found: Node = inside["from_table"]
        return found | {
            "alias": node["alias"] or table[1],
            "column_name_alias": node["column_name_alias"] or columns,
        }

    def _join(
        self, connection: duckdb.DuckDBPyConnection, node: Node, above: set[TableName], schema: str
    ) -> Node | None:
        """Two of them, joined where columns of one type are equal: nothing is cast there."""
        left = self._from(connection, node["left"], above, schema)
        right = self._from(connection, node["right"], above, schema)
        plain = node["ref_type"] in ("CROSS", "REGULAR") and not node["using_columns"]
        if left is None or right is None or not plain or node["sample"]:
            return None
        made = node | {"left": left, "right": right}
        columns = _compared(node["condition"]) if node["condition"] is not None else []
        if not columns:
            return made if node["condition"] is None else None
        asked = _statement(connection, "SELECT 1")
        assert asked is not None
        sql = _text(connection, asked | {"select_list": columns, "from_table": made})
        types = [row[1] for row in connection.execute(f"DESCRIBE {sql}").fetchall()]
        return made if types[::2] == types[1::2] else None

    def _known(self, node: Node) -> bool:
        """Whether an expression is made of what `TRY` covers."""
        if node["class"] == "STAR":
            return node["expr"] is None and all(
                self._known(r["value"]) for r in node["replace_list"]
            )
        names = (n["function_name"] for n in _nodes(node) if n.get("class") == "FUNCTION")
        return all(c in _INSIDE for c in _classes(node)) and all(n in self.plain for n in names)


def catalogue(connection: duckdb.DuckDBPyConnection, name: str) -> Catalogue:
    """Read the catalogue of an attached database; no row is read.

    Views and functions are only asked for where there is a view: DuckDB makes all of its own
    to answer, which takes longer than the rest of opening a database.
    """
    columns: dict[TableName, list[Column]] = {}
    for schema, table, *column in connection.execute(
        "SELECT schema_name, table_name, column_name, data_type, generation_expression"
        " FROM duckdb_columns() WHERE database_name = ? AND NOT internal"
        " ORDER BY schema_name, table_name, column_index",
        [name],
    ).fetchall():
        columns.setdefault((schema, table), []).append(Column(*column))
    tables = frozenset(
        connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ?", [name]
        ).fetchall()
    )
    generated = {
        table: _as_view(*table, of)
        for table, of in columns.items()
        if any(column.computed is not None for column in of)
    }
    views, functions = [], []
    if generated or columns.keys() - tables:
        views = connection.execute(
            "SELECT schema_name, view_name, sql FROM duckdb_views()"
            " WHERE database_name = ? AND NOT internal",
            [name],
        ).fetchall()
        functions = connection.execute(
            "SELECT function_name FROM duckdb_functions() GROUP BY 1 HAVING"
            " bool_and(function_type = 'scalar' AND coalesce(stability, '') <> 'VOLATILE'"
            " AND database_name = 'system')"
        ).fetchall()
    return Catalogue(
        name,
        columns,
        {(schema, view): sql for schema, view, sql in views},
        tables,
        generated,
        frozenset(function for (function,) in functions),
    )


def _as_view(schema: str, table: str, columns: Sequence[Column]) -> str:
    """The text of a view with the rows of a table that has generated columns."""
    names = (schema, table, *(column.name for column in columns))
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    listed = ", ".join(
        name if column.computed is None else f"{column.computed} AS {name}"
        for name, column in zip(quoted[2:], columns, strict=True)
    )
    return f"CREATE VIEW v AS SELECT {listed} FROM {quoted[0]}.{quoted[1]}"


def _selected(connection: duckdb.DuckDBPyConnection, sql: str) -> Node | None:
    """The one SELECT of `CREATE VIEW ... AS SELECT ...`, parsed; None for anything else."""
    start = sql.find(" AS ")
    while start >= 0:
        node = _statement(connection, sql[start + 4 :])
        if node is not None:
            return node if node["type"] == "SELECT_NODE" else None
        start = sql.find(" AS ", start + 1)
    return None


def _statement(connection: duckdb.DuckDBPyConnection, sql: str) -> Node | None:
    row = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    assert row is not None
    parsed = json.loads(row[0])
    if parsed["error"] or len(parsed["statements"]) != 1:
        return None
    node: Node = parsed["statements"][0]["node"]
    return node


def _text(connection: duckdb.DuckDBPyConnection, node: Node) -> str:
    tree = {"error": False, "statements": [{"node": node, "named_param_map": []}]}
    row = connection.execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(tree)]).fetchone()
    assert row is not None
    return str(row[0])


def _tried(node: Node) -> Node:
    """The expression within `TRY`, under its own name."""
    if node["class"] == "STAR":
        replaced = [one | {"value": _tried(one["value"])} for one in node["replace_list"]]
        return node | {"replace_list": replaced}
    if node["class"] in _BARE:
        return node
    table = {name: node[name] for name in ("query_location", "query_location_length")}
    return {
        "class": "OPERATOR",
        "type": "OPERATOR_TRY",
        "alias": node["alias"],
        **table,
        "children": [node | {"alias": ""}],
    }


def _compared(node: Node) -> list[Node]:
    """The columns that a condition compares, two by two; none if it is not of equal columns."""
    if node["type"] == "CONJUNCTION_AND":
        parts = [_compared(child) for child in node["children"]]
        return [column for part in parts for column in part] if all(parts) else []
    sides = [node["left"], node["right"]] if node["type"] == "COMPARE_EQUAL" else []
    return sides if all(side["class"] == "COLUMN_REF" for side in sides) else []


def _nodes(value: Any) -> Iterator[Node]:
    """Every node of a tree."""
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from _nodes(child)
    elif isinstance(value, list):
        for child in value:
            yield from _nodes(child)


def _classes(value: Any) -> Iterator[str]:
    return (node["class"] for node in _nodes(value) if "class" in node)
