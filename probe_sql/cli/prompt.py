"""The interactive line: editing, highlighting, completion, history and the bar of the budget."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import completion_is_selected, has_completions
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments
from prompt_toolkit.lexers import Lexer, PygmentsLexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from probe_sql.catalogue import Catalogue
from probe_sql.cli.arguments import FORMATS
from probe_sql.cli.statements import complete
from probe_sql.completion import Suggestion, matching
from probe_sql.completion import suggest as suggest_sql
from probe_sql.options import OPTIONS
from probe_sql.text import visible


def suggest(before: str, catalogue: Catalogue, dots: Sequence[str] = ()) -> list[Suggestion]:
    """Suggestions for the text before the cursor, the likeliest kind first."""
    stripped = before.lstrip()
    if stripped.startswith(".") and not stripped.startswith(".explain "):
        return _of_dots(stripped, catalogue, dots)
    return suggest_sql(before, catalogue)


def _of_dots(text: str, catalogue: Catalogue, dots: Sequence[str]) -> list[Suggestion]:
    command, space, rest = text.partition(" ")
    if not space:
        return matching(command, dots, "command")
    word = rest.split(" ")[-1]
    choices: Mapping[str, Iterable[str]] = {
        ".schema": catalogue.tables,
        ".columns": catalogue.tables,
        ".mode": FORMATS,
        ".set": [*OPTIONS, "confirm"],
        ".unset": [*OPTIONS, "confirm"],
        ".help": dots,
    }
    return matching(word, choices.get(command, ()), "argument")


PROMPT = "probe> "
CONTINUED = "  ...> "


class SqlCompleter(Completer):
    """prompt_toolkit's view of `suggest`."""

    def __init__(self, catalogue: Catalogue, dots: Sequence[str] = ()) -> None:
        self._catalogue = catalogue
        self._dots = dots

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - the interface's
    ) -> Iterator[Completion]:
        """Suggestions for the text before the cursor."""
        for found in suggest(document.text_before_cursor, self._catalogue, self._dots):
            shown = visible(found.text)
            yield Completion(found.text, -found.length, display=shown, display_meta=found.kind)


class Visible(Processor):
    """The line that is edited, with characters that do not show themselves spelled out."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Spell out one line, and say where each of its characters went."""
        fragments: StyleAndTextTuples = []
        offsets = [0]
        for style, character, *_ in explode_text_fragments(transformation_input.fragments):
            fragments.append((style, visible(character)))
            offsets.append(offsets[-1] + len(fragments[-1][1]))

        def to_display(offset: int) -> int:
            return offsets[min(offset, len(offsets) - 1)]

        def to_source(offset: int) -> int:
            return max(0, bisect_right(offsets, offset) - 1)

        return Transformation(fragments, to_display, to_source)


class Line:
    """Reads one input after another from a terminal; Enter runs it once a `;` closes it."""

    def __init__(self, catalogue: Catalogue, dots: Sequence[str], bar: Callable[[], str]) -> None:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            lexer=_lexer(),
            history=_history(),
            completer=SqlCompleter(catalogue, dots),
            complete_while_typing=False,
            key_bindings=_bindings(),
            bottom_toolbar=bar,
            prompt_continuation=_continued,
            input_processors=[Visible()],
            style=Style.from_dict({"bottom-toolbar": "noreverse dim"}),
            color_depth=ColorDepth.DEPTH_1_BIT if plain else None,
        )

    def read(self) -> str:
        """The next input; EOFError for Ctrl-D, KeyboardInterrupt for Ctrl-C."""
        return self._session.prompt()


def _continued(width: int, number: int, soft_wraps: int) -> StyleAndTextTuples:  # noqa: ARG001
    return [("", CONTINUED.rjust(width))]


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~(has_completions & completion_is_selected))
    def _(event: KeyPressEvent) -> None:
        """Run what is complete; otherwise begin another line."""
        buffer = event.current_buffer
        at_end = not buffer.document.text_after_cursor.strip()
        if at_end and complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @bindings.add("enter", filter=has_completions & completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """Take the completion that is selected."""
        event.current_buffer.complete_state = None

    return bindings


def _lexer() -> Lexer | None:
    """Colours for SQL, where Pygments is installed (it comes with rich)."""
    try:
        from pygments.lexers.sql import SqlLexer
    except ImportError:
        return None
    return PygmentsLexer(SqlLexer)


def _history() -> History:
    """The history file of this user, readable by them alone; in memory where that fails."""
    home = os.environ.get("XDG_STATE_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state"
    path = base / "probe-sql" / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(number, 0o600)  # one that was made wider, or by an older umask
        finally:
            os.close(number)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
