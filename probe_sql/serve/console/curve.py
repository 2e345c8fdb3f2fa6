"""The curve of doubt over epsilon, with the slider under its axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe_sql.markup import Html, tag
from probe_sql.plan.brief import nodes
from probe_sql.plan.zones import in_units
from probe_sql.session import Explanation
from probe_sql.text import limit, number, plural, price

_LEFT, _RIGHT, _TOP, _BOTTOM = 10.0, 350.0, 18.0, 126.0  # of the curve, in its own units
_POINTS = 60
_SPAN = 100.0  # the dearest epsilon of the slider, divided by the cheapest


@dataclass(frozen=True, slots=True)
class Widths:
    """How wide the zone of doubt is at each epsilon of a query: all of it goes with 1/epsilon.

    Of the query's epsilon the decision gets what `aside` leaves, divided by `shared`.
    """

    scale: float
    aside: float
    shared: int

    def at(self, epsilon: float) -> float:
        """The width where the query may cost `epsilon`."""
        return self.scale * self.shared / max(epsilon - self.aside, 1e-9)


def ends(epsilon: float) -> tuple[float, float]:
    """The ends of the slider: two decades that hold the query's epsilon."""
    high = max(1.0, epsilon)
    return min(high / _SPAN, epsilon), high


def curve(explained: Explanation) -> Html | None:
    """The rows in doubt over epsilon, and the slider right under its axis."""
    doubt, plan = explained.doubt, explained.plan
    if doubt is None or not doubt.zones or plan.figures:
        return None
    zone = doubt.zones[0]
    per = nodes(explained)
    rows = next((one.comparison.rows for one in per if one.comparison is not None), 1)
    share = rows if zone.average else 1
    here = plan.accuracy.epsilon
    widths = Widths(
        zone.widths[-1] * doubt.epsilons[-1] / share,
        plan.release_loss.epsilon,
        2 if explained.first.again else 1,
    )
    low, high = ends(here)
    low = max(low, widths.aside * 1.05)
    if not low < high:
        return None
    highest = widths.at(low)
    unit = " rows" if zone.sql.lower().startswith("count(") else ""
    of = f" in a group of {plural(rows, 'row')}" if zone.average else ""

    def x(epsilon: float) -> float:
        along = math.log(epsilon / low) / math.log(high / low)
        return _LEFT + along * (_RIGHT - _LEFT)

    def y(epsilon: float) -> float:
        return _BOTTOM - widths.at(epsilon) / highest * (_BOTTOM - _TOP)

    steps = [low * (high / low) ** (index / _POINTS) for index in range(_POINTS + 1)]
    line = " ".join(f"{x(step):.1f},{y(step):.1f}" for step in steps)
    area = f"M{line} L{_RIGHT},{_BOTTOM} L{_LEFT},{_BOTTOM}Z"
    marks = [low * (high / low) ** share for share in (0, 0.24, 0.5, 0.74, 1)]
    marks = [float(f"{mark:.1g}") if index in (1, 3) else mark for index, mark in enumerate(marks)]
    parts = [
        tag("path", class_="area", d=area),
        tag("path", class_="edge", d=f"M{line}"),
        tag("line", class_="axis", x1=_LEFT, x2=_RIGHT, y1=_BOTTOM, y2=_BOTTOM),
    ]
    for index, epsilon in enumerate(marks):
        anchor = {0: "start", len(marks) - 1: "end"}.get(index, "middle")
        beside = 8 if index == 0 else 0
        parts.append(
            tag(
                "g",
                tag("circle", cx=f"{x(epsilon):.1f}", cy=f"{y(epsilon):.1f}", r="3.5"),
                tag(
                    "text",
                    near(widths.at(epsilon)),
                    x=f"{x(epsilon) + beside:.1f}",
                    y=f"{max(12.0, y(epsilon) - 10):.1f}",
                    text_anchor=anchor,
                ),
                data_x=f"{x(epsilon):.1f}",
            )
        )
        parts.append(
            tag("text", limit(epsilon), x=f"{x(epsilon):.1f}", y="146", text_anchor=anchor)
        )
    told = in_units(near(widths.at(here)), unit)
    end = x(here) > 290
    parts.append(
        tag(
            "g",
            tag("circle", class_="at", r="5.5"),
            tag(
                "text",
                told,
                class_="at",
                x="-6" if end else "6",
                y="-9",
                text_anchor="end" if end else "start",
            ),
            id="at",
            transform=f"translate({x(here):.1f} {y(here):.1f})",
        )
    )
    label = "In doubt against epsilon: " + ", ".join(
        f"{in_units(near(widths.at(mark)), unit)} at {limit(mark)}" for mark in marks
    )
    fate = "that exceed a line by" if doubt.missed else "that lack"
    wrongly = "may be missed" if doubt.missed else "may be listed wrongly"
    return tag(
        "figure",
        tag(
            "figcaption",
            tag(
                "b",
                f"In doubt: groups {fate} up to ",
                tag("output", told, class_="rows"),
                f"{of}.",
            ),
            " ",
            tag("span", f"They {wrongly}.", class_="soft"),
            class_="small",
        ),
        tag(
            "svg",
            parts,
            class_="curve",
            viewBox="0 0 360 150",
            role="img",
            aria_label=label,
            data_scale=f"{widths.scale:.10g}",
            data_aside=f"{widths.aside:.10g}",
            data_shared=widths.shared,
            data_low=f"{low:.10g}",
            data_high=f"{high:.10g}",
            data_unit=unit.strip(),
        ),
        slider(low, high, here, f", {told} in doubt"),
    )


def slider(low: float, high: float, here: float, told: str) -> Html:
    """What the query may spend, to be moved; scripts write it into the query."""
    return tag(
        "div",
        tag("label", "Spend at most, epsilon", for_="epsilon", class_="hide"),
        tag(
            "input",
            id="epsilon",
            type="range",
            min=f"{math.log10(low):.4f}",
            max=f"{math.log10(high):.4f}",
            step="0.01",
            value=f"{math.log10(here):.4f}",
            aria_valuetext=f"epsilon {price(here)}{told}",
        ),
        tag(
            "p",
            tag("span", "cheaper, more doubt"),
            tag("span", "dearer, less doubt", class_="end"),
            class_="row small soft",
        ),
    )


def near(width: float) -> str:
    """A width as exact as it is worth."""
    return number(float(math.ceil(width))) if width >= 10 else f"{width:.2g}"


def doubt_text(explained: Explanation, share: float = 1.0) -> str | None:
    """What stays in doubt where the decision costs so much of what it may; for asking back."""
    if explained.doubt is None or not explained.doubt.zones or explained.plan.figures:
        return None
    zone = explained.doubt.zones[0]
    if not zone.sql.lower().startswith("count("):
        return None
    return in_units(near(zone.widths[-1] / share), " rows")
