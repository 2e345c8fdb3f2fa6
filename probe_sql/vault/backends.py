"""Open whatever holds the rows; `open_backend` is the only way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from probe_sql.policy.policy import Policy
from probe_sql.vault.addresses import POSTGRES, server
from probe_sql.vault.backend import Backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.remote import Remote, RemoteBackend
from probe_sql.vault.sources import as_spark, is_remote, layout


def open_backend(
    source: Any,
    policy: Policy | None,
    *,
    threads: int | None = None,
    memory: str | None = None,
    beside: Path | None = None,
    checked: bool = True,
    schemas_only: bool = False,
) -> Backend:
    """Open a source read-only, with the tables that the policy names, and lock it.

    `source` is a path (a DuckDB database, Parquet or CSV files, a glob), an Arrow table, a pandas
    or Polars frame, a mapping of table names to those, or a server: the URL of a PostgreSQL
    database, a `Spark`, or a SparkSession. Without a policy (to draft one) only schemas can
    be read. `threads` and `memory` stand above the policy's `[engine]`, for whoever starts
    the engine. `beside` is where the ledger lies. Raises `OperationalError` or `InterfaceError` for
    what cannot be opened and, where `checked`, `PolicyError` where a public table is not unique
    on its declared key.
    Privacy: with `schemas_only` no private row is looked at, and nothing can be scanned.
    """
    if is_remote(source):
        backend = _remote(source, policy, threads, memory, beside)
    else:
        found = replace(layout(source, policy), rows=not schemas_only)
        backend = DuckDBBackend(found, policy, threads=threads, memory=memory)
    if policy is not None and checked and not schemas_only:
        try:
            backend.check_public_keys(policy)
            backend.check_people(policy)
        except BaseException:
            backend.close()
            raise
    return backend


def _remote(
    source: Any, policy: Policy | None, threads: int | None, memory: str | None, beside: Path | None
) -> Backend:
    remote: Remote
    if isinstance(source, str) and server(source) == POSTGRES:
        from probe_sql.vault.postgres import open_postgres

        remote = open_postgres(source, None if policy is None else policy.engine)
    else:
        from probe_sql.vault.spark import open_spark

        remote = open_spark(as_spark(source), None if policy is None else policy.engine.seconds)
    return RemoteBackend(remote, policy, threads=threads, memory=memory, beside=beside)
