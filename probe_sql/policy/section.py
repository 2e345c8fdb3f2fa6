"""One setting of a policy, the section it stands in, and the objects that sections make.

An object checks itself by the rows of its section. The rows are in `fields`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from probe_sql.policy.kinds import Findings, Kind, Schema, Text, Wrong, is_a, kind_of, show
from probe_sql.policy.names import dotted, frozen
from probe_sql.text import normal_name

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
    own_name: str = ""  # of the object's attribute, where it is another

    @property
    def attribute(self) -> str:
        """The object's attribute that holds the setting."""
        return self.own_name or self.name


@dataclass(frozen=True, slots=True)
class Section:
    """The settings of one object, by the name of its class; `at` is where the file has it."""

    name: str
    at: str
    fields: tuple[Field, ...]
    named: str = ""  # an example of the name that such an object has, if it has one
    inline: bool = False  # written in one line, between braces

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all settings."""
        return tuple(row.name for row in self.fields)

    def made(self, value: object) -> bool:
        """Whether the value is an object of this section."""
        return isinstance(value, Checked) and value.section.name == self.name

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
    """An object of a section. It checks itself when it is made, so that one that exists is sound.

    The reader of files makes one of whatever it finds, to report all problems at once: there a
    wrong setting is replaced by its default, so that one mistake is reported once.
    """

    __slots__ = ()
    section: ClassVar[Section]

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
        if self.section.named:
            Text().check(found, "", getattr(self, "name", None), self.section.named)
        sound = set()
        for row in self.section.fields:
            own = getattr(self, row.attribute)
            if row.name not in unread and (
                own is _attribute(type(self), row).default
                or row.kind.check(found, row.name, own, row.example)
            ):
                sound.add(row.attribute)
                kept = row.kind.kept(own)
            else:
                kept = default(type(self), row)
            object.__setattr__(self, row.attribute, kept)
        self.agree(found, frozenset(sound))

    def agree(self, found: Findings, sound: frozenset[str]) -> None:
        """Note where settings that are sound alone contradict each other."""

    def settle(self) -> None:
        """Bring a sound object into its final form."""


def default(owner: type, row: Field) -> Any:
    """The setting's value where a file leaves it out; one that does no harm if it must not."""
    attribute = _attribute(owner, row)
    if attribute.default is not dataclasses.MISSING:
        return attribute.default
    if attribute.default_factory is not dataclasses.MISSING:
        return attribute.default_factory()
    return row.kind.stand_in


def _attribute(owner: type, row: Field) -> dataclasses.Field[Any]:
    attributes: dict[str, dataclasses.Field[Any]] = vars(owner)["__dataclass_fields__"]
    return attributes[row.attribute]


@dataclass(frozen=True, slots=True)
class Part(Kind):
    """One object of the policy: what a section says."""

    section: Section
    short: Schema | None = None  # another way to write it

    def wrong(self, value: Any) -> Wrong:
        return None if self.section.made(value) else f"this is not a {self.section.name}"

    def schema(self) -> Schema:
        own = self.section.schema()
        return own if self.short is None else {"anyOf": [self.short, own]}


@dataclass(frozen=True, slots=True)
class Listed(Part):
    """Several objects in a list."""

    def wrong(self, value: Any) -> Wrong:
        if is_a(value, tuple | list) and all(map(self.section.made, value)):
            return None
        return f"these are not {self.section.name}"

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

    def kept(self, value: Any) -> Any:
        return frozen(value)

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": Part.schema(self)}
