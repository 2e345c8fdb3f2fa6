"""The report of a run: one HTML file that needs nothing else, a summary, figures as PNG."""

from __future__ import annotations

import base64
import html
from pathlib import Path
from typing import Any

from benchmarks import figures
from benchmarks.claims import Claim, check
from benchmarks.experiments import ALPHA, BETA, EPSILON_MAX, SPLIT_BETAS, SPLITS
from benchmarks.figures import NAMES, Record, select
from benchmarks.summary import markdown

_TITLES = {
    "privacy": "Privacy loss for one to six atoms",
    "missed": "Missed groups for one to six atoms",
    "false": "False groups for one to six atoms",
    "entropy": "Min-entropy for one to six atoms",
    "region": "Varying the uncertain region of naive (Sales)",
    "trees": "Equivalent query trees (Sales)",
    "beta": "Varying beta (Taxi, three atoms joined by OR)",
    "alpha": "Varying alpha (Taxi, three atoms joined by OR)",
    "split": "Dividing beta over the two phases (Taxi, two atoms joined by OR)",
    "average": "Averages instead of counts (Sales, conjunctions)",
    "kpi": "The KPI queries of the paper's Table 2 (Sales)",
}

# The table of the paper: (beta, share of phase one) -> epsilon, FPR. Its FNR is 0 throughout.
_PAPER_SPLIT = {
    (5e-2, 0.1): (4.55e-2, 1.81e-3), (5e-2, 0.4): (4.56e-2, 3.03e-3),
    (5e-2, 0.5): (4.44e-2, 2.40e-3), (5e-2, 0.6): (4.80e-2, 3.01e-3),
    (5e-2, 0.9): (4.16e-2, 5.45e-3), (5e-4, 0.1): (5.46e-2, 1.21e-3),
    (5e-4, 0.4): (5.66e-2, 1.81e-3), (5e-4, 0.5): (5.12e-2, 4.84e-3),
    (5e-4, 0.6): (5.32e-2, 3.63e-3), (5e-4, 0.9): (5.15e-2, 1.21e-3),
    (5e-6, 0.1): (8.15e-2, 1.2e-3), (5e-6, 0.4): (8.36e-2, 3.07e-4),
    (5e-6, 0.5): (8.12e-2, 1.21e-3), (5e-6, 0.6): (8.18e-2, 6.06e-4),
    (5e-6, 0.9): (8.09e-2, 1.12e-3),
}  # fmt: skip

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .85rem; margin: .8rem 0; }
th, td { border: 1px solid #ccc; padding: .2rem .5rem; text-align: right; vertical-align: top; }
th { background: #f0f0f0; } td.text, th.text { text-align: left; }
.verdict { font-weight: 600; } .yes { color: #00674c; } .partly { color: #8a5a00; }
.no { color: #a33c00; } code { font-size: .85em; }
"""


def write(document: dict[str, Any], out: Path) -> list[Path]:
    """Write report.html, summary.md and the figures; returns the paths."""
    records: list[Record] = document["records"]
    drawn = figures.drawn(records)
    written = []
    for name, picture in drawn.items():
        path = out / f"{name}.png"
        path.write_bytes(picture)
        written.append(path)
    claims = check(records)
    page, short = out / "report.html", out / "summary.md"
    page.write_text(_page(document, drawn, claims), encoding="utf-8")
    short.write_text(markdown(document, claims), encoding="utf-8")
    return [page, short, *written]


def _page(document: dict[str, Any], drawn: dict[str, bytes], claims: list[Claim]) -> str:
    records: list[Record] = document["records"]
    parts = [_head(document), _summary(claims)]
    present = {record["experiment"] for record in records}
    for name, title in _TITLES.items():
        own = [claim for claim in claims if claim.figure == name]
        if name in drawn:
            body = _image(drawn[name], title)
        elif name == "split" and "split" in present:
            body = _split_table(records)
        elif name == "kpi" and "kpi" in present:
            body = _kpi_table(records)
        else:
            continue
        parts.append(f"<h2 id='{name}'>{html.escape(title)}</h2>{_sentence(own)}{body}{_list(own)}")
    parts += [_departures(), _workloads(records), _table(records)]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<title>ProBE's experiments with probe_sql</title>"
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _head(document: dict[str, Any]) -> str:
    settings = document["parameters"]
    rows = {
        "data": "the stand-in data sets (green taxis, online retail, a virtual campus)"
        if settings["source"] == "standin"
        else "rows generated from the seed",
        "runs of each cell": settings["runs"],
        "thresholds": f"mean + {settings['z']:g} standard deviations over the groups",
        "bounds": f"beta = {BETA:g}, alpha = {ALPHA:g}, epsilon_max = {EPSILON_MAX:g}",
        "u": "12 % of the range for naive, 30 % at the start for the others",
        "seed, commit": f"{document['seed']}, {document['commit']}",
        "time": f"{document['seconds']:g} s with {settings['jobs']} processes on"
        f" {document['cores']} cores" + (", resumed" if document["resumed"] else ""),
    }
    body = "".join(
        f"<tr><th class='text'>{name}</th><td class='text'>{html.escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return (
        "<h1>The experiments of the ProBE paper, run with probe_sql</h1>"
        "<p>Every number comes from the engine's own plan, scan and meter; the noise is seeded so"
        " that it can be repeated. The exact answers are computed apart from the engine, with"
        " plain SQL. The loss of a cell is the mean over all runs; rates are means over the runs"
        " that were answered. Markers are hollow where more than a tenth of the runs were denied;"
        f" the loss shown there is what had been drawn before the denial.</p><table>{body}</table>"
    )


def _summary(claims: list[Claim]) -> str:
    counts = {v: sum(c.verdict == v for c in claims) for v in ("yes", "partly", "no")}
    rows = "".join(
        f"<tr><td class='text'><a href='#{c.figure}'>{c.figure}</a></td>"
        f"<td class='text'>{html.escape(c.paper)}</td>"
        f"<td class='text verdict {c.verdict}'>{c.verdict}</td>"
        f"<td class='text'>{html.escape(c.found)}</td></tr>"
        for c in claims
    )
    return (
        "<h2>The claims, one by one</h2>"
        f"<p>{counts['yes']} hold, {counts['partly']} hold in part, {counts['no']} do not.</p>"
        "<table><tr><th class='text'>figure</th><th class='text'>the paper</th>"
        f"<th class='text'>here</th><th class='text'>figures</th></tr>{rows}</table>"
    )


def _sentence(claims: list[Claim]) -> str:
    """Same shape, or not and why, in one line."""
    if not claims:
        return ""
    failed = [claim for claim in claims if claim.verdict == "no"]
    partly = [claim for claim in claims if claim.verdict == "partly"]
    if not failed and not partly:
        return "<p><b>Same shape as in the paper.</b></p>"
    if not failed:
        return "<p><b>The same shape in the main, with exceptions named below.</b></p>"
    told = " ".join(dict.fromkeys(claim.why for claim in failed if claim.why))
    return f"<p><b>Not the same shape in every respect.</b> {html.escape(told)}</p>"


def _list(claims: list[Claim]) -> str:
    items = "".join(
        f"<li>{html.escape(c.paper)} <span class='verdict {c.verdict}'>{c.verdict}</span>:"
        f" {html.escape(c.found)}."
        + (f" <i>{html.escape(c.why)}</i>" if c.why and c.verdict == "partly" else "")
        + "</li>"
        for c in claims
    )
    return f"<ul>{items}</ul>"


def _image(picture: bytes, title: str) -> str:
    data = base64.b64encode(picture).decode("ascii")
    return f"<p><img alt='{html.escape(title)}' src='data:image/png;base64,{data}'></p>"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _split_table(records: list[Record]) -> str:
    rows = []
    for beta in SPLIT_BETAS:
        for share in SPLITS:
            own = [
                r
                for r in select(records, experiment="split", x=share)
                if r["options"]["fnr"] == beta
            ]
            if not own:
                continue
            loss, rate = _PAPER_SPLIT[beta, share]
            values = [_number(own[0][name]) for name in ("epsilon", "fnr", "fpr", "denied")]
            cells = "".join(f"<td>{text}</td>" for text in values)
            rows.append(
                f"<tr><td>{beta:g}</td><td>{share:.0%}</td><td>{1 - share:.0%}</td>"
                f"<td>{loss:.3g}</td><td>0</td><td>{rate:.3g}</td>{cells}</tr>"
            )
    return (
        "<table><tr><th rowspan='2'>beta</th><th rowspan='2'>phase one</th>"
        "<th rowspan='2'>phase two</th><th colspan='3'>the paper</th>"
        "<th colspan='4'>here</th></tr><tr><th>epsilon</th><th>FNR</th><th>FPR</th>"
        f"<th>epsilon</th><th>FNR</th><th>FPR</th><th>denied</th></tr>{''.join(rows)}</table>"
        "<p>The paper has a yellow-taxi month of three million trips: the more rows a group has,"
        " the less epsilon the same relative distance from a threshold costs.</p>"
    )


def _kpi_table(records: list[Record]) -> str:
    rows = "".join(
        f"<tr><td class='text'>{r['x']}</td><td class='text'>{r['algorithm']}</td>"
        + "".join(f"<td>{_number(r[n])}</td>" for n in ("epsilon", "fnr", "fpr", "denied"))
        + "</tr>"
        for r in select(records, experiment="kpi")
    )
    return (
        "<p>The paper's Table 2 writes the conversion rate as the user retention rate; here it is"
        " the ratio that it defines, <code>count(*) / count(DISTINCT customer_id)</code>.</p>"
        "<table><tr><th class='text'>KPI</th><th class='text'>algorithm</th><th>epsilon</th>"
        f"<th>FNR</th><th>FPR</th><th>denied</th></tr>{rows}</table>"
    )


def _departures() -> str:
    return (
        "<h2>Where the authors' code departs from their text</h2><p>These experiments follow the"
        " text. The published code gives the whole alpha to every atom, leaves the loss of phase"
        " two out of one of its return values, computes averages as counts, and takes ranges and"
        " thresholds from private data inside the mechanism. Here alpha is divided over the"
        " atoms, both phases are counted, averages are averages, and ranges and thresholds are"
        " made by the benchmark and handed to the engine as public hints and query text. Where"
        " the text is silent or contradicts itself, docs/algorithms.md says what was chosen.</p>"
    )


def _workloads(records: list[Record]) -> str:
    """The longest query of each dataset, for readers who want to see one."""
    items = []
    for dataset in NAMES:
        own = select(records, dataset=dataset, experiment="atoms", shape="combination")
        if own:
            longest = max(own, key=lambda r: r["atoms"])
            items.append(
                f"<p>{NAMES[dataset]}, {longest['groups']} groups, {longest['positives']} of them"
                f" true:<br><code>{html.escape(longest['sql'])}</code></p>"
            )
    return "<h2>Queries</h2>" + "".join(items) if items else ""


def _table(records: list[Record]) -> str:
    """Every cell, without its runs."""
    names = ("experiment", "dataset", "shape", "atoms", "x", "algorithm")
    values = ("positives", "epsilon", "fnr", "fpr", "denied", "min_entropy")
    rows = "".join(
        "<tr>"
        + "".join(f"<td class='text'>{html.escape(str(r[n]))}</td>" for n in names)
        + "".join(f"<td>{_number(r[n])}</td>" for n in values)
        + "</tr>"
        for r in records
    )
    head = "".join(f"<th>{name}</th>" for name in (*names, *values))
    return (
        "<h2>All cells</h2><details><summary>Show the table</summary>"
        f"<table><tr>{head}</tr>{rows}</table></details>"
    )
