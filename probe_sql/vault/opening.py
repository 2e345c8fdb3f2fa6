"""The limits and the walls of a DuckDB connection: what it may take, and what it can reach."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import duckdb

from probe_sql.errors import PolicyError
from probe_sql.policy import Resources
from probe_sql.policy.kinds import Size
from probe_sql.policy.policy import Policy
from probe_sql.vault import refusals
from probe_sql.vault.loading import literal
from probe_sql.vault.sources import Files, Layout

_MACHINE = 80  # percent of its memory, for all scans together


def resources(policy: Policy | None, threads: int | None, memory: str | None) -> Resources:
    """What a scan may take: the policy's, but for what whoever starts the engine gives instead."""
    owner = policy.engine if policy is not None else Resources()
    threads = owner.threads if threads is None else threads
    memory = owner.memory if memory is None else memory
    try:
        return replace(owner, threads=threads, memory=memory)
    except PolicyError as error:
        wrong = error.problems[0]
        words = {"path": wrong.path, "what": wrong.what, "fix": wrong.fix}
        raise refusals.BAD_LIMIT.error(**words) from None


def memory_of_each(limits: Resources) -> str | None:
    """The part of the memory that each of the scans gets which may run at once."""
    if limits.scans == 1:
        return limits.memory
    if limits.memory is None:
        return f"{_MACHINE // limits.scans}%"
    return f"{Size.bytes(limits.memory) // limits.scans}B"


def set_limits(connection: duckdb.DuckDBPyConnection, limits: Resources, spill: Path) -> None:
    """Give the connection its part of the memory, of the threads, and a directory to spill to.

    Privacy: a part is fixed. What a scan can take does not depend on what others run beside it.
    """
    free = shutil.disk_usage(spill).free // limits.scans
    settings = [
        "SET TimeZone = 'UTC'",
        "SET pandas_analyze_sample = 0",
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        # A part that two expressions share would be computed once, outside of their TRY.
        "SET disabled_optimizers = 'common_subexpressions'",
        # Dense integer keys of up to 2^18 values: twice as fast as hashing. Of 2^21 it is slower.
        "SET perfect_ht_threshold = 18",
        f"SET temp_directory = {literal(str(spill))}",
        f"SET max_temp_directory_size = '{max(1, free // 2)}B'",
    ]
    memory = memory_of_each(limits)
    if limits.threads is not None:
        settings.append(f"SET threads = {limits.threads // limits.scans}")
    if memory is not None:
        settings.append(f"SET memory_limit = {literal(memory)}")
    # Its bar tells how many rows there are. In a notebook without ipywidgets DuckDB has none, and
    # raises where it is told to have none.
    bar = "SELECT current_setting('enable_progress_bar')"
    if connection.execute(bar).fetchall() != [(False,)]:
        settings.append("SET enable_progress_bar = false")
    for setting in settings:
        connection.execute(setting)


def wall_in(connection: duckdb.DuckDBPyConnection, layout: Layout, folders: Iterable[Path]) -> None:
    """Switch off files but the private Parquet ones and `folders`, the network, and settings."""
    parquet = [
        literal(str(path))
        for source in layout.private.values()
        if isinstance(source, Files) and source.format == "parquet"
        for path in source.paths
    ]
    private = [literal(f"{folder}/") for folder in folders]
    for setting in (
        f"SET allowed_paths = [{', '.join(parquet)}]",
        f"SET allowed_directories = [{', '.join(private)}]",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(setting)
