"""The nodes of types, each read from its name once."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from probe_sql.sql.copying import copied


@lru_cache(maxsize=512)
def _known(name: str, dialect: str) -> exp.DataType:
    return exp.DataType.build(name, dialect=dialect)


def data_type(name: str, dialect: str = "duckdb") -> exp.DataType:
    """Make a node of a type, by its name in a dialect."""
    return copied(_known(name, dialect))
