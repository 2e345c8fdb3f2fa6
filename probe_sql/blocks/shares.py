"""How the epsilon of a query is divided among its blocks, and what options each block has.

A block that names its own epsilon has that. What is left of the query's is divided evenly among the
others that read rows (docs/decisions/0017-private-blocks.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probe_sql.errors import AccuracyError, Span
from probe_sql.loss import Loss
from probe_sql.options import OPTIONS
from probe_sql.policy.policy import Policy
from probe_sql.sql.script import Block, Script


def own_epsilon(block: Block) -> Loss | None:
    """What a block's own clause lets it spend."""
    if "epsilon" not in block.options:
        return None
    try:
        return Loss.asked(OPTIONS["epsilon"].check(block.options["epsilon"]))
    except AccuracyError as error:
        error.span = block.option_spans["epsilon"]
        raise


def shares(
    script: Script, paying: Sequence[Block], policy: Policy, arguments: Mapping[str, Any]
) -> dict[int, Loss]:
    """What each block may spend, by its number; `paying` are those that read private rows.

    Privacy: their sum is at most what the query may spend.
    """
    named = {**arguments, **script.options}.get("epsilon")
    whole = Loss.asked(policy.accuracy().epsilon)
    if named is not None:
        whole = Loss.asked(OPTIONS["epsilon"].check(named))
    own = {block.number: own_epsilon(block) for block in script.blocks}
    spent = Loss.NOTHING
    for block in paying:
        spent += own[block.number] or Loss.NOTHING
    others = [block for block in paying if own[block.number] is None]
    short = spent >= whole if others else named is not None and spent > whole
    if short:
        raise AccuracyError(
            f"the blocks with an epsilon of their own take {spent.epsilon:g}, and the query may "
            f"spend {whole.epsilon:g}",
            why=f"{others[0].name} would have none" if others else "that is more",
            fix=f"WITH ACCURACY (epsilon = {2 * spent.epsilon:g}) at the end, or lower theirs",
            span=_span(script, paying),
        )
    left = Loss.NOTHING if spent >= whole else whole - spent
    even = Loss(left.units // max(1, len(others)))
    if others and even == Loss.NOTHING:
        raise AccuracyError(f"epsilon {whole.epsilon:g} cannot be divided among the blocks")
    return {number: even if mine is None else mine for number, mine in own.items()}


def _span(script: Script, paying: Sequence[Block]) -> Span | None:
    spans = [block.option_spans.get("epsilon") for block in paying]
    return script.option_spans.get("epsilon") or next((one for one in spans if one), None)


def options_of(script: Script, block: Block, share: Loss, outputs: Sequence[str]) -> dict[str, Any]:
    """The options of a block's clause: its own, else the query's, and its share of epsilon.

    Of margins by name it gets those of its own columns.
    """
    options = {**script.options, **block.options, "epsilon": share.epsilon}
    margin = options.get("margin")
    if isinstance(margin, Mapping) and "margin" not in block.options:
        mine = _named(margin, outputs)
        options = {key: value for key, value in options.items() if key != "margin"}
        if mine:
            options["margin"] = mine
    return options


def arguments_of(arguments: Mapping[str, Any], outputs: Sequence[str]) -> dict[str, Any]:
    """The arguments of the call, for one block: without what the blocks share."""
    mine = {name: value for name, value in arguments.items() if name != "epsilon"}
    if isinstance(mine.get("margin"), Mapping):
        mine["margin"] = _named(mine["margin"], outputs)
        if not mine["margin"]:
            del mine["margin"]
    return mine


def _named(margin: Mapping[Any, Any], outputs: Sequence[str]) -> dict[Any, Any]:
    known = {name.lower() for name in outputs}
    return {name: value for name, value in margin.items() if str(name).lower() in known}


def check_margins(script: Script, arguments: Mapping[str, Any], outputs: Sequence[str]) -> None:
    """Raise `AccuracyError` where a margin is named for a column that no block has."""
    for given in (script.options.get("margin"), arguments.get("margin")):
        if not isinstance(given, Mapping):
            continue
        known = {name.lower() for name in outputs}
        for name in given:
            if str(name).lower() not in known:
                raise AccuracyError(
                    f"margin names {name!r}, which is no column of a private block",
                    fix=f"name one of {', '.join(outputs)}" if outputs else "leave margin out",
                    span=script.option_spans.get("margin"),
                )
