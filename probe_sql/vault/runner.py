"""Run one statement at a time so that it can be watched, interrupted, and fail in silence."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from probe_sql.vault import refusals
from probe_sql.vault.backend import Progress
from probe_sql.vault.failures import Failure, classify, scan_error

T = TypeVar("T")

PATIENCE = 0.5  # seconds before progress is reported; shorter work stays silent
TICK = 0.1
_IDLE, _BUSY = "probe-sql waiting", "probe-sql scan"  # names of a thread


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """What goes with one call: who is told that time goes by, and whether it was to end."""

    progress: Progress | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    limit: float | None = None  # seconds that one piece of work may take

    def tick(self, began: float) -> None:
        """Look up while waiting for something since `began`: raises `Interrupted` if cancelled."""
        if self.cancelled.is_set():
            self.cancelled.clear()
            raise scan_error(Failure.INTERRUPTED)
        if self.progress is not None and time.monotonic() - began >= PATIENCE:
            self.progress()

    @contextmanager
    def holding(self, lock: threading.Lock) -> Iterator[None]:
        """Hold a lock that somebody else may keep for long."""
        began = time.monotonic()
        while not lock.acquire(timeout=TICK):
            self.tick(began)
        try:
            yield
        finally:
            lock.release()


class Calls:
    """The calls of one session that are under way: it ends these, and nobody else's."""

    def __init__(self, limit: float | None = None) -> None:
        self._changed = threading.Condition()
        self._limit = limit
        self._threads: dict[Watch, int] = {}
        self._closed = False

    @contextmanager
    def call(self, progress: Progress | None = None) -> Iterator[Watch]:
        """Let one call begin, unless the session has ended."""
        watch = Watch(progress, limit=self._limit)
        with self._changed:
            if self._closed:
                raise refusals.CLOSED.error()
            self._threads[watch] = threading.get_ident()
        try:
            yield watch
        finally:
            with self._changed:
                del self._threads[watch]
                self._changed.notify_all()

    def interrupt(self) -> None:
        """End the calls that are under way, from any thread; those that wait, too."""
        with self._changed:
            for watch in self._threads:
                watch.cancelled.set()

    def end(self) -> None:
        """Have all calls ended and let no more begin.

        Raises `InterfaceError` where a `progress` asks for it: the call would wait for itself.
        """
        with self._changed:
            if threading.get_ident() in self._threads.values():
                raise refusals.WATCHED.error()
            self._closed = True
            for watch in self._threads:  # once: what tidies up afterwards runs
                watch.cancelled.set()
            while self._threads:
                self._changed.wait(TICK)


class Interruptible(Protocol):
    """A connection to a database whose running statement can be ended."""

    def interrupt(self) -> None:
        """End the running statement, from another thread."""
        ...


C = TypeVar("C", bound=Interruptible)


class Runner(Generic[C]):
    """Executes work on a connection in a thread of its own, one at a time.

    The calling thread only waits, so Ctrl-C reaches it at once and it can say that the work goes
    on. The thread is kept for the next work: in a new one none of DuckDB's memory is warm, which
    took a tenth of the time of a small scan. Interrupting is repeated until the work ends: a
    single call that comes before the statement has begun would be lost. Where `deaf` is given, a
    connection that does not end its work within so many seconds is left alone with it, and of no
    use any more.
    """

    def __init__(
        self,
        connection: C,
        classify: Callable[[BaseException], Failure] = classify,
        deaf: float = math.inf,
    ) -> None:
        self._connection = connection
        self._classify = classify
        self._deaf = deaf
        self._left = False
        self._turn = threading.Lock()
        self._running: Watch | None = None
        self._thread: threading.Thread | None = None
        self._jobs: _Jobs = SimpleQueue()

    def run(self, work: Callable[[C], T], watch: Watch | None = None) -> T | Failure:
        """The result of `work`, or how it failed; raises only what the watch's progress raises.

        A watch that was cancelled before the work began ends it, too. It counts once: what
        comes after, to tidy up, runs.

        Privacy: progress is told nothing but that time goes by. The database's exception is
        dropped in the thread in which it was raised; what comes back is its class.
        """
        watched = Watch() if watch is None else watch
        with self._turn:
            if self._left:
                return Failure.CLOSED
            job = _Job(work, self._connection, self._classify)
            self._running = watched
            try:
                outcome = self._watched(job, watched)
            finally:
                self._running = None
            if isinstance(outcome, Failure):
                watched.cancelled.clear()
            return outcome

    def end(self, close: Callable[[], None]) -> None:
        """Have the running work and whatever waits ended, and then `close` the connection."""
        while not self._turn.acquire(timeout=TICK):
            running = self._running
            if running is not None:
                running.cancelled.set()
        try:
            close()
        finally:
            self._jobs.put(None)
            self._turn.release()

    def _watched(self, job: _Job[C, T], watch: Watch) -> T | Failure:
        if watch.cancelled.is_set():
            return Failure.INTERRUPTED
        stopped = late = False
        began = time.monotonic()
        try:
            self._hand(job)
            while not job.wait():
                waited = time.monotonic() - began
                if watch.limit is not None and waited > watch.limit:
                    late = True
                    break
                if watch.cancelled.is_set():
                    self._connection.interrupt()
                elif watch.progress is not None and waited >= PATIENCE:
                    watch.progress()
        except KeyboardInterrupt:
            stopped = True
        finally:
            self._stop(job)
        if late:
            return Failure.TIMEOUT
        return Failure.INTERRUPTED if stopped else job.result()

    def _hand(self, job: _Job[C, T]) -> None:
        """Have the thread do a job; there is none before the first, or after a fork."""
        if self._thread is None or not self._thread.is_alive():
            jobs: _Jobs = SimpleQueue()
            thread = threading.Thread(target=_work, args=(jobs,), name=_IDLE, daemon=True)
            thread.start()
            self._thread, self._jobs = thread, jobs
            weakref.finalize(self, jobs.put, None)
        self._jobs.put(job)

    def _stop(self, job: _Job[C, T]) -> None:
        """Return when the job has ended, or never begins; impatience does not leave it running."""
        began = time.monotonic()
        if job.claim():
            return
        while self._thread is not None and self._thread.is_alive() and not job.done.is_set():
            if time.monotonic() - began > self._deaf:
                self._left = True
                return
            try:
                self._connection.interrupt()
                job.done.wait(TICK)
            except KeyboardInterrupt:
                continue


def _work(jobs: _Jobs) -> None:
    """Do one job after the other, until there is none.

    Privacy: a job holds what its work returned, so none is held while this waits.
    """
    me = threading.current_thread()
    while (job := jobs.get()) is not None:
        me.name = _BUSY
        job.do()
        me.name = _IDLE
        del job


class Watched:
    """A caller's progress that remembers what it raised: that is a way to cancel.

    Privacy: it is told the seconds since the scan began, which the caller's own clock tells, too.
    One that is `impatient` is called before a scan begins, too: what it raises then is free.
    """

    def __init__(
        self, progress: Callable[[float], None], watching: set[int], impatient: bool = False
    ) -> None:
        self._progress = progress
        self._impatient = impatient
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

    def begin(self) -> None:
        """Let an impatient caller end the question, whose scan has not begun."""
        if self._impatient:
            self()


class _Job(Generic[C, T]):
    """One piece of work, and what became of it."""

    def __init__(
        self, work: Callable[[C], T], connection: C, classify: Callable[[BaseException], Failure]
    ) -> None:
        self.done = threading.Event()
        self._outcome: T | Failure = Failure.OTHER
        self._work = work
        self._connection = connection
        self._classify = classify
        self._claimed = threading.Lock()

    def claim(self) -> bool:
        """Whether nobody has begun it, or given it up; from now on somebody has."""
        return self._claimed.acquire(blocking=False)

    def wait(self) -> bool:
        return self.done.wait(TICK)

    def result(self) -> T | Failure:
        outcome, self._outcome = self._outcome, Failure.OTHER
        return outcome

    def do(self) -> None:
        """Do it, unless whoever asked for it has given it up."""
        if not self.claim():
            return
        try:
            self._outcome = self._work(self._connection)
        except BaseException as error:  # its text must not survive, whatever it is
            self._outcome = self._classify(error)
        finally:
            self.done.set()


_Jobs = SimpleQueue[_Job[Any, Any] | None]
