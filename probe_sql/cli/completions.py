"""Completions for bash, zsh and fish, made of the parsers, so that they know what these know."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from probe_sql.cli.arguments import COMMANDS, PROGRAM, parser_for

_NAME = "_probe_sql"


def completions(shell: str) -> str:
    """The script that a shell reads: commands, then the flags of each, and their choices."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _flags(command: str | None) -> list[tuple[str, str, tuple[str, ...] | None, bool]]:
    """The long flags of a command with their meanings, choices, and whether they take a value."""
    return [
        (
            next(flag for flag in action.option_strings if flag.startswith("--")),
            " ".join((action.help or "").split()),
            None if action.choices is None else tuple(map(str, action.choices)),
            action.nargs != 0,
        )
        for action in _actions(command)
        if any(flag.startswith("--") for flag in action.option_strings)
    ]


def _actions(command: str | None) -> Iterator[argparse.Action]:
    for action in parser_for(command)._actions:
        if action.help != argparse.SUPPRESS:
            yield action


def _words(command: str | None) -> list[str]:
    """What may stand without a flag: the words of a choice."""
    return [
        str(choice)
        for action in _actions(command)
        if not action.option_strings and action.choices is not None
        for choice in action.choices
    ]


def _bash() -> str:
    lines = [
        f"{_NAME}() {{",
        '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words',
        '  case "${COMP_WORDS[1]}:$before" in',
    ]
    for command in (*COMMANDS, None):
        for flag, _, choices, _ in _flags(command):
            if choices is not None:
                where = command or "*"
                lines.append(f"    {where}:{flag}) words='{' '.join(choices)}' ;;")
    lines += ["  esac", '  if [[ -z "$words" ]]; then', '    case "${COMP_WORDS[1]}" in']
    for command in COMMANDS:
        known = " ".join([*_words(command), *(flag for flag, *_ in _flags(command))])
        lines.append(f"      {command}) words='{known}' ;;")
    top = " ".join([*COMMANDS, *(flag for flag, *_ in _flags(None))])
    lines += [
        f"      *) words='{top}' ;;",
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        f"complete -o default -F {_NAME} {PROGRAM}",
    ]
    return "\n".join(lines) + "\n"


def _zsh() -> str:
    lines = [f"#compdef {PROGRAM}", f"{_NAME}() {{", "  local -a commands", "  commands=("]
    lines += [f"    {_quoted(f'{name}:{meaning}')}" for name, meaning in COMMANDS.items()]
    lines += ["  )", "  case $words[2] in"]
    for command in COMMANDS:
        lines.append(f"    {command}) _arguments '*: :_files' \\")
        lines.append(" \\\n".join(f"      {_argument(*flag)}" for flag in _flags(command)))
        lines.append("      ;;")
    lines.append(
        "    *) (( CURRENT == 2 )) && _describe command commands; _arguments '*: :_files' \\"
    )
    lines.append(" \\\n".join(f"      {_argument(*flag)}" for flag in _flags(None)))
    lines += ["      ;;", "  esac", "}", f"compdef {_NAME} {PROGRAM}"]
    return "\n".join(lines) + "\n"


def _argument(flag: str, meaning: str, choices: tuple[str, ...] | None, valued: bool) -> str:
    told = meaning.replace("[", "(").replace("]", ")").replace(":", " ")
    value = ""
    if valued:
        value = f": :({' '.join(choices)})" if choices is not None else ": :_files"
    return _quoted(f"{flag}[{told}]{value}")


def _fish() -> str:
    lines = [f"complete -c {PROGRAM} -e"]
    first = "__fish_use_subcommand"
    for name, meaning in COMMANDS.items():
        lines.append(f"complete -c {PROGRAM} -n {first} -a {name} -d {_quoted(meaning)}")
    for command in (None, *COMMANDS):
        where = first if command is None else f"__fish_seen_subcommand_from {command}"
        for word in [] if command is None else _words(command):
            lines.append(f"complete -c {PROGRAM} -n {_quoted(where)} -a {word}")
        for flag, meaning, choices, valued in _flags(command):
            given = f" -x -a {_quoted(' '.join(choices))}" if choices else " -r" if valued else ""
            lines.append(
                f"complete -c {PROGRAM} -n {_quoted(where)} -l {flag[2:]}{given}"
                f" -d {_quoted(meaning)}"
            )
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
