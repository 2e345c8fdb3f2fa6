"""Messages of PostgreSQL's protocol, version 3: from bytes to values and from values to bytes.

Pure functions. What a client sends and does not keep to the protocol raises `ProtocolError`,
and nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from probe_sql.errors import ProbeError
from probe_sql.serve.complaints import sqlstate
from probe_sql.text import visible

VERSION = 3
_TLS, _GSS, _CANCEL = 80877103, 80877104, 80877102
_INT16 = struct.Struct("!h")
_INT32 = struct.Struct("!i")
_UINT32 = struct.Struct("!I")


class ProtocolError(Exception):
    """The client did not keep to the protocol; the text says how and quotes nothing."""


# --- from the client ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Startup:
    """The first message of a session: who, which database, which settings."""

    minor: int
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TlsRequest:
    """Whether the connection may be encrypted."""


@dataclass(frozen=True, slots=True)
class GssRequest:
    """Whether the connection may be encrypted by GSSAPI."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel what another connection runs."""

    process: int
    key: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class Sasl:
    """A step of logging in, as bytes: what they mean depends on the step."""

    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Query:
    """Statements to run at once."""

    text: str


@dataclass(frozen=True, slots=True)
class Parse:
    """Keep a statement under a name; `types` are the OIDs of its parameters as far as given."""

    name: str
    text: str
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """Give a statement its parameters, and so make a portal. Formats: 0 text, 1 binary."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Describe:
    """Ask what a statement (S) or a portal (P) takes and gives."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Execute:
    """Run a portal, or go on with it, for at most `limit` rows (0: all)."""

    portal: str
    limit: int


@dataclass(frozen=True, slots=True)
class Close:
    """Forget a statement (S) or a portal (P)."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Flush:
    """Send what was answered."""


@dataclass(frozen=True, slots=True)
class Sync:
    """End of a series of messages: an error before it is over."""


@dataclass(frozen=True, slots=True)
class Terminate:
    """The client leaves."""


@dataclass(frozen=True, slots=True)
class Other:
    """A message of the protocol that a server without COPY and functions has no use for."""

    letter: str


First = Startup | TlsRequest | GssRequest | Cancel
Message = (
    Sasl | Query | Parse | Bind | Describe | Execute | Close | Flush | Sync | Terminate | Other
)


class _Body:
    """Reads the parts of a message one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise ProtocolError("a message is shorter than it says")
        part = self._data[self._at : end]
        self._at = end
        return part

    def int16(self) -> int:
        return int(_INT16.unpack(self.take(2))[0])

    def int32(self) -> int:
        return int(_INT32.unpack(self.take(4))[0])

    def uint32(self) -> int:
        return int(_UINT32.unpack(self.take(4))[0])

    def letter(self) -> str:
        return self.take(1).decode("latin-1")

    def text(self) -> str:
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolError("a text in a message does not end")
        part = self.take(end - self._at)
        self._at += 1
        return _utf8(part)

    def many(self, count: int) -> range:
        if count < 0:
            raise ProtocolError("a message holds a negative number of parts")
        return range(count)

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._at)

    def end(self) -> None:
        if self._at != len(self._data):
            raise ProtocolError("a message is longer than its parts")


def decode_first(data: bytes) -> First:
    """Read the first message of a connection, without its length."""
    body = _Body(data)
    code = body.uint32()
    if code == _CANCEL:
        found = Cancel(body.uint32(), body.uint32())
        body.end()
        return found
    if code in (_TLS, _GSS):
        body.end()
        return TlsRequest() if code == _TLS else GssRequest()
    if code >> 16 != VERSION:
        raise ProtocolError("the protocol has version 3 here, and the client speaks another")
    parameters: dict[str, str] = {}
    while name := body.text():
        parameters[name] = body.text()
    body.end()
    return Startup(code & 0xFFFF, parameters)


def decode(letter: bytes, data: bytes) -> Message:
    """Read a later message: its letter, and its body without the length."""
    body = _Body(data)
    message = _decode(letter.decode("latin-1"), body)
    body.end()
    return message


def _decode(letter: str, body: _Body) -> Message:
    match letter:
        case "p":
            return Sasl(body.rest())
        case "Q":
            return Query(body.text())
        case "P":
            name, text = body.text(), body.text()
            return Parse(name, text, tuple(body.uint32() for _ in body.many(body.int16())))
        case "B":
            return _bind(body)
        case "E":
            return Execute(body.text(), body.int32())
        case "D" | "C":
            kind, name = body.letter(), body.text()
            if kind not in ("S", "P"):
                raise ProtocolError("only statements (S) and portals (P) have names")
            return Describe(kind, name) if letter == "D" else Close(kind, name)
        case "H":
            return Flush()
        case "S":
            return Sync()
        case "X":
            return Terminate()
        case "c" | "d" | "f" | "F":
            body.rest()
            return Other(letter)
    raise ProtocolError("a message of an unknown kind")


def _bind(body: _Body) -> Bind:
    portal, statement = body.text(), body.text()
    formats = tuple(body.int16() for _ in body.many(body.int16()))
    values = []
    for _ in body.many(body.int16()):
        size = body.int32()
        values.append(None if size == -1 else body.take(size))
    results = tuple(body.int16() for _ in body.many(body.int16()))
    if not {*formats, *results} <= {0, 1}:
        raise ProtocolError("formats are 0 (text) and 1 (binary)")
    if len(formats) not in (0, 1, len(values)):
        raise ProtocolError("there are more or fewer formats than parameters")
    return Bind(portal, statement, formats, tuple(values), results)


def _utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolError("a text in a message is not UTF-8") from None


# --- to the client -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result: its name, and the OID and size of its type."""

    name: str
    oid: int
    size: int = -1


def message(letter: bytes, body: bytes = b"") -> bytes:
    """A message with its letter and length."""
    return letter + _INT32.pack(len(body) + 4) + body


def _text(text: str) -> bytes:
    return text.replace("\0", "").encode("utf-8", "replace") + b"\0"


def authentication(code: int, body: bytes = b"") -> bytes:
    """A step of logging in: 0 done, 10 the mechanisms, 11 go on, 12 the server's proof."""
    return message(b"R", _INT32.pack(code) + body)


def mechanisms(names: Iterable[str]) -> bytes:
    """The ways to log in."""
    return authentication(10, b"".join(map(_text, names)) + b"\0")


def negotiate(minor: int, unknown: Sequence[str]) -> bytes:
    """Tell a client that speaks a newer protocol what this server knows."""
    return message(b"v", struct.pack("!ii", minor, len(unknown)) + b"".join(map(_text, unknown)))


def parameter_status(name: str, value: str) -> bytes:
    """A setting that clients are told about."""
    return message(b"S", _text(name) + _text(value))


def key_data(process: int, key: int) -> bytes:
    """What a client must show to cancel."""
    return message(b"K", struct.pack("!II", process, key))


def ready(state: str) -> bytes:
    """The server waits: I idle, T in a transaction, E in a failed one."""
    return message(b"Z", state.encode())


def row_description(fields: Sequence[Field], formats: Sequence[int] = ()) -> bytes:
    """The columns of a result."""
    parts = [_INT16.pack(len(fields))]
    for index, one in enumerate(fields):
        code = format_of(formats, index)
        parts.append(_text(one.name) + struct.pack("!ihIhih", 0, 0, one.oid, one.size, -1, code))
    return message(b"T", b"".join(parts))


def format_of(formats: Sequence[int], index: int) -> int:
    """The format of one value: none given is text, one given is for all."""
    if not formats:
        return 0
    return formats[0] if len(formats) == 1 else formats[index]


def data_row(cells: Sequence[bytes | None]) -> bytes:
    """One row; None is NULL."""
    parts = [_INT16.pack(len(cells))]
    for cell in cells:
        parts.append(_INT32.pack(-1) if cell is None else _INT32.pack(len(cell)) + cell)
    return message(b"D", b"".join(parts))


def parameter_description(oids: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return message(b"t", _INT16.pack(len(oids)) + b"".join(map(_UINT32.pack, oids)))


def command_complete(tag: str) -> bytes:
    """A statement has ended."""
    return message(b"C", _text(tag))


def report(
    letter: bytes,
    severity: str,
    code: str,
    text: str,
    *,
    detail: str | None = None,
    hint: str | None = None,
    position: int | None = None,
) -> bytes:
    """An error (E) or a notice (N), with why, what would work, and the position in the query."""
    parts = {
        "S": severity,
        "V": severity,
        "C": code,
        "M": text,
        "D": detail,
        "H": hint,
        "P": None if position is None else str(position),
    }
    fields = (key.encode() + _text(value) for key, value in parts.items() if value)
    return message(letter, b"".join(fields) + b"\0")


PARSE_COMPLETE = message(b"1")
BIND_COMPLETE = message(b"2")
CLOSE_COMPLETE = message(b"3")
NO_DATA = message(b"n")
EMPTY_QUERY = message(b"I")
PORTAL_SUSPENDED = message(b"s")


def error_report(error: BaseException, *, fatal: bool = False) -> bytes:
    """An error for the client; its span is one of the client's text.

    Privacy: the text of an error that is not ours may hold a private value, and is not sent.
    """
    severity = "FATAL" if fatal else "ERROR"
    if isinstance(error, ProtocolError):
        return report(b"E", "FATAL", "08P01", str(error))
    if not isinstance(error, ProbeError):
        return report(
            b"E",
            severity,
            "XX000",
            f"something unforeseen happened ({type(error).__name__})",
            detail="its details are not shown, because they could hold private values",
            hint="report it to the owner of the server, with the query",
        )
    return report(
        b"E",
        severity,
        sqlstate(error),
        visible(error.what),
        detail=_shown(error.why),
        hint=_shown(error.fix),
        position=None if error.span is None else error.span.start + 1,
    )


def notice(text: str, severity: str = "NOTICE") -> bytes:
    """A remark beside a result."""
    code = "01000" if severity == "WARNING" else "00000"
    return report(b"N", severity, code, visible(text))


def _shown(text: str | None) -> str | None:
    return None if text is None else visible(text)
