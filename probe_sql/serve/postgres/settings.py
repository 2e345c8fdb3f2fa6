"""The settings of a session: those of PostgreSQL's clients, and the accuracy of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from probe_sql import __version__
from probe_sql.accuracy import Accuracy
from probe_sql.errors import AccuracyError, InterfaceError, NotSupportedError
from probe_sql.options import OPTIONS, updated

SERVER_VERSION = "15.0"
_BY_NAME = {"margin": '{"n": 50}', "ranges": '{"count(*)": 1000}'}
_FIXED = {
    "server_version": f"{SERVER_VERSION} (probe-sql {__version__})",
    "server_version_num": "150000",
    "server_encoding": "UTF8",
    "integer_datetimes": "on",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "standard_conforming_strings": "on",
    "transaction_read_only": "on",
    "max_identifier_length": "63",
    "lc_collate": "C",
    "lc_ctype": "C",
    "transaction_isolation": "serializable",
    "ssl_renegotiation_limit": "0",
}
_FREE = {
    "application_name": "",
    "client_encoding": "UTF8",
    "datestyle": "ISO, MDY",
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "search_path": "public",
    "statement_timeout": "0",
    "client_min_messages": "notice",
    "bytea_output": "hex",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "row_security": "on",
    "default_transaction_read_only": "on",
    "default_transaction_isolation": "serializable",
    "jit": "off",
    "geqo": "off",
    "synchronous_commit": "on",
    "escape_string_warning": "on",
}
_REPORTED = {
    "application_name": "application_name",
    "client_encoding": "client_encoding",
    "datestyle": "DateStyle",
    "timezone": "TimeZone",
    "intervalstyle": "IntervalStyle",
    "server_version": "server_version",
    "server_encoding": "server_encoding",
    "integer_datetimes": "integer_datetimes",
    "is_superuser": "is_superuser",
    "standard_conforming_strings": "standard_conforming_strings",
    "in_hot_standby": "in_hot_standby",
    "session_authorization": "session_authorization",
    "default_transaction_read_only": "default_transaction_read_only",
}
OWN = "probe."  # before the names of our settings, and of our tables
_LONGEST = 1000
_UNITS = {"": 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}


class Settings:
    """The settings of one session; nothing here changes who asks or who pays."""

    def __init__(self, user: str) -> None:
        self._fixed = {**_FIXED, "session_authorization": user, "role": "none"}
        self._free: dict[str, str] = dict(_FREE)
        self.accuracy: dict[str, Any] = {}

    def reported(self) -> Mapping[str, str]:
        """What clients are told, by the names that they know."""
        return {shown: self.show(name) for name, shown in _REPORTED.items()}

    def show(self, name: str) -> str:
        """The value of a setting."""
        name = name.lower()
        known = self._fixed | self._free
        if name in known:
            return known[name]
        option = name.removeprefix(OWN)
        if name.startswith(OWN) and option in OPTIONS:
            value = self.accuracy.get(option, "")
            return json.dumps(value) if isinstance(value, dict) else str(value)
        raise _unknown(name)

    def everything(self) -> Mapping[str, str]:
        """All settings, for SHOW ALL."""
        accuracy = {OWN + name: self.show(OWN + name) for name in OPTIONS}
        return dict(sorted({**self._fixed, **self._free, **accuracy}.items()))

    def set(self, name: str, value: str | None) -> None:
        """Set a setting as text; None gives it back its default."""
        name = name.lower()
        if value is not None and len(value) > _LONGEST:
            raise InterfaceError(f"the value of {name} is too long", fix="shorten it")
        if name.startswith(OWN):
            self._set_accuracy(name.removeprefix(OWN), value)
        elif name in self._fixed:
            if value is not None and value.lower() == self._fixed[name].lower():
                return
            raise NotSupportedError(f"{name} cannot be changed", fix=f"SHOW {name}")
        elif name in self._free:
            self._free[name] = _FREE[name] if value is None else _accepted(name, value)
        else:
            raise _unknown(name)

    def _set_accuracy(self, name: str, value: str | None) -> None:
        if name not in OPTIONS and name != "ranges":
            raise AccuracyError(
                f"there is no setting probe.{name}",
                fix=f"use one of {', '.join(OWN + known for known in OPTIONS)}",
            )
        if value is None or value == "":
            self.accuracy.pop(name, None)
        else:
            self.accuracy[name] = _checked(name, value)

    def reset(self) -> None:
        """Give everything back its default."""
        self._free = dict(_FREE)
        self.accuracy = {}

    def copy(self) -> tuple[dict[str, str], dict[str, Any]]:
        """What `restore` takes back."""
        return dict(self._free), dict(self.accuracy)

    def restore(self, kept: tuple[dict[str, str], dict[str, Any]]) -> None:
        """Go back to what `copy` gave."""
        self._free, self.accuracy = dict(kept[0]), dict(kept[1])

    @property
    def patience(self) -> float | None:
        """The seconds that the client gives a statement; None for no limit."""
        found = re.fullmatch(r"(\d{1,12})\s*(ms|s|min|h)?", self._free["statement_timeout"])
        assert found is not None
        return int(found[1]) * _UNITS[found[2] or ""] / 1000 or None


def options_of(text: str) -> dict[str, str]:
    """The settings in the `options` of a startup message: `-c name=value`, `--name=value`."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r"(?:\\.|\S)+", text)]
    found: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word == "-c" and words:
            word = words.pop(0)
        elif word.startswith("-c"):
            word = word[2:]
        elif word.startswith("--"):
            word = word[2:].replace("-", "_")
        else:
            raise InterfaceError("options takes settings only", fix="options='-c probe.fdr=0.05'")
        name, equals, value = word.partition("=")
        if not equals:
            raise InterfaceError("an option has no value", fix="options='-c probe.fdr=0.05'")
        found[name] = value
    return found


def _accepted(name: str, value: str) -> str:
    """A value that this server can keep its word about."""
    if name == "client_encoding" and re.sub(r"[^a-z0-9]", "", value.lower()) not in (
        "utf8",
        "unicode",
    ):
        raise NotSupportedError(
            "the only client_encoding is UTF8", fix="SET client_encoding = UTF8"
        )
    if name == "datestyle" and not value.upper().startswith("ISO"):
        raise NotSupportedError("dates are written in the ISO style", fix="SET DateStyle = ISO")
    if name == "statement_timeout" and not re.fullmatch(r"\d{1,12}\s*(ms|s|min|h)?", value):
        raise InterfaceError("statement_timeout is a time", fix="SET statement_timeout = '30s'")
    return "UTF8" if name == "client_encoding" else value


def _checked(name: str, value: str) -> Any:
    """The value of an option, or of each column or aggregate as an object of JSON."""
    if name in _BY_NAME and value.lstrip().startswith("{"):
        try:
            named = json.loads(value)
        except ValueError:
            raise InterfaceError(
                f"probe.{name} is no object of JSON", fix=f"SET probe.{name} = '{_BY_NAME[name]}'"
            ) from None
        updated(Accuracy(), {name: named})
        return named
    if name in OPTIONS:
        return OPTIONS[name].check(_typed(value))
    raise AccuracyError(
        "ranges must map aggregates to numbers", fix=f"SET probe.ranges = '{_BY_NAME[name]}'"
    )


def _typed(value: str) -> Any:
    if value.lower() in ("true", "false", "on", "off"):
        return value.lower() in ("true", "on")
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def _unknown(name: str) -> InterfaceError:
    return InterfaceError(f"there is no setting {name}", fix="SHOW ALL lists them")
