"""The summary of a run in Markdown: the main figures in a table, and every claim."""

from __future__ import annotations

from typing import Any

from benchmarks.claims import Claim
from benchmarks.experiments import ALGORITHMS, ALPHA, BETA, EPSILON_MAX
from benchmarks.figures import NAMES, Record, select
from benchmarks.workload import SHAPES

_SIZES = (1, 3, 6)


def markdown(document: dict[str, Any], claims: list[Claim]) -> str:
    """A page for people who do not open the report."""
    settings = document["parameters"]
    source = "the stand-in data" if settings["source"] == "standin" else "generated rows"
    lines = [
        "# Results",
        "",
        f"{settings['runs']} runs of each cell on {source}, thresholds at mean +"
        f" {settings['z']:g} standard deviations, beta = {BETA:g}, alpha = {ALPHA:g}, epsilon_max ="
        f" {EPSILON_MAX:g}, seed {document['seed']}, commit {document['commit']};"
        f" {document['seconds']:g} s with {settings['jobs']} processes.",
        "",
        *_table(document["records"]),
        *_claims(claims),
    ]
    return "\n".join(lines) + "\n"


def _table(records: list[Record]) -> list[str]:
    cells = select(records, experiment="atoms")
    if not cells:
        return []
    lines = [
        "Each entry: mean epsilon, FNR, FPR, and the share of denied runs where there were any.",
        "",
        "| data, shape, atoms | " + " | ".join(ALGORITHMS) + " |",
        "|---|" + "---|" * len(ALGORITHMS),
    ]
    for dataset in NAMES:
        for shape in SHAPES:
            for atoms in _SIZES:
                own = select(cells, dataset=dataset, shape=shape, atoms=atoms)
                if own and (atoms > 1 or shape == SHAPES[0]):  # one atom has no shape
                    entries = [_entry(select(own, algorithm=a)) for a in ALGORITHMS]
                    name = f"{NAMES[dataset]}, {shape if atoms > 1 else 'alone'}, {atoms}"
                    lines.append(f"| {name} | " + " | ".join(entries) + " |")
    return [*lines, ""]


def _entry(own: list[Record]) -> str:
    if not own:
        return "-"
    record = own[0]
    rates = ", ".join("-" if record[n] is None else f"{record[n]:.3f}" for n in ("fnr", "fpr"))
    denied = f", {record['denied']:.0%} denied" if record["denied"] > 0.001 else ""
    return f"**{record['epsilon']:.3g}**, {rates}{denied}"


def _claims(claims: list[Claim]) -> list[str]:
    lines = [
        "## The paper's claims",
        "",
        "| the paper | here | figures | why |",
        "|---|---|---|---|",
    ]
    lines += [f"| {c.paper} | {c.verdict} | {c.found} | {c.why} |" for c in claims]
    return lines
