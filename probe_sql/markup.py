"""HTML and SVG made of elements: text inside of them is escaped, whoever wrote it.

What is not made here is text. An f-string of pieces is text again and is escaped as a whole, so
that forgetting about it shows, and never lets anything through.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

from probe_sql.text import in_html, visible_lines

_VOID = frozenset(["br", "circle", "hr", "img", "input", "line", "link", "meta", "path", "rect"])


class Html(str):
    """Markup that `tag` and its like have made; anything else counts as text."""

    __slots__ = ()


Child: TypeAlias = "str | Iterable[Child] | None"


def tag(name: str, /, *children: Child, **attributes: Any) -> Html:
    """One element; children are elements, text, which is escaped, or lists of both.

    Attributes: `class_` is class, `aria_label` is aria-label. True has no value; None and False
    leave the attribute out.
    """
    said = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID and not children:
        return Html(f"<{name}{said}/>")
    return Html(f"<{name}{said}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Elements and texts one behind the other."""
    return Html("".join(map(_child, children)))


def block(text: str) -> Html:
    """Text with its line breaks, for an element that keeps them."""
    return Html("\n".join(in_html(line) for line in visible_lines(text).split("\n")))


def verbatim(text: str) -> Html:
    """Text exactly as it is, for a field that is sent back: only what HTML reads is escaped."""
    for character, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        text = text.replace(character, escaped)
    return Html(text)


def data(value: Any) -> Html:
    """JSON inside a script element that is no script; no end of an element can stand in it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return str(child)
    if isinstance(child, str):
        return in_html(child)
    return "".join(map(_child, child))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{in_html(str(value))}"'
