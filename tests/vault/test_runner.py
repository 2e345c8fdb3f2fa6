"""The thread that works for a connection: kept between jobs, let go with the runner, never torn."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from probe_sql.errors import Interrupted
from probe_sql.vault.failures import Failure
from probe_sql.vault.runner import Runner, Watch


class Quiet:
    """A connection on which nothing runs long."""

    def interrupt(self) -> None:
        """End nothing."""


class Secret:
    """Something that must not outlive its query."""


def worker(_: Quiet) -> threading.Thread:
    return threading.current_thread()


def waited(over: Callable[[], bool]) -> bool:
    """Whether something comes true within a few seconds."""
    deadline = time.monotonic() + 10
    while not over() and time.monotonic() < deadline:
        time.sleep(0.01)
    return over()


def test_one_thread_does_what_comes_one_after_the_other() -> None:
    runner = Runner(Quiet())
    first, second = runner.run(worker), runner.run(worker)
    assert isinstance(first, threading.Thread)
    assert first is second is not threading.current_thread()
    runner.end(lambda: None)
    assert waited(lambda: not first.is_alive())


def test_the_thread_ends_with_a_runner_that_nobody_ended() -> None:
    runner = Runner(Quiet())
    thread = runner.run(worker)
    assert isinstance(thread, threading.Thread)
    del runner
    gc.collect()
    assert waited(lambda: not thread.is_alive())


def test_a_waiting_thread_holds_nothing_of_its_last_job() -> None:
    runner = Runner(Quiet())
    found = runner.run(lambda _: Secret())
    assert isinstance(found, Secret)
    gone = weakref.ref(found)
    del found
    assert waited(lambda: gone() is None)
    runner.end(lambda: None)


def test_what_fails_leaves_the_thread_for_the_next() -> None:
    runner = Runner(Quiet())

    def fail(_: Quiet) -> None:
        raise ValueError("secret")

    before = runner.run(worker)
    assert isinstance(runner.run(fail), Failure)
    assert runner.run(worker) is before
    runner.end(lambda: None)


def test_a_job_that_was_given_up_is_never_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes before the thread has begun: nothing runs afterwards on the connection."""
    runner = Runner(Quiet())
    done: list[int] = []
    jobs: list[Any] = []
    hand = runner._hand

    def late(job: object) -> None:
        jobs.append(job)
        monkeypatch.setattr(runner, "_hand", hand)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "_hand", late)
    assert runner.run(lambda _: done.append(1)) is Failure.INTERRUPTED
    hand(jobs[0])  # it reaches the thread all the same
    assert isinstance(runner.run(worker), threading.Thread)
    assert done == []
    runner.end(lambda: None)


def test_what_progress_raises_ends_the_wait_and_the_work() -> None:
    runner, watch = Runner(Quiet()), Watch()
    began, release = threading.Event(), threading.Event()

    def work(_: Quiet) -> bool:
        began.set()
        return release.wait(10)

    def stop() -> None:
        release.set()
        raise Interrupted("enough")

    with pytest.raises(Interrupted, match="enough"):
        runner.run(work, Watch(progress=stop))
    assert began.is_set()
    assert runner.run(lambda _: 5, watch) == 5
    runner.end(lambda: None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_gets_a_thread_of_its_own() -> None:
    runner = Runner(Quiet())
    runner.run(worker)
    child = os.fork()
    if child == 0:
        os._exit(0 if runner.run(lambda _: 7) == 7 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert runner.run(lambda _: 8) == 8
    runner.end(lambda: None)
