"""What all doors share, asked without a protocol: as another door would."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from probe_sql.answer import Answer
from probe_sql.errors import Interrupted
from probe_sql.serve.analyst import LastAnswers
from probe_sql.serve.complaints import Complaint
from probe_sql.serve.guest import Guest
from probe_sql.serve.house import House
from probe_sql.serve.limits import Limits
from probe_sql.serve.opening import Opening
from probe_sql.serve.users import change_password, remove_user
from tests.serve.conftest import COMMON, PASSWORD

USERS = "clinic.duckdb.ledger.users"


def lived(clinic: Path, limits: Limits, life: Callable[[House], Awaitable[None]]) -> None:
    """Run something in a house that ends in good order."""

    async def whole() -> None:
        house = House(Opening(str(clinic / "clinic.duckdb"), str(clinic / "clinic.toml")), limits)
        try:
            await asyncio.wait_for(life(house), 60)
        finally:
            await house.empty()
            for guest in house.guests:
                await house.leave(guest)
            house.close()

    asyncio.run(whole())


async def entered(house: House, ended: Callable[[], None] = lambda: None) -> Guest:
    verifier = await house.prove("maria", "10.0.0.1", PASSWORD)
    return house.enter("maria", verifier, ended=ended)


async def asked(guest: Guest, sql: str, **accuracy: Any) -> Any:
    with guest.busy(), guest.stoppable() as stop:
        return await guest.ask(lambda: guest.analyst.ask(sql, (), accuracy, stop), stop)


def test_a_guest_asks_pays_and_finds_the_last_answer(clinic: Path) -> None:
    async def life(house: House) -> None:
        guest = await entered(house)
        answer = await asked(guest, COMMON)
        assert isinstance(answer, Answer)
        budget = guest.analyst.session.budget
        assert budget.spent == pytest.approx(answer.privacy.epsilon)
        assert '"common cold"' in guest.analyst.last_answer()
        assert not (clinic / "clinic.duckdb.ledger.answers").exists()  # the ledger alone has it
        change_password(clinic / USERS, "maria", "battery staple")  # perhaps for somebody else
        house.look_at_users()
        with pytest.raises(Complaint, match="nothing was answered"):
            guest.analyst.last_answer()
        await house.leave(guest)
        assert not house.guests

    lived(clinic, Limits(drain_seconds=0.1), life)


@pytest.mark.parametrize("user", ["maria", "nobody"])
def test_a_password_that_is_not_the_users_is_refused_and_makes_wait(
    clinic: Path, user: str
) -> None:
    async def life(house: House) -> None:
        with pytest.raises(Complaint, match="the user or the password is wrong"):
            await house.prove(user, "10.0.0.1", "wrong password")
        assert house._patience.wait(user, "10.0.0.1") > 0.1
        assert house._patience.wait(user, "10.0.0.2") == 0
        assert house._patience.wait("noor", "10.0.0.1") == 0

    lived(clinic, Limits(), life)


def test_passwords_that_are_tried_at_once_are_tried_one_after_the_other(clinic: Path) -> None:
    """Each spelling of a name is the same name."""

    async def life(house: House) -> None:
        clock = asyncio.get_running_loop().time
        began, ended = clock(), []

        async def guess(name: str) -> None:
            with pytest.raises(Complaint, match="the user or the password is wrong"):
                await house.prove(name, "10.0.0.1", "wrong password")
            ended.append(clock() - began)

        names = ("maria", "\uff4daria", "m\uff41ria", "mar\uff49a")
        guesses = asyncio.gather(*map(guess, names))
        while not ended:
            await asyncio.sleep(0.01)
        await house.prove("maria", "10.0.0.2", PASSWORD)  # from elsewhere she need not wait
        assert len(ended) < 4
        await guesses
        assert ended[-1] > 0.25 + 0.5 + 1

    lived(clinic, Limits(), life)


def test_so_many_attempts_wait_and_none_for_longer_than_a_login(clinic: Path) -> None:
    async def life(house: House) -> None:
        for _ in range(9):
            house._patience.failed("maria", "10.0.0.1")
        attempts = [house.prove("maria", "10.0.0.1", PASSWORD) for _ in range(120)]
        ends = await asyncio.gather(*attempts, return_exceptions=True)
        assert all(isinstance(one, Complaint) and one.code == "53300" for one in ends)
        await house.prove("maria", "10.0.0.2", PASSWORD)
        assert not house._patience._lines

    lived(clinic, Limits(login_seconds=0.5), life)


def test_a_removed_user_is_ended_and_asks_nothing_more(clinic: Path) -> None:
    async def life(house: House) -> None:
        ended = asyncio.Event()
        idle, working = await entered(house, ended.set), await entered(house)
        with working.busy():
            remove_user(clinic / USERS, "maria")
            house.look_at_users()
            await asyncio.wait_for(ended.wait(), 5)
            for guest in (idle, working):
                assert guest.over is not None
                assert "removed, or has another password" in guest.over.what
                with pytest.raises(Interrupted):
                    await asked(guest, COMMON)
        with pytest.raises(Complaint):
            await entered(house)
        assert idle.analyst.session.budget.spent == 0

    lived(clinic, Limits(drain_seconds=0.1), life)


def test_nothing_is_charged_for_who_left_or_cancelled(clinic: Path) -> None:
    async def life(house: House) -> None:
        verifier = await house.prove("maria", "10.0.0.1", PASSWORD)
        left = house.enter("maria", verifier, ended=lambda: None, present=lambda: False)
        with pytest.raises(Interrupted, match="has left"):
            await asked(left, COMMON)
        guest = await entered(house)
        holds, lets = threading.Event(), threading.Event()

        def work() -> None:
            holds.set()
            lets.wait(30)

        with left.stoppable() as other:
            left._present = lambda: True
            blocked = asyncio.create_task(left.ask(work, other))  # has the only turn
            await asyncio.to_thread(holds.wait, 30)
            waits = asyncio.create_task(asked(guest, COMMON))
            await asyncio.sleep(0.05)
            guest.cancel()
            with pytest.raises(Interrupted, match="cancelled"):
                await waits
            lets.set()
            await blocked
        assert guest.analyst.session.budget.spent == 0

    lived(clinic, Limits(drain_seconds=0.1), life)


def test_who_is_idle_for_too_long_is_ended_and_who_works_is_not(clinic: Path) -> None:
    async def life(house: House) -> None:
        idle, working = await entered(house), await entered(house)
        with working.busy():
            await asyncio.sleep(0.1)
            house.look_at_guests()
            assert idle.over is not None
            assert idle.over.code == "57P05"
            assert working.over is None

    lived(clinic, Limits(idle_seconds=0.05, drain_seconds=0.1), life)


def test_the_house_counts_connections_of_all_doors(clinic: Path) -> None:
    async def life(house: House) -> None:
        first, second = house.visit("a"), house.visit("a")
        assert first is not None
        assert second is not None
        assert house.visit("a") is None
        assert house.visit("b") is not None
        house.recognise(second, "maria")
        assert house.visit("a") is not None
        assert house.visit("c") is None
        house.gone(first)
        assert house.visit("c") is not None

    lived(clinic, Limits(strangers_each=2, connections=4), life)


def test_the_last_answers_of_all_users_take_so_much_and_no_more() -> None:
    kept = LastAnswers(most=100)
    for user in ("maria", "noor", "zoe"):
        kept.keep(user, f"SELECT '{user}'", 40, dict)
    assert [kept.last(user) for user in ("maria", "noor")] == [None, '{"sql": "SELECT \'noor\'"}']
    kept.keep("noor", "SELECT 2", 200, dict)  # alone it is too much
    assert [kept.last(user) for user in ("noor", "zoe")] == [None, None]
