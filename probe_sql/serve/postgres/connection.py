"""One client from its first byte to its last: startup, login by SCRAM, messages, errors."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

import scramp

from probe_sql.errors import ProbeError
from probe_sql.serve.complaints import Complaint, sqlstate
from probe_sql.serve.guest import Guest
from probe_sql.serve.house import House, Visit
from probe_sql.serve.patience import WrongPassword
from probe_sql.serve.postgres import messages as m
from probe_sql.serve.postgres import types
from probe_sql.serve.postgres.desk import Desk, Means
from probe_sql.serve.postgres.messages import ProtocolError, error_report, notice
from probe_sql.serve.postgres.portals import Result, Row, check_formats
from probe_sql.serve.postgres.settings import Settings, options_of
from probe_sql.serve.postgres.wire import Gone, Wire
from probe_sql.serve.users import Verifier, normal

MECHANISM = "SCRAM-SHA-256"


class Login:
    """The server's side of one exchange of SCRAM.

    Privacy: the steps and their lengths are the same for a name that is not known, whose
    verifier no password fits.
    """

    def __init__(self, verifier: Verifier) -> None:
        keys = (verifier.salt, verifier.stored_key, verifier.server_key, verifier.iterations)
        self._server = scramp.ScramMechanism(MECHANISM).make_server(lambda _: keys)

    def first(self, body: bytes) -> bytes:
        """Answer the first message: the mechanism's name, and the client's nonce."""
        name, _, rest = body.partition(b"\0")
        if name != MECHANISM.encode() or len(rest) < 4:
            raise ProtocolError("the only way to log in is SCRAM-SHA-256")
        text = _ascii(rest[4:])
        # Clients of PostgreSQL leave the name empty, since the startup message had it. The library
        # wants one, so it gets one; the proof is about what the client sent.
        header, comma, bare = text.partition(",,")
        named = "n=*" + bare[2:] if bare.startswith("n=,") else bare
        try:
            self._server.set_client_first(header + comma + named)
            self._server.client_first_bare = bare
            return str(self._server.get_server_first()).encode()
        except scramp.ScramException:
            raise ProtocolError("the first message of SCRAM cannot be read") from None

    def last(self, body: bytes) -> bytes:
        """Check the client's proof and give the server's; raises `Refused` if it is wrong."""
        try:
            self._server.set_client_final(_ascii(body))
            return str(self._server.get_server_final()).encode()
        except (scramp.ScramException, ValueError):
            raise WrongPassword from None


def _ascii(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolError("a message of SCRAM is not text") from None


def new_key() -> int:
    """What a client must show to cancel, from the operating system's randomness."""
    return secrets.randbits(32)


_CHUNK = 1 << 15  # bytes of rows that are sent at a time
_NO_SETTINGS = frozenset({"user", "database", "options", "replication"})


class Porch(Protocol):
    """What a conversation needs of its door."""

    house: House
    means: Means

    async def encrypt(self, wire: Wire) -> None:
        """Answer a request for TLS, and go on with it where there is a certificate."""

    async def cancel(self, address: str, wanted: m.Cancel) -> None:
        """Cancel what another conversation runs, if the key is right."""


class Conversation:
    """The state machine of one connection."""

    def __init__(self, wire: Wire, porch: Porch, visit: Visit, process: int) -> None:
        self._wire = wire
        self._porch = porch
        self._house = porch.house
        self._limits = porch.house.limits
        self._visit = visit
        self._task: asyncio.Task[None] | None = None
        self._skipping = False
        self._ending: Complaint | None = None
        self._came = 0.0  # when the message came that is being handled
        self.process = process
        self.key = new_key()
        self.guest: Guest | None = None  # None until the login is over
        self.desk: Desk | None = None

    # --- from outside ---

    def leave(self, ending: Complaint | None = None) -> None:
        """End this conversation, in which nothing runs."""
        if self._ending is None:
            self._ending = ending or (None if self.guest is None else self.guest.over)
            if self._task is not None:
                self._task.cancel()

    async def run(self) -> None:
        """Talk with the client until either leaves."""
        self._task = asyncio.current_task()
        try:
            async with asyncio.timeout(self._limits.login_seconds):
                begun = await self._begin()
            if begun:
                await self._talk()
        except (Gone, TimeoutError):
            pass
        except (ProtocolError, ProbeError) as error:
            if error is not self._ending:
                self._wire.write(error_report(error, fatal=True))
        except asyncio.CancelledError:
            if self._ending is None:
                raise
        finally:
            if self._ending is not None:
                self._wire.write(error_report(self._ending, fatal=True))
            self._wire.close()
            if self.desk is not None:
                self.desk.end_portals()
            if self.guest is not None:
                await self._house.leave(self.guest)

    # --- startup and login ---

    async def _begin(self) -> bool:
        """Everything until the client may ask; False where it only wanted to cancel."""
        startup = await self._startup()
        if startup is None:
            return False
        parameters = startup.parameters
        if self._house.tls_required and not self._wire.encrypted:
            raise Complaint(
                "28000", "this server takes encrypted connections only", fix="sslmode=require"
            )
        user = normal(parameters.get("user", ""))  # one name, however it is written
        if not user:
            raise Complaint("28000", "no user is named", fix="user=maria")
        unknown = [name for name in parameters if name.startswith("_pq_.")]
        if startup.minor or unknown:
            self._wire.write(m.negotiate(0, unknown))
        database = parameters.get("database", user)
        verifier = await self._log_in(user) if self._house.login else None
        self._wire.write(m.authentication(0))
        settings = Settings(user)
        self._configure(settings, parameters)
        if database != self._house.name:
            raise Complaint(
                "3D000", f'database "{database}" does not exist', fix=f"dbname={self._house.name}"
            )
        self._house.recognise(self._visit, user)
        self.guest = self._house.enter(
            user, verifier, ended=self.leave, present=lambda: self._wire.alive
        )
        self.desk = Desk(self.guest, settings, self._porch.means)
        for name, value in settings.reported().items():
            self._wire.write(m.parameter_status(name, value))
        self._wire.write(m.key_data(self.process, self.key) + m.ready(self.desk.state))
        self._house.log("session", user=user, address=self._wire.address, process=self.process)
        return True

    async def _startup(self) -> m.Startup | None:
        for _ in range(4):  # GSS, TLS, and the startup itself: nobody needs more
            size = struct.unpack("!I", await self._wire.read(4))[0]
            if not 8 <= size <= self._limits.login_bytes:
                raise ProtocolError("the first message has an impossible length")
            first = m.decode_first(await self._wire.read(size - 4))
            match first:
                case m.Startup():
                    return first
                case m.Cancel():
                    await self._porch.cancel(self._wire.address, first)
                    return None
                case m.GssRequest():
                    self._wire.write(b"N")
                case m.TlsRequest():
                    if self._wire.encrypted:
                        raise ProtocolError("the connection is encrypted already")
                    await self._porch.encrypt(self._wire)
        raise ProtocolError("too many requests before the startup message")

    async def _log_in(self, user: str) -> Verifier:
        verifier = self._house.verifier(user)
        login = Login(verifier)
        self._wire.write(m.mechanisms([MECHANISM]))
        self._wire.write(m.authentication(11, login.first(await self._sasl())))
        given = await self._sasl()
        async with self._house.attempt(user, self._wire.address, lambda: self._wire.alive):
            proof = login.last(given)
            self._house.confirm(user, verifier)
        self._wire.write(m.authentication(12, proof))
        return verifier

    async def _sasl(self) -> bytes:
        message = await self._message(self._limits.login_bytes)
        if not isinstance(message, m.Sasl):
            raise ProtocolError("a message of another kind came while logging in")
        return message.body

    def _configure(self, settings: Settings, parameters: Mapping[str, str]) -> None:
        if parameters.get("replication", "false").lower() not in ("false", "off", "no", "0"):
            raise Complaint("0A000", "there is no replication here")
        wanted = options_of(parameters.get("options", ""))
        wanted |= {
            name: value
            for name, value in parameters.items()
            if name not in _NO_SETTINGS and not name.startswith("_pq_.")
        }
        for name, value in wanted.items():
            settings.set(name, value)

    # --- messages ---

    async def _message(self, most: int) -> m.Message:
        head = await self._wire.read(5)
        size = struct.unpack("!I", head[1:])[0] - 4
        if not 0 <= size <= most:
            raise ProtocolError("a message has an impossible length")
        async with asyncio.timeout(self._limits.message_seconds):
            return m.decode(head[:1], await self._wire.read(size))

    def _go_on(self) -> None:
        """Raise where the conversation is to end: nothing more is begun, charged or sent."""
        assert self.guest is not None
        if self.guest.over is not None:
            self._ending = self.guest.over
            raise self._ending

    async def _talk(self) -> None:
        assert self.guest is not None
        while True:
            self._go_on()
            message = await self._message(self._limits.message_bytes)
            if isinstance(message, m.Terminate):
                return
            with self.guest.busy():
                await self._answer(message)
                await asyncio.sleep(0)  # others have a turn, however many messages came at once

    async def _answer(self, message: m.Message) -> None:
        """Handle one message, and wait until the client has read enough of what it gives."""
        # Between an error and Sync nothing is executed, so nothing is charged.
        if self._skipping and not isinstance(message, m.Sync):
            return
        self._came = asyncio.get_running_loop().time()
        try:
            await self._handle(message)
        except (Gone, ProtocolError, TimeoutError):
            raise
        except Exception as error:
            if error is self._ending:
                raise
            self._fail(error, message)
        await self._drain()

    def _fail(self, error: Exception, message: m.Message) -> None:
        assert self.desk is not None
        self.desk.failed()
        code = sqlstate(error) if isinstance(error, ProbeError) else type(error).__name__
        self._house.log("error", user=self.desk.guest.user, process=self.process, code=code)
        self._wire.write(error_report(error))
        if isinstance(message, m.Query):
            self._ready()
        else:
            self._skipping = True

    def _ready(self) -> None:
        """Say that the next question may come, and send all that was said before it."""
        assert self.desk is not None
        self._wire.write(m.ready(self.desk.state))
        self._wire.flush()

    async def _drain(self) -> None:
        async with asyncio.timeout(self._limits.message_seconds):
            await self._wire.drain()
        self._go_on()

    async def _handle(self, message: m.Message) -> None:
        desk, write = self.desk, self._wire.write
        assert desk is not None
        match message:
            case m.Query(text):
                await self._query(text)
                self._ready()
            case m.Parse(name, text, declared):
                await desk.parse(name, text, declared)
                write(m.PARSE_COMPLETE)
            case m.Bind():
                desk.bind(message)
                write(m.BIND_COMPLETE)
            case m.Describe("S", name):
                oids, fields = await desk.describe_statement(name)
                write(m.parameter_description(oids))
                write(m.NO_DATA if fields is None else m.row_description(fields))
            case m.Describe(_, name):
                fields, formats = await desk.describe_portal(name)
                write(m.NO_DATA if fields is None else m.row_description(fields, formats))
            case m.Execute(name, limit):
                await self._execute(name, limit)
            case m.Close(kind, name):
                desk.close(kind, name)
                write(m.CLOSE_COMPLETE)
            case m.Sync():
                self._skipping = False
                desk.sync()
                self._ready()
            case m.Flush():
                self._wire.flush()
            case m.Other():
                raise Complaint("0A000", "COPY and function calls are not supported")
            case _:
                raise ProtocolError("a message of this kind has no place here")

    async def _query(self, text: str) -> None:
        assert self.desk is not None
        found = await self.desk.read(text)
        if not found:
            self._wire.write(m.EMPTY_QUERY)
        for statement in found:
            self._go_on()
            told = self.desk.settings.reported()
            async with self._in_step(self.desk.may_scan(statement)):
                result = await self.desk.run(statement)
            self._go_on()
            self._remark(result, told)
            if result.fields is not None:
                self._wire.write(m.row_description(result.fields))
                await self._rows(result, result.rows, ())
            self._wire.write(m.command_complete(result.tag))
            await asyncio.sleep(0)  # others have a turn, however many statements there are

    async def _execute(self, name: str, limit: int) -> None:
        assert self.desk is not None
        told = self.desk.settings.reported()
        paced = await self.desk.portal_may_scan(name)
        self._go_on()
        async with self._in_step(paced):
            part = await self.desk.execute(name, limit)
        self._go_on()
        self._remark(part.result, told)
        await self._rows(part.result, part.rows, part.formats)
        if part.tag is None:
            self._wire.write(m.PORTAL_SUSPENDED)
        else:
            self._wire.write(m.command_complete(part.tag) if part.tag else m.EMPTY_QUERY)

    @contextlib.asynccontextmanager
    async def _in_step(self, paced: bool) -> AsyncIterator[None]:
        """Leave the block in step with the guest's pace, if what runs may scan."""
        assert self.guest is not None
        if not paced:
            yield
            return
        try:
            async with self.guest.in_step(self._came):
                yield
        finally:
            self._came = asyncio.get_running_loop().time()

    def _remark(self, result: Result, told: Mapping[str, str]) -> None:
        assert self.desk is not None
        for text in result.notices:
            self._wire.write(notice(text))
        if result.charged:
            self._house.log("answer", user=self.desk.guest.user, process=self.process)
        for name, value in self.desk.settings.reported().items():
            if told[name] != value:
                self._wire.write(m.parameter_status(name, value))

    async def _rows(self, result: Result, rows: Sequence[Row], formats: Sequence[int]) -> None:
        fields = result.fields or ()
        check_formats(formats, len(fields))
        binary = [m.format_of(formats, index) == 1 for index in range(len(fields))]
        waiting = bytearray()
        for row in rows:
            waiting += m.data_row(
                [
                    types.encode(value, field.oid, as_binary)
                    for value, field, as_binary in zip(row, fields, binary, strict=True)
                ]
            )
            if len(waiting) > _CHUNK:
                self._wire.write(bytes(waiting))
                waiting.clear()
                await self._drain()
        self._wire.write(bytes(waiting))
