"""One Spark for the whole test process, small and quiet; skipped where it is not installed."""

from __future__ import annotations

import os
import shutil
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probe_sql.policy import Policy
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.sources import Spark

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    # Tiny tables: compiling a plan takes longer than interpreting it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Settings that must not reach our own session.
    "spark.sql.session.timeZone": "Asia/Kathmandu",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
}


def missing() -> str | None:
    """Why Spark cannot be started here; None where it can."""
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "Spark needs Java 17, and there is none"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyspark.sql  # noqa: F401
    except ImportError:
        return 'Spark needs pyspark: pip install "probe-sql[spark]"'
    return None


@lru_cache(maxsize=1)
def session() -> Any:
    """The session of the test process, with settings of its own that must not matter."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class SparkFiles:
    """Tables as Parquet files, opened in the session of the process."""

    def __init__(self, folder: Path, refused: dict[str, str]) -> None:
        self.folder = folder
        self._count = 0
        self.refused = refused

    def write(self, source: dict[str, pa.Table]) -> dict[str, str]:
        """Paths of the tables, each in two files."""
        self._count += 1
        paths = {}
        for name, table in source.items():
            folder = self.folder / str(self._count) / name
            folder.mkdir(parents=True)
            half = table.num_rows // 2
            for index, part in enumerate((table.slice(0, half), table.slice(half))):
                pq.write_table(part, folder / f"{index}.parquet", coerce_timestamps="us")
            paths[name] = str(folder)
        return paths

    def open(self, source: dict[str, pa.Table], policy: Policy) -> Backend:
        return open_backend(Spark(tables=self.write(source), session=session()), policy)
