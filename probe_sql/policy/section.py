"""One setting of a policy, the section it stands in, and the objects that sections make.

An object is read from a file, and checks itself, by the rows of its section. They are in `fields`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from probe_sql.policy.kinds import Findings, Kind, Schema, Text, Wrong, is_a, kind_of, show
from probe_sql.policy.names import bare, dotted, frozen, quoted
from probe_sql.text import normal_name, suggest

REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Field:
    """One setting.

    `example` is the setting as a fix writes it. `missing` is said where a file leaves out what it
    must have. `read_in` are the rooms that act on the setting.
    """

    name: str
    kind: Kind
    example: str
    meaning: str
    default: str
    read_in: str
    missing: str = ""
    own_name: str = ""  # of its attribute, where that is another; of two with a blank between

    @property
    def names(self) -> list[str]:
        """The object's attributes that hold the setting."""
        return (self.own_name or self.name).split()

    def filled(self, value: Any) -> dict[str, Any]:
        """The object's attributes with the value."""
        return dict(zip(self.names, (value,) if len(self.names) == 1 else value, strict=True))

    def value(self, owner: object) -> Any:
        """The setting's value in an object: that of its attribute, or a tuple of both."""
        return _one_or_all(getattr(owner, name) for name in self.names)

    def usual(self, owner: type[Checked]) -> Any:
        """The setting's value where nothing says another; MISSING if a factory makes it."""
        return _one_or_all(_attribute(owner, name).default for name in self.names)

    def left_out(self, owner: type[Checked]) -> Any:
        """The value where a file leaves the setting out; one that does no harm if it must not."""
        made = (_attribute(owner, name) for name in self.names)
        return _one_or_all(_default(attribute, self.kind.stand_in) for attribute in made)


@dataclass(frozen=True, slots=True)
class Section:
    """The settings of one object, by the name of its class; `at` is where the file has it."""

    name: str
    at: str
    fields: tuple[Field, ...]
    named: str = ""  # an example of the name that such an object has, if it has one
    inline: bool = False  # written in one line, between braces

    @property
    def owner(self) -> type[Checked]:
        """The class of its objects."""
        return _CLASSES[self.name]

    def made(self, value: object) -> bool:
        """Whether the value is an object of this section."""
        return isinstance(value, Checked) and value.section.name == self.name

    def unchecked(self, **values: Any) -> Any:
        """An object as a file has it; the rest of its attributes at their defaults."""
        made = object.__new__(self.owner)
        for attribute in dataclasses.fields(self.owner):  # type: ignore[arg-type]
            value = values.get(attribute.name, attribute.default)
            object.__setattr__(made, attribute.name, value)
        return made

    def settings(self, found: Findings, raw: object) -> dict[str, Any]:
        """The settings that a file says. A misspelt one is noted and read as it was meant."""
        known = tuple(row.name for row in self.fields)
        if not isinstance(raw, dict):
            fix = f"write {{}} with any of {', '.join(known)} between the braces"
            found.add("", f"this must be a table, not {kind_of(raw)}", fix)
            return {}
        values = {name: value for name, value in raw.items() if name in known}
        for name, value in raw.items():
            if name in known:
                continue
            near = suggest(name, known)
            fix = f"remove it; what can stand here is {', '.join(known)}"
            if near is not None:
                fix = f"did you mean {near}? Write {near} instead of {bare(name)}"
                if near in values:
                    fix = f"did you mean {near}? It is there already: remove {bare(name)}"
                values.setdefault(near, value)
            found.add(dotted(name), f"there is no setting {quoted(name)} here", fix)
        for row in self.fields:
            if row.missing and row.name not in values:
                found.add(row.name, row.missing, f"write {row.example}")
        return values

    def read(self, above: Findings, at: str, raw: object, **extra: str) -> Any:
        """The object that a file has at `at`; what is wrong with it is added to `above`.

        A wrong setting is replaced by its default, so that the parts which refer to it can still
        be checked and one mistake is reported once.
        """
        found = Findings(at)
        written = self.settings(found, raw)
        whole = isinstance(raw, dict)
        unread = {row.name for row in self.fields if row.missing or not whole} - {*written}
        values: dict[str, Any] = {}
        for row in self.fields:
            value = row.left_out(self.owner)
            if row.name in written:
                read = row.kind.read(found, row.name, written[row.name])
                unread |= {row.name} if read is None else set()
                value = value if read is None else read
            values |= row.filled(value)
        made = self.unchecked(**extra, **values)
        made.check(found, frozenset(unread))
        above.problems |= found.problems
        if not found.problems:
            made.settle()
        return made

    def schema(self) -> Schema:
        """The section as JSON Schema says it."""
        required = [row.name for row in self.fields if row.default == REQUIRED]
        return {
            "type": "object",
            "properties": {row.name: {**row.kind.schema(), **_words(row)} for row in self.fields},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }


def _words(row: Field) -> Schema:
    after = "" if row.default == REQUIRED else f" Default: {row.default}."
    return {"description": f"{row.meaning[0].upper()}{row.meaning[1:]}.{after}".replace("`", "")}


class Checked:
    """An object of a section. It checks itself when made, so that one that exists is sound."""

    __slots__ = ()
    section: ClassVar[Section]

    def __init_subclass__(cls) -> None:
        _CLASSES[cls.section.name] = cls

    def __post_init__(self) -> None:
        section = self.section
        found = Findings(
            dotted(section.at, str(getattr(self, "name", ""))) if section.named else section.at
        )
        self.check(found)
        found.finish()
        self.settle()

    def check(self, found: Findings, unread: frozenset[str] = frozenset()) -> None:
        """Note what is wrong, first with each setting alone, then between those that are sound.

        Sound ones are kept in their final form: nothing in them can be changed. `unread` are
        settings whose problems are known already.
        """
        named = self.section.named
        known = not named or Text().check(found, "", getattr(self, "name", None), named)
        sound = set()
        for row in self.section.fields:
            own = row.value(self)
            if row.name not in unread and (
                own is row.usual(type(self)) or row.kind.check(found, row.name, own, row.example)
            ):
                sound.add(row.name)
                kept = row.kind.kept(own)
            else:
                kept = row.left_out(type(self))
            for name, value in row.filled(kept).items():
                object.__setattr__(self, name, value)
        if known:
            self.agree(found, frozenset(sound))

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """Note where settings that are sound alone contradict each other."""

    def settle(self) -> None:
        """Bring a sound object into its final form."""


def _one_or_all(values: Iterable[Any]) -> Any:
    first, *more = values
    return (first, *more) if more else first


def _attribute(owner: type, name: str) -> dataclasses.Field[Any]:
    attributes: dict[str, dataclasses.Field[Any]] = vars(owner)["__dataclass_fields__"]
    return attributes[name]


def _default(attribute: dataclasses.Field[Any], otherwise: Any) -> Any:
    if attribute.default_factory is not dataclasses.MISSING:
        return attribute.default_factory()
    return otherwise if attribute.default is dataclasses.MISSING else attribute.default


_CLASSES: dict[str, type[Checked]] = {}  # by the names of their sections


@dataclass(frozen=True, slots=True)
class Part(Kind):
    """One object of the policy: what a section says."""

    section: Section

    def wrong(self, value: Any) -> Wrong:
        return None if self.section.made(value) else f"this is not a {self.section.name}"

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        return self.section.read(found, found.path(key), raw)

    def schema(self) -> Schema:
        return self.section.schema()


@dataclass(frozen=True, slots=True)
class Listed(Part):
    """Several objects in a list."""

    def wrong(self, value: Any) -> Wrong:
        if is_a(value, tuple | list) and all(map(self.section.made, value)):
            return None
        return f"these are not {self.section.name}"

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        at = found.path(key)
        if isinstance(raw, list):
            return tuple(self.section.read(found, f"{at}[{i}]", one) for i, one in enumerate(raw))
        what = f"joint keys are a list of tables, not {kind_of(raw)}"
        found.add(key, what, f"write the header with two brackets: [[{at}]]")
        return None

    def schema(self) -> Schema:
        return {"type": "array", "items": Part.schema(self)}


@dataclass(frozen=True, slots=True)
class ByName(Part):
    """Several objects under names of their own, none of them twice.

    A check is True where the values are at least of the right kind, so that more can be checked.
    """

    stand_in: ClassVar[Mapping[str, Any]] = frozen({})

    def check(self, found: Findings, key: str, value: Any, example: str) -> bool:  # noqa: ARG002
        kind = self.section.name
        if not isinstance(value, Mapping):
            found.add(key, f"this must be a table, not {kind_of(value)}", f"write [{key}.name]")
            return False
        first: dict[str, str] = {}
        sound = True
        for name, part in value.items():
            at = dotted(key, str(name))
            if not self.section.made(part):
                found.add(at, f"this is not a {kind}", f"build a {kind}")
                sound = False
            elif part.name != name:
                what = f"the {kind} here has another name: {show(part.name)}"
                found.add(at, what, "use its name as the key, as by_name() does")
            elif normal_name(name) in first:
                both = f"{name} and {first[normal_name(name)]}"
                what = f"{both} are one name to SQL, which ignores case"
                found.add(at, what, "remove or rename one of the two")
            else:
                first[normal_name(name)] = name
        return sound

    def long(self, raw: Any) -> Any:
        """What a file says of one of them, in full."""
        return raw

    def read(self, found: Findings, key: str, raw: Any) -> Any:
        at = found.path(key)
        if isinstance(raw, dict):
            return {
                name: self.section.read(found, f"{at}.{dotted(name)}", self.long(one), name=name)
                for name, one in raw.items()
            }
        found.add(key, f"this must be a table, not {kind_of(raw)}", f"write [{at}.name]")
        return None

    def kept(self, value: Any) -> Any:
        return frozen(value)

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.one_schema()}

    def one_schema(self) -> Schema:
        """One of the objects as JSON Schema says it."""
        return self.section.schema()
