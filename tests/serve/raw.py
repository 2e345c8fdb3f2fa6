"""A client that sends any bytes: for what well-behaved clients never do."""

from __future__ import annotations

import socket
import ssl
import struct
from typing import Any, Self

import scramp


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def message(letter: str, body: bytes = b"") -> bytes:
    return letter.encode() + struct.pack("!i", len(body) + 4) + body


def query(sql: str) -> bytes:
    return message("Q", text(sql))


def parse(name: str, sql: str, *oids: int) -> bytes:
    return message("P", text(name) + text(sql) + struct.pack(f"!h{len(oids)}I", len(oids), *oids))


def bind(portal: str, name: str, *values: bytes, results: tuple[int, ...] = ()) -> bytes:
    cells = b"".join(struct.pack("!i", len(value)) + value for value in values)
    head = text(portal) + text(name) + struct.pack("!hh", 0, len(values)) + cells
    return message("B", head + struct.pack(f"!h{len(results)}h", len(results), *results))


def describe(kind: str, name: str) -> bytes:
    return message("D", kind.encode() + text(name))


def execute(portal: str, limit: int = 0) -> bytes:
    return message("E", text(portal) + struct.pack("!i", limit))


SYNC = message("S")
TLS_REQUEST = struct.pack("!ii", 8, 80877103)


def startup(**parameters: str) -> bytes:
    body = b"".join(text(name) + text(value) for name, value in parameters.items()) + b"\0"
    return struct.pack("!ii", len(body) + 8, 196608) + body


class Raw:
    """A connection as bytes; messages come back as (letter, body)."""

    def __init__(self, host: str, port: int, patience: float = 20.0) -> None:
        self.socket: socket.socket = socket.create_connection((host, port), patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *parts: bytes) -> None:
        self.socket.sendall(b"".join(parts))

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def receive(self) -> tuple[str, bytes]:
        head = self.read(5)
        return head[:1].decode(), self.read(struct.unpack("!i", head[1:])[0] - 4)

    def until(self, letter: str = "Z") -> list[tuple[str, bytes]]:
        """The messages up to the first of a kind, or up to the end of the connection."""
        found: list[tuple[str, bytes]] = []
        try:
            while not found or found[-1][0] != letter:
                found.append(self.receive())
        except (EOFError, ConnectionError):
            found.append(("", b""))
        return found

    def letters(self, letter: str = "Z") -> str:
        return "".join(kind for kind, _ in self.until(letter))

    def encrypt(self) -> None:
        self.send(TLS_REQUEST)
        assert self.read(1) == b"S"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        self.socket = context.wrap_socket(self.socket)

    def enter(self, user: str) -> list[tuple[str, bytes]]:
        """Begin a session where no password is asked for; returns the messages after it."""
        self.send(startup(user=user, database="clinic"))
        return self.until()

    def log_in(
        self, user: str, password: str, leave: bool = False, **more: str
    ) -> list[tuple[str, bytes]]:
        """Log in; returns the messages after it. `leave`: stop once the proof was sent."""
        self.send(startup(user=user, database="clinic", **more))
        kind, body = self.receive()
        if kind != "R":
            return [(kind, body)]
        assert body == struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"
        client = scramp.ScramClient(["SCRAM-SHA-256"], user, password)
        first = client.get_client_first().encode()
        self.send(message("p", text("SCRAM-SHA-256") + struct.pack("!i", len(first)) + first))
        kind, body = self.receive()
        if kind != "R":
            return [(kind, body)]
        client.set_server_first(body[4:].decode())
        self.send(message("p", client.get_client_final().encode()))
        return [] if leave else self.until()


def fields(body: bytes) -> dict[str, str]:
    """The fields of an error or a notice."""
    return {
        part[:1].decode(): part[1:].decode() for part in body.rstrip(b"\0").split(b"\0") if part
    }


def error_of(messages: list[tuple[str, bytes]]) -> dict[str, Any]:
    return next(fields(body) for kind, body in messages if kind == "E")
