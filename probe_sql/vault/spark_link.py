"""Reaching Spark: a session of our own in a context that is given, shared or started here.

Spark's settings belong to sessions. Ours shares the context with the session that is given,
and nothing else: what is set, registered and cached here is seen by nobody else.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import uuid
import warnings
from dataclasses import dataclass
from typing import Any

from probe_sql.errors import ProbeError
from probe_sql.scan.spark.engine import SETTINGS
from probe_sql.vault import refusals
from probe_sql.vault.failures import Failure
from probe_sql.vault.sources import Spark

# For a context that is started here. Its log could quote rows, its pages show plans.
_CONTEXT = {
    "spark.app.name": "probe-sql",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
# PySpark writes the text of an error to these by itself, whatever Spark's own level is.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_FILES = ("FAILED_READ_FILE", "PATH_NOT_FOUND", "CANNOT_READ_FILE", "UNABLE_TO_INFER_SCHEMA")
_MEMORY = ("java.lang.OutOfMemoryError", "org.apache.spark.memory.SparkOutOfMemoryError")
_DEPTH = 20  # causes of a cause that are looked at


@dataclass(slots=True)
class _Started:
    """A context that was started here, and how many connections use it."""

    session: Any
    users: int = 0


_turn = threading.Lock()
_started: _Started | None = None


class Link:
    """A session of our own; what runs in it can be watched and interrupted.

    It may be made anywhere, and `start` runs in the thread that works: PySpark then leaves
    the handling of Ctrl-C as it is.
    """

    def __init__(self, source: Spark) -> None:
        self._source = source
        self._group = f"probe-sql {uuid.uuid4()}"
        self._shared: _Started | None = None
        self._asked = False
        self._base: Any = None
        self._session: Any = None

    # --- opening and closing --------------------------------------------------------------

    def start(self) -> None:
        """Begin a session; raises `InterfaceError` where there is nothing to begin it with."""
        silence()
        base = self._source.session
        if base is None:
            base = self._started()
        elif not hasattr(base, "newSession") or not hasattr(base, "_jsparkSession"):
            raise refusals.NO_SESSION.error()
        self._base = base
        self._session = base.newSession()
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)

    def _started(self) -> Any:
        """A session of the context that runs in this process, or of one started now."""
        global _started
        pyspark = library()
        master = self._source.master
        with _turn:
            running = pyspark.SparkContext._active_spark_context
            if running is None:
                _started = _Started(self._start(pyspark))
            elif _started is None or _started.session.sparkContext is not running:
                # The user's own: it is theirs to stop.
                self._check_master(running, master)
                return pyspark.sql.SparkSession(running)
            else:
                self._check_master(running, master)
            assert _started is not None
            _started.users += 1
            self._shared = _started
            return _started.session

    def _check_master(self, running: Any, master: str | None) -> None:
        if master not in (None, running.master):
            raise refusals.OTHER_MASTER.error()

    def _start(self, pyspark: Any) -> Any:
        if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
            raise refusals.NO_JAVA.error()
        builder = pyspark.sql.SparkSession.builder
        if self._source.master is not None:
            builder = builder.master(self._source.master)
        for name, value in _CONTEXT.items():
            builder = builder.config(name, value)
        failed = False
        try:
            return builder.getOrCreate()
        except Exception:  # its text may hold anything; what follows is ours
            failed = True
        assert failed
        raise refusals.NOT_STARTED.error()

    def close(self) -> None:
        """Leave the context; stop it if it was started here and nobody else uses it."""
        global _started
        self._session = self._base = None
        shared, self._shared = self._shared, None
        if shared is None:
            return
        with _turn:
            shared.users -= 1
            if shared.users == 0:
                _quiet(shared.session.stop)
                if _started is shared:
                    _started = None

    # --- working --------------------------------------------------------------------------

    @property
    def base(self) -> Any:
        """The session whose tables are asked for."""
        return self._base

    def begin(self) -> Any:
        """Our session, for work that starts now in this thread and can be cancelled."""
        if self._session is None:
            raise refusals.CLOSED.error()
        silence()
        self._asked = False
        self._session.sparkContext.setJobGroup(self._group, "probe-sql", interruptOnCancel=True)
        return self._session

    def interrupt(self) -> None:
        """End the running job, from another thread."""
        self._asked = True
        session = self._session
        if session is not None:
            _quiet(lambda: session.sparkContext.cancelJobGroup(self._group))

    def classify(self, error: BaseException) -> Failure:
        """The class of an error, by its names; its text is not looked at."""
        if self._asked:
            return Failure.INTERRUPTED
        if isinstance(error, MemoryError):
            return Failure.MEMORY
        bridge = type(error).__module__ == "py4j.protocol"
        if isinstance(error, OSError) or (bridge and type(error).__name__ != "Py4JJavaError"):
            return Failure.CLOSED  # the driver does not answer
        condition = _condition(error)
        names = _java_names(error)
        if any(name in _MEMORY for name in names):
            return Failure.MEMORY
        lost = any(
            name.endswith(("FileNotFoundException", "NoSuchFileException")) for name in names
        )
        return Failure.FILE if lost or condition.startswith(_FILES) else Failure.OTHER


def library() -> Any:
    """PySpark; raises `InterfaceError` where it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyspark
            import pyspark.sql
    except ImportError:
        pyspark = None
    if pyspark is None:
        raise refusals.NO_PYSPARK.error()
    return pyspark


def silence() -> None:
    """Switch PySpark's own loggers of errors off, for this process.

    Privacy: the text of an error may quote a cell, and they would print it on standard error.
    """
    for name in _LOGGERS:
        logging.getLogger(name).disabled = True


def plain(error: ProbeError) -> ProbeError:
    """An error of ours without what it was raised from."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _quiet(action: Any) -> None:
    try:
        action()
    except Exception:  # the driver is gone already
        return


def _condition(error: BaseException) -> str:
    """Spark's name for what went wrong, such as FAILED_READ_FILE.FILE_NOT_EXIST."""
    for method in ("getCondition", "getErrorClass"):
        if hasattr(error, method):
            try:
                return str(getattr(error, method)() or "")
            except Exception:
                return ""
    return ""


def _java_names(error: BaseException) -> list[str]:
    """The class of the exception in the driver, and those of its causes."""
    names: list[str] = []
    try:
        cause = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
        while cause is not None and len(names) < _DEPTH:
            names.append(str(cause.getClass().getName()))
            cause = cause.getCause()
    except Exception:
        return names
    return names
