"""probe_sql: SQL HAVING over private data, with bounds on missed and on false groups.

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
    from probe_sql.policy import Policy, load_policy
    from probe_sql.session import connect

__version__ = "0.1.0"

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

__all__ = [
    "DataError",
    "DatabaseError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "Policy",
    "ProbeError",
    "ProgrammingError",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "load_policy",
    "paramstyle",
    "threadsafety",
]

_LAZY = {
    "Policy": "probe_sql.policy",
    "connect": "probe_sql.session",
    "load_policy": "probe_sql.policy",
}


def __getattr__(name: str) -> Any:
    """Load a lazy export on first use (PEP 562) and keep it."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Names in use plus the exports that are not loaded yet."""
    return sorted({*globals(), *__all__})
