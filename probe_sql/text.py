"""Names, counts and text that somebody else wrote: compared, spelled and shown in one way each.

A query's text, a name in it, a key of a table or a path may hold characters that steer a
terminal, hide or reorder what is read, or make a spreadsheet run a formula. Every writer for
people passes such text through one of these functions; answers as Python values and files of
JSON keep it whole.
"""

from __future__ import annotations

import difflib
import html
import json
import math
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

# Letters, marks and symbols to Unicode, and nothing to the eye. Controls, formats (bidirectional
# ones among them), separators, surrogates and what is not assigned are not printable to Python.
_UNSEEN = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # the wide forms count in some locales
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&$@#])")


_CLOSE = 0.72  # by difflib: mdoe and mode are .75 alike, read_text and greatest .71


def normal_name(name: str) -> str:
    """The form in which two spellings of one SQL name are equal."""
    return name.lower()


def suggest(word: str, known: Iterable[str]) -> str | None:
    """The known name that `word` most likely misspells; None where none is near."""
    originals = {normal_name(name): name for name in known}
    close = difflib.get_close_matches(normal_name(word), originals, n=1, cutoff=_CLOSE)
    return originals[close[0]] if close else None


def plural(number: int, noun: str, many: str | None = None) -> str:
    """A count with its noun: 1 row, 2,000 rows."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def price(epsilon: float) -> str:
    """An epsilon as people read it: three decimals, and never 0.000 for what is not nothing."""
    return "< 0.001" if 0 < epsilon < 0.0005 else f"{epsilon:.3f}"


def limit(epsilon: float) -> str:
    """An epsilon that somebody chose: at most three decimals, none that say nothing."""
    return "< 0.001" if 0 < epsilon < 0.0005 else f"{epsilon:.3f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{100 * share:.6g} %"


def number(value: float) -> str:
    """A number as people read it: thousands separated, some six digits, no exponent to 10^15."""
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value) or abs(value) >= 1e15 or 0 < abs(value) < 1e-4:
        return f"{value:,.6g}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 1
    text = f"{value:,.{max(0, 6 - whole)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def outward(value: float, upward: bool) -> str:
    """A limit to some six digits, rounded so that what it bounds stays on its side."""
    if not math.isfinite(value) or value == int(value):
        return number(value) if not math.isfinite(value) else f"{int(value):,}"
    places = max(0, 5 - math.floor(math.log10(abs(value))))
    way = ROUND_CEILING if upward else ROUND_FLOOR
    step = Decimal(1).scaleb(-places)
    return f"{Decimal(value).quantize(step, rounding=way).normalize():,f}"


def with_margin(value: float, margin: float) -> tuple[str, str]:
    """A value and its margin, both to the same place: the second figure of the margin.

    Utility: the margin grows by what rounding moves the value and is rounded up, so that what
    lies within the one lies within the other.
    """
    if not math.isfinite(value) or not math.isfinite(margin) or margin >= 1e15:
        return number(value), number(margin)
    if isinstance(value, int) and (margin >= 10 or margin == int(margin)):
        return f"{value:,}", f"{math.ceil(margin):,}"
    if not margin:
        return number(value), "0"
    places = _places(margin)
    near = round(value, places)
    step = 10.0**-places
    wide = math.ceil((margin + abs(value - near)) / step * (1 - 1e-12)) * step
    shown = f"{value:,}.{places * '0'}" if isinstance(value, int) else f"{near:,.{places}f}"
    return shown, f"{wide:,.{places}f}"


def _places(margin: float | Fraction) -> int:
    """The decimal places of the second figure of a margin."""
    return min(max(1 - math.floor(math.log10(margin)), 0), 12)


def inside(margin: float) -> float:
    """The widest half-width, but for rounding, that is printed as at most `margin` beside a value
    that is rounded: it leaves room for half a step of the place to which both are.

    With less than 10, 100, ... one more place is printed.
    """
    if not 1e-9 < margin < 1e15:
        return margin
    asked, places = Fraction(margin) * (1 + Fraction(1, 10**12)), _places(margin)
    step = Fraction(1, 10**places)
    found = asked // step * step - step / 2
    lowest = Fraction(10) ** (1 - places)  # with so many places
    if found < lowest:
        found = min(lowest * (1 - Fraction(1, 10**9)), asked // (step / 10) * step / 10 - step / 20)
    return float(found) * (1 - 1e-15)


def printed(margin: float) -> float:
    """The widest margin that a half-width is printed as, beside whatever value."""
    if not 1e-9 < margin < 1e15:
        return margin
    step = Fraction(1, 10 ** _places(margin))
    return float(math.ceil(Fraction(margin) / step + Fraction(1, 2)) * step)


def seen(character: str) -> bool:
    """Whether a character shows itself: printable, and neither invisible nor a control."""
    return character.isprintable() and character not in _UNSEEN


def visible(text: str) -> str:
    """`text` on one line, with whatever does not show itself spelled out as \\uXXXX.

    Applying it twice is the same as once. A backslash stays as it is: the result is for
    reading, and JSON is for machines.
    """
    if text.isprintable() and (text.isascii() or not any(c in _UNSEEN for c in text)):
        return text
    return "".join(c if seen(c) else _spelled(c) for c in text)


def visible_lines(text: str) -> str:
    """`text` as a block: with its line breaks, and whatever does not show itself spelled out."""
    return "\n".join(map(visible, text.split("\n")))


def csv_field(value: Any) -> Any:
    """A value as a CSV field: text is visible and never begins as a formula does.

    A spreadsheet runs fields that begin with = + - or @; an apostrophe before them makes it
    text. Numbers and dates stay what they are, None is an empty field.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return "'" + shown if value.strip().startswith(_FORMULA) else shown


def markdown(text: str) -> str:
    """`text` inside a line or a cell of Markdown, without any markup of its own."""
    return _MARKDOWN.sub(r"\\\1", visible(text))


def in_html(text: str) -> str:
    """`text` inside an element of HTML."""
    return html.escape(visible(text))


def in_json(value: Any, default: Callable[[Any], Any]) -> str:
    """One JSON value, readable by people and whole for machines: escapes keep the text."""
    text = json.dumps(value, default=default, ensure_ascii=False, allow_nan=False, indent=2)
    if text.replace("\n", "").isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or seen(c) else json.dumps(c)[1:-1] for c in text)


def _spelled(character: str) -> str:
    code = ord(character)
    return _SHORT.get(character) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
