"""The process that holds the data: a house, its doors, and an end in good order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probe_sql.serve.house import Door, House
from probe_sql.serve.limits import Limits, files_for
from probe_sql.serve.opening import Opening
from probe_sql.serve.postgres.door import PostgresDoor

if TYPE_CHECKING:
    from probe_sql.serve.console.door import ConsoleDoor

_GLANCE = 0.5  # seconds between two looks at the users' file, and at who is idle


@dataclass(frozen=True, slots=True)
class Console:
    """How the console is opened beside the other door: its port (None: 8432 or the next one that is
    free), and the names by which browsers reach it."""

    port: int | None = None
    names: tuple[str, ...] = ()


class Server:
    """A house with all its doors. Use: `await start()`, then `await run()`."""

    def __init__(
        self, opening: Opening, limits: Limits | None = None, console: Console | None = None
    ) -> None:
        self.house = House(opening, limits or Limits())
        self.postgres = PostgresDoor(self.house, opening.host, opening.port)
        self.console: ConsoleDoor | None = None
        self._doors: tuple[Door, ...] = (self.postgres,)
        if console is not None:
            from probe_sql.serve.console.door import ConsoleDoor

            self.console = ConsoleDoor(self.house, opening.host, console.port, console.names)
            self._doors = (self.postgres, self.console)
        self._stopped = asyncio.Event()
        self._reloads: set[asyncio.Task[None]] = set()

    async def start(self) -> tuple[str, int]:
        """Listen; returns the address of PostgreSQL's protocol."""
        found = await self.postgres.start()
        if self.console is not None:
            await self.console.start()
        return found

    async def run(self) -> None:
        """Serve until `stop`, looking at users and guests from time to time; then end in order."""
        await live(self.house, self._doors, self._stopped)

    async def reload(self) -> None:
        """Go by the users and the policy as they are now."""
        await self.house.reload(self._doors)

    def reload_soon(self) -> None:
        """Reload beside what runs."""
        task = asyncio.get_running_loop().create_task(self.reload())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    def stop(self) -> None:
        """Begin to end: nobody else comes in, and what runs may finish."""
        self._stopped.set()


async def live(house: House, doors: tuple[Door, ...], stopped: asyncio.Event) -> None:
    """Look at users and guests until `stopped`; then let nobody in, and end in good order."""
    try:
        while not stopped.is_set():
            house.look_at_users()
            house.look_at_guests()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), _GLANCE)
    finally:
        for door in doors:
            door.shut()
        await house.empty()
        for door in doors:
            await door.close()
        house.close()


async def serve(
    opening: Opening,
    limits: Limits,
    tell: Callable[[str, int, str], None],
    console: Console | None = None,
    tell_console: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM or SIGINT; `tell` gets the address and the database's name,
    `tell_console` the console's address."""
    limits = replace(limits, connections=files_for(limits.connections))
    server = Server(opening, limits, console)
    host, port = await server.start()
    loop = asyncio.get_running_loop()
    _heed(server.house, server.stop)
    if os.name != "nt":
        loop.add_signal_handler(signal.SIGHUP, server.reload_soon)
    tell(host, port, server.house.name)
    if server.console is not None:
        tell_console(server.console.url)
    await server.run()


async def alone(
    opening: Opening, limits: Limits, analyst: str, tell: Callable[[str], None]
) -> None:
    """The console for one person on their own machine; `tell` gets the link that works once."""
    from probe_sql.serve.console.door import ConsoleDoor

    house = House(opening, replace(limits, connections=files_for(limits.connections)))
    token = secrets.token_urlsafe(24)
    door = ConsoleDoor(house, opening.host, opening.port, token=token, analyst=analyst)
    stopped = asyncio.Event()
    await door.start()
    _heed(house, stopped.set)
    tell(f"{door.url}enter/{token}")
    await live(house, (door,), stopped)


def _heed(house: House, stop: Callable[[], None]) -> None:
    """End on SIGTERM and SIGINT, and log what nobody foresaw.

    Privacy: the text of an exception may hold a private value: its kind is logged, and nothing
    printed.
    """
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, seen: house.surprised(seen.get("exception")))
    if os.name != "nt":
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, stop)
