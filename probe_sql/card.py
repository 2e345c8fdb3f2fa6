"""The card that a notebook shows: a title, what stands under it, and one style for all cards.

It needs nothing from outside: no script, no font, no network. Text has the colour of the notebook
and the background stays transparent, so that it is read on light and on dark pages; colour is in
graphics alone, at least 3.8 : 1 on white and on black.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probe_sql.markup import Child, Html, block, join, tag

_STYLE = """
.psql{font:14px/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums;color:inherit;
max-width:50rem;overflow-x:auto}
.psql p{margin:0 0 .5em}.psql .s{opacity:.75;font-size:.93em}
.psql .title{font-size:1.15em;font-weight:650;margin:0}
.psql .bad{border-left:3px solid #d1453b;padding-left:.75em}
.psql table{border-collapse:collapse;width:100%;margin:.5em 0;color:inherit;background:none;
font-size:1em}
.psql td,.psql th{padding:0 12px 0 0;line-height:24px;vertical-align:middle;border:0;
text-align:left;background:none;white-space:nowrap;color:inherit;font-weight:400}
.psql th{border-bottom:1px solid #8886;opacity:.75;font-size:.93em}
.psql td.long{white-space:normal;overflow-wrap:anywhere}
.psql .n{text-align:right}.psql .w{width:45%;min-width:10rem;padding:0}
.psql .thin{width:auto}.psql .thin .w{width:12rem;min-width:3rem}
.psql svg{display:block;width:100%;height:24px;overflow:visible}
.psql svg.days{height:180px;margin:1.5em 0 3.25em}
.psql svg text{fill:currentColor;opacity:.75;font-size:12px}.psql .fine{display:none}
.psql .b{fill:#12907b;opacity:.25}.psql .e{stroke:#12907b;stroke-width:1.6}
.psql .d{fill:#12907b;stroke:#12907b;stroke-width:1.6}
.psql .doubt .b{fill:#b8740c}.psql .doubt .e{stroke:#b8740c}
.psql .doubt .d{fill:none;stroke:#b8740c}
.psql .plain .b{fill:currentColor;opacity:.15}.psql .plain .e{stroke:currentColor}
.psql .plain .d{fill:currentColor;stroke:currentColor}
.psql .heat{width:auto}.psql .heat td{padding:0 8px;border:2px solid transparent;
background-clip:padding-box}.psql .heat .pm{opacity:.75;font-size:.93em}
.psql .sure.h1{background-color:#12907b1a}.psql .sure.h2{background-color:#12907b38}
.psql .sure.h3{background-color:#12907b57}.psql .plain.h1{background-color:#8882}
.psql .plain.h2{background-color:#8884}.psql .plain.h3{background-color:#8886}
.psql .heat .doubt{border-color:#b8740c}.psql .heat tbody th{border:0}
.psql .heat th:not(:first-child){padding-left:10px}
.psql .hide{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.psql .t{stroke:currentColor;stroke-width:1.5}
.psql .t2,.psql .g{stroke:currentColor;stroke-width:1;opacity:.35}
.psql .all{fill:currentColor;opacity:.12}.psql .out{fill:currentColor;opacity:.6}
.psql .z{fill:#b8740c;opacity:.45}
.psql details{font-size:.93em}
.psql pre{margin:.25em 0;font:13px/1.5 ui-monospace,Menlo,Consolas,monospace;background:none;
color:inherit;white-space:pre;overflow-x:auto}
"""


def card(title: str, *children: Child) -> Html:
    """A title and what stands under it; every text inside is escaped."""
    style = join(Html(f"<style>{_STYLE}</style>"))
    return tag("div", style, tag("p", title, class_="title"), children, class_="psql")


def closed(title: str, *children: Child) -> Html:
    """A part of a card that is shown once its head is pressed."""
    return tag("details", tag("summary", title), children)


def preformatted(lines: Iterable[str]) -> Html:
    """Lines whose blanks matter."""
    return tag("pre", block("\n".join(lines)))


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[Child]],
    numeric: Iterable[int] = (),
    drawings: Sequence[Child] = (),
    drawn_head: Child = None,
    kinds: Sequence[str] = (),
    thin: bool = False,
    long: int | None = None,
) -> Html:
    """Cells in rows; numbers stand to the right, and drawings make a last column.

    `kinds` are classes of the rows, `long` is the column whose text may take several lines.
    """
    right = frozenset(numeric)

    def of(index: int) -> str | None:
        return "n" if index in right else "long" if index == long else None

    last = [tag("th", drawn_head, class_="w")] if drawings else []
    body = []
    for at, row in enumerate(rows):
        cells = [tag("td", cell, class_=of(index)) for index, cell in enumerate(row)]
        if drawings:
            cells.append(tag("td", drawings[at], class_="w"))
        body.append(tag("tr", cells, class_=kinds[at] if kinds else None))
    names = [tag("th", name, class_=of(index)) for index, name in enumerate(head)]
    return tag(
        "table",
        tag("thead", tag("tr", names, last)),
        tag("tbody", body),
        class_="thin" if thin else None,
    )


def meter(share: float) -> Html:
    """How much of something is used up, as a bar beside the figures."""
    used = f"{100 * min(1.0, max(0.0, share)):.1f}%"
    place = {"y": "8", "height": "8", "rx": "4"}
    return tag(
        "svg",
        tag("rect", class_="all", width="100%", **place),
        tag("rect", class_="out", width=used, **place),
        aria_hidden="true",
    )
