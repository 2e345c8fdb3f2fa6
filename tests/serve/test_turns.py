"""Whose turn it is: fair between analysts, and nobody is kept waiting by one who is stopped."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from probe_sql.errors import Interrupted
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.turns import Stop, Turns


def test_analysts_take_turns_and_who_is_stopped_leaves_the_line() -> None:
    async def scene() -> list[str]:
        turns = Turns(1, 4)
        served: list[str] = []

        async def ask(who: str, stop: Stop) -> None:
            async with turns.turn(who, stop):
                served.append(who)
                await asyncio.sleep(0)

        stops = [Stop() for _ in range(4)]
        async with turns.turn("owner", Stop()):
            who = ("maria", "maria", "noor", "maria")
            asked = [
                asyncio.create_task(ask(name, stop)) for name, stop in zip(who, stops, strict=True)
            ]
            await asyncio.sleep(0)
            with pytest.raises(Complaint, match="too many questions"):
                async with turns.turn("noor", Stop()):
                    pass
            stops[1].now("cancelled")
            with pytest.raises(Interrupted):
                await asked.pop(1)
        await asyncio.gather(*asked)
        async with asyncio.timeout(1), turns.turn("x", Stop()):
            return served

    assert asyncio.run(scene()) == ["maria", "noor", "maria"]


def test_nobody_can_take_every_turn() -> None:
    async def scene() -> None:
        turns = Turns(3, 10, each=2)
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(2):
                await stack.enter_async_context(turns.turn("maria", Stop()))
            third = asyncio.create_task(stack.enter_async_context(turns.turn("maria", Stop())))
            await asyncio.sleep(0)
            assert not third.done()
            async with asyncio.timeout(1), turns.turn("noor", Stop()):
                assert not third.done()
            third.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await third
        async with asyncio.timeout(1), turns.turn("maria", Stop()), turns.turn("maria", Stop()):
            pass

    asyncio.run(scene())


def test_a_turn_that_comes_together_with_a_cancel_is_not_lost() -> None:
    async def scene() -> None:
        turns = Turns(1, 4)

        async def ask() -> None:
            async with turns.turn("maria", Stop()):
                await asyncio.sleep(0)

        first = turns.turn("noor", Stop())
        await first.__aenter__()
        task = asyncio.create_task(ask())
        await asyncio.sleep(0)
        await first.__aexit__(None, None, None)  # gives maria the turn,
        task.cancel()  # and her task ends before it knows
        with contextlib.suppress(asyncio.CancelledError):
            await task
        async with asyncio.timeout(1), turns.turn("x", Stop()):
            pass

    asyncio.run(scene())


def test_reloading_waits_for_what_runs_and_changes_how_many_may() -> None:
    async def scene() -> None:
        turns = Turns(1, 4)
        running = turns.turn("maria", Stop())
        await running.__aenter__()
        closing = asyncio.create_task(turns.take_all(2))
        waiting = asyncio.create_task(turns.turn("noor", Stop()).__aenter__())
        await asyncio.sleep(0.05)
        assert not closing.done()
        await running.__aexit__(None, None, None)
        await asyncio.wait_for(closing, 5)
        assert not waiting.done()
        turns.give_all()
        await asyncio.wait_for(waiting, 1)
        async with asyncio.timeout(1), turns.turn("x", Stop()):
            pass

    asyncio.run(scene())


def test_a_stop_calls_what_runs_and_nothing_that_is_over() -> None:
    stop, called = Stop(), []
    with stop.calls(lambda: called.append("early")):
        pass
    with stop.calls(lambda: called.append("running")):
        stop.now("the first reason")
        stop.now("another")
    with stop.calls(lambda: called.append("late")):
        pass
    assert called == ["running", "late"]
    with pytest.raises(Interrupted, match="the first reason"):
        stop.check()
