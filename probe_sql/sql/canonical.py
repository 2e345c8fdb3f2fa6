"""One canonical form of expressions and of the facts around them, as bytes.

`encode` is injective: every value has a tag and a length, so no two values of the types it takes
share their bytes, 1, TRUE, 1.0 and '1' included. `expression` forgets what has no meaning and
nothing else: parentheses, the order of AND, OR and IN lists, and what stands twice in them.
Expressions never raise on a row, so the order in which a database looks at them tells nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction

from sqlglot import exp

from probe_sql.errors import InternalError, Span
from probe_sql.policy.keys import ListKeys
from probe_sql.policy.model import PublicTable, Table

Plain = None | bool | int | float | str | Fraction | date
Value = Plain | bytes | tuple["Value", ...] | frozenset[bytes]


def encode(value: Value) -> bytes:
    """Write a value down so that no other value is written the same."""
    tag = _PLAIN.get(type(value))
    if tag is not None:
        return _tagged(tag, repr(value).encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return _tagged(b"y", value)
    if isinstance(value, tuple):
        return _tagged(b"t", b"".join(map(encode, value)))
    if isinstance(value, frozenset):
        return _tagged(b"s", b"".join(_tagged(b"y", each) for each in sorted(value)))
    raise InternalError(f"a {type(value).__name__} has no canonical form")


# Each by its exact type: a bool is an int to Python, a datetime a date, and all of these print
# themselves in full.
_PLAIN: Mapping[type, bytes] = {
    str: b"u", int: b"i", bool: b"b", type(None): b"n", Fraction: b"q", float: b"f", date: b"d",
    datetime: b"m",
}  # fmt: skip


def _tagged(tag: bytes, body: bytes) -> bytes:
    return b"%s%d:%s" % (tag, len(body), body)


def expression(node: exp.Expr, owners: Mapping[str, bytes] | None = None) -> bytes:
    """Write a bound expression down; columns by what owns them, where `owners` says, else by alias.

    Two expressions with the same bytes have the same value on every row.
    """
    if isinstance(node, exp.Paren):
        return expression(node.this, owners)
    if isinstance(node, exp.And | exp.Or):
        return _node(
            node, frozenset(expression(part, owners) for part in _operands(node, type(node)))
        )
    if isinstance(node, exp.Column):
        owner: Value = node.table if owners is None else owners[node.table]
        return _node(node, (owner, node.name))
    args: list[Value] = []
    for name in sorted(node.args):
        held = node.args[name]
        if held is None or held is False or held == []:
            continue  # how sqlglot writes that a part is not there
        if isinstance(node, exp.In) and name == "expressions":
            args.append((name, frozenset(expression(each, owners) for each in held)))
        elif isinstance(held, list):
            args.append((name, tuple(_leaf(each, owners) for each in held)))
        else:
            args.append((name, _leaf(held, owners)))
    return _node(node, tuple(args))


def may_be(node: exp.Expr, form: bytes) -> bool:
    """Tell by the kind of a node alone whether it can have a form: to write it down takes long."""
    return form.partition(b":")[2].startswith(encode(type(node.unnest()).__name__))


def conjunction(nodes: Sequence[exp.Expr], owners: Mapping[str, bytes]) -> frozenset[bytes]:
    """Write down what several conditions ask together: AND and a list of them are the same."""
    parts = [part for node in nodes for part in _operands(node, exp.And)]
    return frozenset(expression(part, owners) for part in parts)


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The parts of a chain of AND, or of OR, however it is nested."""
    found, waiting = [], [node]
    while waiting:
        part = waiting.pop().unnest()
        if type(part) is kind:
            waiting += [part.this, part.expression]
        else:
            found.append(part)
    return found


def _leaf(held: object, owners: Mapping[str, bytes] | None) -> Value:
    if isinstance(held, exp.Expr):
        return expression(held, owners)
    if isinstance(held, Enum):
        return str(held.value)
    if isinstance(held, str | int):
        return held
    raise InternalError(f"a {type(held).__name__} has no canonical form")


def _node(node: exp.Expr, value: Value) -> bytes:
    return encode((type(node).__name__, value))


# --- what something is made of ---------------------------------------------------------------


def made_of(value: object) -> Hashable:
    """Write down all that a value is made of: what is computed from two that share it is the same.

    Every field counts, and every note on a node, but for places in the analyst's text. What has no
    form here, as a table of the policy, goes by which object it is: so whoever keeps this keeps
    the value beside it.
    """
    found: list[Hashable] = []
    waiting: list[object] = [value]
    while waiting:  # a chain of a thousand ORs is deeper than calls may nest
        waiting += reversed(_collect(waiting.pop(), found))
    return tuple(found)


_FIELDS: dict[type, tuple[str, ...]] = {}
_PLACES = frozenset({"start", "end", "line", "col"})


def _collect(value: object, found: list[Hashable]) -> Sequence[object]:
    """Write down a value itself, and give what it is made of, which follows it."""
    kind: type = type(value)
    found.append(id(kind))
    if kind in (str, int, bool, Fraction) or value is None:
        found.append(value)
    elif kind in (tuple, list):
        assert isinstance(value, tuple | list)
        found.append(len(value))
        return value
    elif isinstance(value, exp.Expr):
        notes = {name: note for name, note in value.meta.items() if name not in _PLACES}
        found += (len(value.args), len(notes))
        return [each for held in (value.args, notes) for pair in held.items() for each in pair]
    elif is_dataclass(kind) and not isinstance(value, Span | Table | PublicTable | ListKeys):
        return [getattr(value, name) for name in _names(kind)]
    elif isinstance(value, float | date | Enum):
        found.append(repr(value))
    elif kind is not Span:
        found.append(id(value))
    return ()


def _names(kind: type) -> tuple[str, ...]:
    """The fields that a dataclass is made of, without what it works out itself."""
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(one.name for one in fields(kind) if one.init)
    return _FIELDS[kind]
