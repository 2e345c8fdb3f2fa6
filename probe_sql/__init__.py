"""probe_sql: SQL GROUP BY over private data: values with margins, and HAVING with error bounds.

Importing this package is cheap: the engine and the libraries under it are loaded when
`connect`, `Policy` or `load_policy` is first used. The module follows PEP 249.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from probe_sql.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProbeError,
    ProgrammingError,
    Warning,  # noqa: A004 - the name is PEP 249's
)

if TYPE_CHECKING:
    from probe_sql.answer import Answer, Denied
    from probe_sql.cursor import (
        BINARY,
        DATETIME,
        NUMBER,
        ROWID,
        STRING,
        Binary,
        Cursor,
        Date,
        DateFromTicks,
        Time,
        TimeFromTicks,
        Timestamp,
        TimestampFromTicks,
    )
    from probe_sql.policy import Policy, load_policy
    from probe_sql.session import Connection, Spark, connect

__version__ = "0.1.0"

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Answer",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Denied",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "Policy",
    "ProbeError",
    "ProgrammingError",
    "Spark",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "load_policy",
    "paramstyle",
    "threadsafety",
]

_CURSOR = (
    "BINARY", "DATETIME", "NUMBER", "ROWID", "STRING", "Binary", "Cursor", "Date",
    "DateFromTicks", "Time", "TimeFromTicks", "Timestamp", "TimestampFromTicks",
)  # fmt: skip
_LAZY = {
    "Answer": "probe_sql.answer",
    "Connection": "probe_sql.session",
    "Denied": "probe_sql.answer",
    "Policy": "probe_sql.policy",
    "Spark": "probe_sql.session",
    "connect": "probe_sql.session",
    "load_policy": "probe_sql.policy",
    **dict.fromkeys(_CURSOR, "probe_sql.cursor"),
}


def __getattr__(name: str) -> Any:
    """Load a lazy export on first use (PEP 562) and keep it."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext probe_sql`: the magics `%probe` and `%%probe`."""
    import_module("probe_sql.notebook").load(shell)


def __dir__() -> list[str]:
    """Names in use plus the exports that are not loaded yet."""
    return sorted({*globals(), *__all__})
