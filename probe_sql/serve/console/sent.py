"""What a request carries: the fields of a form or of a script, and where a list begins."""

from __future__ import annotations

import contextlib
import json
from urllib.parse import parse_qsl

from starlette.requests import Request

_MOST_FIELDS = 40


async def fields(request: Request) -> dict[str, str]:
    """What a form or a script sent, as texts. The token of a script is in a header."""
    known = getattr(request.state, "fields", None)
    if isinstance(known, dict):
        return known
    body = (await request.body()).decode("utf-8", "replace")
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    found: dict[str, str] = {}
    if kind == "application/json":
        with contextlib.suppress(ValueError, AttributeError, RecursionError):
            found = {str(name): str(value) for name, value in json.loads(body).items()}
        found["csrf"] = request.headers.get("x-csrf", "")
    elif kind == "application/x-www-form-urlencoded":
        with contextlib.suppress(ValueError):
            found = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    # Browsers send line breaks of a field as two characters; half a character is none.
    found = {_whole(name): _whole(text.replace("\r\n", "\n")) for name, text in found.items()}
    request.state.fields = found
    return found


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def start_of(request: Request) -> int:
    """The first line of a page of a long list."""
    text = request.query_params.get("from", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
