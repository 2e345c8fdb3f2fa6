"""Questions to an owner at a terminal, each asked until the answer can be used."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from probe_sql.text import suggest, visible

Ask = Callable[[str], str]  # shows a question, returns what was typed
Say = Callable[[str], None]


@dataclass(slots=True)
class Questions:
    """What asks and what says, and what was said."""

    ask: Ask
    say: Say
    said: set[str] = field(default_factory=set, kw_only=True)

    def once(self, text: str) -> None:
        """Say what was not said before."""
        if text not in self.said:
            self.say(text)
        self.said.add(text)

    def answer(self, question: str, usual: str) -> str:
        """What is typed, or the usual answer."""
        shown = f" [{usual}]" if usual else ""
        return self.ask(visible(f"{question}{shown} ")).strip() or usual

    def choice(self, question: str, known: Sequence[str], usual: str, several: bool = False) -> str:
        """One of a few words, or several of them; their first letters suffice."""
        while True:
            typed = self.answer(f"{question} {', '.join(known)}", usual).lower()
            parts = re.findall(r"[a-z]+", typed) if several else [typed]
            meant = [w for p in parts for w in known if p and w.startswith(p)]
            if parts and len(meant) == len(parts):
                return " ".join(meant)
            self.say(f"  Type {', '.join(known[:-1])} or {known[-1]}.")

    def number(self, question: str, usual: str, least: float, *, whole: bool = True) -> str:
        """A number from `least` to a million."""
        while True:
            typed = self.answer(question, usual).replace(",", "").replace("_", "")
            try:
                value = int(typed) if whole else float(typed)
            except ValueError:
                value = math.nan
            if least <= value <= 1e6:
                return f"{value:g}" if isinstance(value, float) else str(value)
            self.say(f"  Type a number from {least:g} to 1,000,000.")

    def two(self, question: str) -> tuple[str, str] | None:
        """Two values that are typed; None where nothing is."""
        while True:
            parts = self.answer(question, "").replace(",", " ").split()
            if not parts:
                return None
            if len(parts) == 2 and all(re.fullmatch(r"[-+0-9.eE:T]+", part) for part in parts):
                return parts[0], parts[1]
            self.say("  Type two values, with a blank between.")

    def unknown(self, typed: str, known: Iterable[str], wanted: str) -> None:
        """Say that an answer names nothing that there is."""
        near = suggest(typed, known)
        hint = f"; did you mean {near}?" if near else ""
        self.say(visible(f"  {typed or 'nothing'} is not {wanted}{hint}"))
