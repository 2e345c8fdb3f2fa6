"""The files behind a table of Spark: what they are, and whether they changed meanwhile."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from probe_sql.vault import refusals
from probe_sql.vault.sources import table_format

# What the formats call their own list of files, which follows their log.
_PLAIN = ("InMemoryFileIndex", "CatalogFileIndex")
_PATH = re.compile(r"path=(.*?); isDirectory=")
_READ = re.compile(r"access_time=\d+")  # reading a file is no change of it


def file_marks(frame: Any) -> tuple[str, ...]:
    """Name, size and time of every file that the frame reads, listed anew for its next job."""
    found = []
    for location in _locations(frame):
        location.refresh()
        found.append(_READ.sub("", _listed(location)))
    return tuple(found)


def repeated(marks: Sequence[str]) -> bool:
    """Whether one of the lists, as `file_marks` gives them, has a file under two names.

    Privacy: each of its rows would count twice, and noise is drawn for one.
    """
    for listed in marks:
        files = [_same(path) for path in _PATH.findall(listed)]
        if len(set(files)) != len(files):
            return True
    return False


def check_files(session: Any, frame: Any, table: str) -> None:
    """Raise `OperationalError` where the files are not all rows, or one of them comes twice.

    Privacy: rows that were deleted by a log alone, which is not read here, would come back.
    """
    if repeated(file_marks(frame)):
        raise refusals.FILE_TWICE.error(table=table)
    known: dict[str, Sequence[str] | None] = {}

    def names(folder: str) -> Sequence[str] | None:
        if folder not in known:
            known[folder] = _names(session, folder)
        return known[folder]

    for location in _locations(frame):
        if location.getClass().getSimpleName() not in _PLAIN:
            continue
        folders = {path.rpartition("/")[0] for path in _PATH.findall(_listed(location))}
        for folder in sorted(folders):
            format_ = table_format(folder, names)
            if format_ is not None:
                raise refusals.SPARK_LAKE.error(table=table, format=format_, reader=format_.lower())


def _same(path: str) -> object:
    """What two names of one file have in common; a file that is not on this machine has one."""
    if path.startswith("file:"):
        try:
            state = os.stat("/" + path.removeprefix("file:").lstrip("/"))
        except OSError:
            return path
        return (state.st_dev, state.st_ino)
    return path


def _locations(frame: Any) -> Iterator[Any]:
    """The lists of files of a frame's plan."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    for index in range(leaves.size()):
        leaf = leaves.apply(index)
        if leaf.getClass().getSimpleName() == "LogicalRelation":
            relation = leaf.relation()
            if relation.getClass().getSimpleName() == "HadoopFsRelation":
                yield relation.location()


def _listed(location: Any) -> str:
    """Every file with its marks, as one text: a call for each would take minutes for many."""
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    nil = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
    return str(location.listFiles(nil, nil).mkString("\n"))


def _names(session: Any, folder: str) -> Sequence[str] | None:
    """What is in a folder of any file system that Spark reads; None where there is none."""
    path = session._jvm.org.apache.hadoop.fs.Path(folder)
    system = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    if not system.exists(path):
        return None
    return [status.getPath().getName() for status in system.listStatus(path)]
