"""Run one statement at a time so that it can be watched, interrupted, and fail in silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from probe_sql.errors import InterfaceError
from probe_sql.vault.backend import Progress
from probe_sql.vault.failures import Failure, classify

T = TypeVar("T")

PATIENCE = 0.5  # seconds before progress is reported; shorter work stays silent
TICK = 0.1


class Interruptible(Protocol):
    """A connection to a database whose running statement can be ended."""

    def interrupt(self) -> None:
        """End the running statement, from another thread."""
        ...


C = TypeVar("C", bound=Interruptible)


class Runner(Generic[C]):
    """Executes work on a connection in a thread of its own, one at a time.

    The calling thread only waits, so Ctrl-C reaches it at once and it can say that the work goes
    on. Interrupting is repeated until the work ends: a single call that comes before
    the statement has begun would be lost.
    """

    def __init__(
        self, connection: C, classify: Callable[[BaseException], Failure] = classify
    ) -> None:
        self._connection = connection
        self._classify = classify
        self._turn = threading.Lock()
        self._running: _Job[C, object] | None = None
        self._caller: int | None = None  # the thread that waits

    def run(self, work: Callable[[C], T], progress: Progress | None = None) -> T | Failure:
        """The result of `work`, or how it failed; raises only what `progress` raises, and
        `InterfaceError` where `progress` asks for more work, which would wait for itself.

        Privacy: `progress` is told nothing but that time goes by. The database's exception is
        dropped in the thread in which it was raised; what comes back is its class.
        """
        if self._caller == threading.get_ident():
            raise asked_again()
        with self._turn:
            self._caller = threading.get_ident()
            job = _Job(work, self._connection, self._classify)
            self._running = job  # type: ignore[assignment]
            try:
                return self._watched(job, progress)
            finally:
                self._running = None
                self._caller = None

    def interrupt(self) -> None:
        """End the running work, from any thread."""
        job = self._running
        if job is not None:
            job.cancelled.set()

    def end(self, close: Callable[[], None]) -> None:
        """Have the running work and whatever waits ended, and then `close` the connection.

        Raises `InterfaceError` where `progress` asks for it: the work would wait for itself.
        """
        if self._caller == threading.get_ident():
            raise asked_again()
        while not self._turn.acquire(timeout=TICK):
            self.interrupt()
        try:
            close()
        finally:
            self._turn.release()

    def _watched(self, job: _Job[C, T], progress: Progress | None) -> T | Failure:
        stopped = False
        waited = 0.0
        try:
            job.thread.start()
            while not job.wait():
                waited += TICK
                if job.cancelled.is_set():
                    self._connection.interrupt()
                elif progress is not None and waited >= PATIENCE:
                    progress()
        except KeyboardInterrupt:
            stopped = True
        finally:
            self._stop(job)
        return Failure.INTERRUPTED if stopped else job.result()

    def _stop(self, job: _Job[C, T]) -> None:
        """Return when the thread has ended; impatience does not leave it running."""
        while job.thread.is_alive() and not job.done.is_set():
            try:
                self._connection.interrupt()
                job.done.wait(TICK)
            except KeyboardInterrupt:
                continue


class Watched:
    """A caller's progress that remembers what it raised: that is a way to cancel.

    Privacy: it is told the seconds since the scan began, which the caller's own clock tells, too.
    """

    def __init__(self, progress: Callable[[float], None], watching: set[int]) -> None:
        self._progress = progress
        self._watching = watching
        self._began = time.monotonic()
        self.raised: BaseException | None = None

    def __call__(self) -> None:
        thread = threading.get_ident()
        self._watching.add(thread)
        try:
            self._progress(time.monotonic() - self._began)
        except BaseException as error:
            self.raised = error
            raise
        finally:
            self._watching.discard(thread)


def asked_again() -> InterfaceError:
    """What is raised where a `progress` uses the connection whose scan it watches."""
    return InterfaceError(
        "A progress function cannot use the connection that it watches.",
        why="The connection does one thing at a time, and it waits for that function.",
        fix="Raise an exception in it to cancel the scan, or connect a second time.",
    )


class _Job(Generic[C, T]):
    """One piece of work, its thread, and what became of it."""

    def __init__(
        self, work: Callable[[C], T], connection: C, classify: Callable[[BaseException], Failure]
    ) -> None:
        self.done = threading.Event()
        self.cancelled = threading.Event()
        self._outcome: T | Failure = Failure.OTHER
        self._work = work
        self._connection = connection
        self._classify = classify
        self.thread = threading.Thread(target=self._run, name="probe-sql scan", daemon=True)

    def wait(self) -> bool:
        return self.done.wait(TICK)

    def result(self) -> T | Failure:
        outcome, self._outcome = self._outcome, Failure.OTHER
        return outcome

    def _run(self) -> None:
        try:
            self._outcome = self._work(self._connection)
        except BaseException as error:  # its text must not survive, whatever it is
            self._outcome = self._classify(error)
        finally:
            self.done.set()
