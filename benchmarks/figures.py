"""The paper's figures, redrawn from records: colour-blind safe, with units and bounds."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from benchmarks.experiments import ALGORITHMS, ALPHA, BETA, EPSILON_MAX, REGIONS
from benchmarks.workload import SHAPES, TREES

Record = dict[str, Any]

mpl.use("Agg")
mpl.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True})

# Okabe and Ito's palette; markers tell the lines apart without colour.
STYLE: dict[str, dict[str, Any]] = {
    "naive": {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    "probe": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "probe-naive": {"color": "#56B4E9", "marker": "^", "linestyle": "-."},
    "probe-ent": {"color": "#009E73", "marker": "D", "linestyle": ":"},
}
NAMES = {"nytaxi": "Taxi", "sales": "Sales", "uci": "Campus"}
SHOWN_DENIED = 0.1  # markers of cells with more denials than this are hollow


def select(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """Records whose fields have these values."""
    return [r for r in records if all(r[name] == value for name, value in wanted.items())]


def png(figure: Figure) -> bytes:
    """The figure as a PNG of few colours, a third of the size."""
    full, small = io.BytesIO(), io.BytesIO()
    figure.savefig(full, format="png", dpi=110, bbox_inches="tight")
    with Image.open(full) as picture:
        picture.convert("RGB").quantize(48).save(small, format="png", optimize=True)
    return small.getvalue()


def _line(axes: Axes, members: list[Record], algorithm: str, value: str) -> None:
    style = STYLE[algorithm]
    points = sorted((r["x"], r[value], r["denied"]) for r in members if r[value] is not None)
    if not points:
        return
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    axes.plot(xs, ys, linewidth=1.4, color=style["color"], linestyle=style["linestyle"])
    for x, y, denied in points:
        face = "white" if denied > SHOWN_DENIED else style["color"]
        axes.plot(
            [x],
            [y],
            marker=style["marker"],
            color=style["color"],
            markersize=5,
            markerfacecolor=face,
            linestyle="none",
        )


def _bound(axes: Axes, at: float, text: str) -> None:
    axes.axhline(at, color="black", linewidth=0.9, linestyle=(0, (5, 3)))
    axes.annotate(
        text, (1, at), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7
    )


def _legend(figure: Figure, algorithms: Sequence[str], extra: Sequence[Line2D] = ()) -> None:
    handles = [Line2D([], [], label=name, markersize=5, **STYLE[name]) for name in algorithms]
    hollow = Line2D(
        [],
        [],
        marker="o",
        color="grey",
        markerfacecolor="white",
        linestyle="none",
        label=f"hollow: over {SHOWN_DENIED:.0%} of the runs denied",
    )
    figure.legend(
        handles=[*handles, *extra, hollow],
        loc="lower center",
        ncols=5,
        fontsize=8,
        bbox_to_anchor=(0.5, 1.0),
    )


_LABELS = {
    "epsilon": "privacy loss epsilon",
    "fnr": "missed groups (FNR)",
    "fpr": "false groups (FPR)",
    "min_entropy": "min-entropy / ln k",
    "denied": "denied runs",
}


def _decorate(
    axes: Axes, value: str, beta: float | None = BETA, alpha: float | None = ALPHA
) -> None:
    if value == "epsilon":
        top = axes.get_ylim()[1]
        axes.set_ylim(0, max(top, 1e-3))
        if top > 0.5 * EPSILON_MAX:
            axes.set_ylim(0, 1.08 * EPSILON_MAX)
            _bound(axes, EPSILON_MAX, f"epsilon_max = {EPSILON_MAX:g}")
    elif value == "fnr" and beta is not None:
        _bound(axes, beta, f"beta = {beta:g}")
        axes.set_ylim(-0.002, max(axes.get_ylim()[1], 1.25 * beta))
    elif value == "fpr" and alpha is not None:
        _bound(axes, alpha, f"alpha = {alpha:g}")
        axes.set_ylim(-0.004, max(axes.get_ylim()[1], 1.25 * alpha))
    elif value == "min_entropy":
        axes.set_ylim(0, 1.05)


def grid(records: list[Record], value: str, shapes: Sequence[str] = SHAPES) -> Figure:
    """A panel for each dataset (row) and shape (column): `value` against the number of atoms."""
    members = select(records, experiment="atoms")
    datasets = [name for name in NAMES if select(members, dataset=name)]
    figure = Figure(figsize=(3.1 * len(shapes), 2.2 * len(datasets)), layout="constrained")
    panels = figure.subplots(len(datasets), len(shapes), squeeze=False, sharex=True)
    for row, dataset in enumerate(datasets):
        for column, shape in enumerate(shapes):
            axes = panels[row][column]
            for algorithm in ALGORITHMS:
                of = select(members, dataset=dataset, shape=shape, algorithm=algorithm)
                _line(axes, of, algorithm, value)
            _decorate(axes, value)
            axes.set_title(f"{NAMES[dataset]}, {shape}", fontsize=9)
            if row == len(datasets) - 1:
                axes.set_xlabel("atoms")
            if column == 0:
                axes.set_ylabel(_LABELS[value])
    _legend(figure, ALGORITHMS)
    return figure


def _row(
    members: list[Record],
    values: Sequence[str],
    label: str,
    *,
    beta: float | None = BETA,
    alpha: float | None = ALPHA,
    diagonal: str | None = None,
) -> Figure:
    """Panels side by side, one for each value, against what the experiment varies."""
    figure = Figure(figsize=(3.1 * len(values), 2.5), layout="constrained")
    for axes, value in zip(figure.subplots(1, len(values), squeeze=False)[0], values, strict=True):
        for algorithm in ALGORITHMS:
            _line(axes, select(members, algorithm=algorithm), algorithm, value)
        _decorate(axes, value, beta, alpha)
        if value == diagonal:
            xs = sorted({r["x"] for r in members})
            axes.plot(xs, xs, color="black", linewidth=0.9, linestyle=(0, (5, 3)))
            axes.annotate("bound", (xs[-1], xs[-1]), fontsize=7, ha="right", va="bottom")
        axes.set_xlabel(label)
        axes.set_ylabel(_LABELS[value])
    _legend(figure, ALGORITHMS)
    return figure


def uncertain_region(records: list[Record]) -> Figure:
    """Naive at various u; the others choose u themselves and are drawn as constants."""
    members = []
    for record in select(records, experiment="u"):
        if record["algorithm"] == "naive":
            members.append(record)
        else:
            members += [{**record, "x": share} for share in REGIONS]
    members = [{**record, "x": 100 * record["x"]} for record in members]
    return _row(members, ("epsilon", "fnr", "fpr"), "u of naive (% of the range)")


def vary_beta(records: list[Record]) -> Figure:
    """Loss and rates against the bound on missed groups."""
    members = select(records, experiment="beta")
    return _row(members, ("epsilon", "fnr", "fpr"), "beta", beta=None, diagonal="fnr")


def vary_alpha(records: list[Record]) -> Figure:
    """Loss and rates against the bound on false groups."""
    members = select(records, experiment="alpha")
    return _row(members, ("epsilon", "fnr", "fpr"), "alpha", alpha=None, diagonal="fpr")


def averages(records: list[Record]) -> Figure:
    """Averages: loss, min-entropy and rates against the number of atoms."""
    members = select(records, experiment="average")
    return _row(members, ("epsilon", "min_entropy", "fnr", "fpr"), "atoms")


def trees(records: list[Record]) -> Figure:
    """Bars for two pairs of equivalent trees, as written and as the engine rewrites them."""
    members = select(records, experiment="trees")
    figure = Figure(figsize=(9.3, 4.6), layout="constrained")
    panels = figure.subplots(2, 2, squeeze=False)
    first, spread, mirror, mirror_spread = TREES
    for row, (grouped, distributed) in enumerate(((first, spread), (mirror, mirror_spread))):
        for column, value in enumerate(("epsilon", "fpr")):
            _bars(panels[row][column], members, value, grouped, distributed)
    return figure


def _bars(axes: Axes, members: list[Record], value: str, grouped: str, distributed: str) -> None:
    kinds = (
        (grouped, "as written", "#0072B2", ""),
        (distributed, "as written", "#D55E00", "//"),
        (distributed, "minimised", "#009E73", ".."),
    )
    for index, (tree, form, colour, hatch) in enumerate(kinds):
        heights = []
        for algorithm in ALGORITHMS:
            of = select(members, shape=tree, x=form, algorithm=algorithm)
            heights.append(of[0][value] or 0.0 if of else 0.0)
        middles = [number + (index - 1) * 0.27 for number in range(len(ALGORITHMS))]
        label = tree if form == "as written" else f"{tree}, minimised"
        axes.bar(middles, heights, 0.25, color=colour, hatch=hatch, edgecolor="white", label=label)
    axes.set_xticks(range(len(ALGORITHMS)), ALGORITHMS)
    axes.set_ylabel(_LABELS[value])
    if value == "fpr":
        _bound(axes, ALPHA, f"alpha = {ALPHA:g}")
    axes.set_ylim(0, 1.45 * axes.get_ylim()[1])
    axes.legend(fontsize=6.5, loc="upper right")


FIGURES: dict[str, Callable[[list[Record]], Figure]] = {
    "privacy": lambda records: grid(records, "epsilon"),
    "missed": lambda records: grid(records, "fnr"),
    "false": lambda records: grid(records, "fpr"),
    "entropy": lambda records: grid(records, "min_entropy"),
    "region": uncertain_region,
    "trees": trees,
    "beta": vary_beta,
    "alpha": vary_alpha,
    "average": averages,
}
NEEDS = {
    "privacy": "atoms", "missed": "atoms", "false": "atoms", "entropy": "atoms", "region": "u",
    "trees": "trees", "beta": "beta", "alpha": "alpha", "average": "average",
}  # fmt: skip


def drawn(records: list[Record]) -> dict[str, bytes]:
    """All figures for which there are records, as PNG."""
    present = {record["experiment"] for record in records}
    return {name: png(make(records)) for name, make in FIGURES.items() if NEEDS[name] in present}
