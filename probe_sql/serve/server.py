"""The process that holds the data: a house, its doors, and an end in good order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import replace

from probe_sql.serve.house import Door, House
from probe_sql.serve.limits import Limits, files_for
from probe_sql.serve.opening import Opening
from probe_sql.serve.postgres.door import PostgresDoor

_GLANCE = 0.5  # seconds between two looks at the users' file, and at who is idle


class Server:
    """A house with all its doors. Use: `await start()`, then `await run()`."""

    def __init__(self, opening: Opening, limits: Limits | None = None) -> None:
        self.house = House(opening, limits or Limits())
        self.postgres = PostgresDoor(self.house, opening.host, opening.port)
        self._doors: tuple[Door, ...] = (self.postgres,)
        self._stopped = asyncio.Event()
        self._reloads: set[asyncio.Task[None]] = set()

    async def start(self) -> tuple[str, int]:
        """Listen; returns the address of PostgreSQL's protocol."""
        return await self.postgres.start()

    async def run(self) -> None:
        """Serve until `stop`, looking at users and guests from time to time; then end in order."""
        try:
            while not self._stopped.is_set():
                self.house.look_at_users()
                self.house.look_at_guests()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), _GLANCE)
        finally:
            for door in self._doors:
                door.shut()
            await self.house.empty()
            for door in self._doors:
                await door.close()
            self.house.close()

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


async def serve(opening: Opening, limits: Limits, tell: Callable[[str, int, str], None]) -> None:
    """Serve until SIGTERM or SIGINT; `tell` gets the address and the database's name."""
    server = Server(opening, replace(limits, connections=files_for(limits.connections)))
    host, port = await server.start()
    loop = asyncio.get_running_loop()
    # The text of an exception may hold a private value: its kind is logged, and nothing printed.
    loop.set_exception_handler(lambda _, seen: server.house.surprised(seen.get("exception")))
    if os.name != "nt":
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, server.stop)
        loop.add_signal_handler(signal.SIGHUP, server.reload_soon)
    tell(host, port, server.house.name)
    await server.run()
