"""How much whoever comes through a door may take."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

_resource: Any
try:
    import resource as _resource
except ImportError:  # Windows
    _resource = None

_OTHER_FILES = 300  # that are kept free for scans, the ledger, the catalogue and the log


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a client may take: seconds, bytes, numbers of connections and questions.

    How many scan at once is the policy's `[engine] scans`.
    """

    login_seconds: float = 60.0
    login_bytes: int = 10_000
    strangers: int = 100  # connections that have not logged in
    strangers_each: int = 50  # of those from one address
    connections: int = 1000
    connections_each: int = 100  # of one user
    idle_seconds: float = 3600.0
    message_seconds: float = 60.0  # from the first to the last byte of a message, or of a result
    head_seconds: float = 30.0  # for the head of a browser's request
    message_bytes: int = 1_000_000
    statement_seconds: float = 600.0
    result_rows: int = 1_000_000
    waiting: int = 100  # questions
    pace: float = 0.0  # seconds: answers leave at multiples of it after the question came
    drain_seconds: float = 30.0


def files_for(connections: int) -> int:
    """How many of these connections there can be files for, once as many are allowed as may be.

    Privacy: a scan that finds no file left would fail, at a price, because of what others do.
    """
    if _resource is None:
        return connections
    soft, hard = _resource.getrlimit(_resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    unlimited = _resource.RLIM_INFINITY
    if soft != unlimited and soft < wanted:
        soft = wanted if hard == unlimited else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            _resource.setrlimit(_resource.RLIMIT_NOFILE, (soft, hard))
        soft = _resource.getrlimit(_resource.RLIMIT_NOFILE)[0]
    return connections if soft == unlimited else max(1, min(connections, soft - _OTHER_FILES))
