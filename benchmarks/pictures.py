"""Draw the pictures of the documentation: what a line and its doubt are, the walk of a query, a
month of a budget, a year of monthly ones, what caps do, the ladder beside the paper's algorithm."""

from __future__ import annotations

import argparse
import math
import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "pictures"
INK, SOFT, RULE, PAPER = "#1a1c1e", "#5a5f63", "#e2e2dc", "#ffffff"
SURE, DOUBT, BAD = "#0c6b5b", "#8a5000", "#b0251a"
WIDTH = 720


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: int = 13,
    fill: str = INK,
    anchor: str = "start",
    weight: int = 400,
) -> str:
    """One line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )


def paragraph(x: float, y: float, words: str, fill: str = INK, width: int = 100) -> list[str]:
    """Several lines of text."""
    return [text(x, y + 18 * n, row, fill=fill) for n, row in enumerate(wrap(words, width))]


def line(
    x1: float, y1: float, x2: float, y2: float, colour: str = INK, width: float = 1, dash: str = ""
) -> str:
    """A straight line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" '
        f'stroke-width="{width:g}"{dashed}/>'
    )


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    stroke: str = "none",
    opacity: float = 1,
) -> str:
    """A rectangle with round corners."""
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" '
        f'stroke="{stroke}" fill-opacity="{opacity:g}"/>'
    )


def path(points: Iterable[tuple[float, float]], colour: str, fill: str = "none") -> str:
    """A line through points."""
    joined = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{joined}" fill="{fill}" stroke="{colour}" stroke-width="2"/>'


def dot(x: float, y: float, colour: str, *, full: bool) -> str:
    """A group: a full dot is certain, a hollow one possible."""
    fill = colour if full else PAPER
    return f'<circle cx="{x:g}" cy="{y:g}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'


def picture(height: int, title: str, parts: Sequence[str]) -> str:
    """A picture with its title for those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif"><title>{escape(title)}</title>\n'
        + box(0, 0, WIDTH, height, PAPER)
        + "\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


# --- the pictures ----------------------------------------------------------------------------


def doubt() -> str:
    """The line, three groups with their noise, and the zone below the line at five epsilons."""

    def at(rows: float) -> float:
        return 60 + (rows - 380) * 600 / 240

    threshold, epsilon = 500, 0.1
    zone = 2 * math.log(1 / (2 * 0.05)) / epsilon
    base = 170
    parts = [
        text(20, 28, "Which groups have more than 500 rows?", size=18, weight=600),
        box(
            at(threshold - zone),
            50,
            at(threshold) - at(threshold - zone),
            base - 50,
            DOUBT,
            opacity=0.14,
        ),
        line(at(threshold), 44, at(threshold), base, INK, 2),
        text(at(threshold) + 6, 56, "the line"),
        text(at(threshold - zone) + 6, 66, "zone of doubt", fill=DOUBT),
        line(60, base, 660, base, SOFT),
    ]
    for rows, colour, full, word in (
        (405, SOFT, False, "405: left out"),
        (478, DOUBT, False, "478: perhaps listed"),
        (575, SURE, True, "575: listed"),
    ):
        bell = [(at(rows + v), base - 44 * math.exp(-epsilon * abs(v))) for v in range(-60, 61, 2)]
        parts.append(path(bell, colour))
        parts.append(dot(at(rows), base, colour, full=full))
        parts.append(text(at(rows), base + 22, word, fill=colour, anchor="middle"))
    parts += paragraph(
        20,
        232,
        "Noise hides every single row. So a group just below the line cannot be told from one "
        "just above it. A true group is missed at most once in twenty times; the price is that "
        "groups in the zone may be listed. More epsilon, less doubt:",
    )
    for number, spent in enumerate((0.01, 0.03, 0.1, 0.3, 1)):
        y = 296 + number * 24
        rows = math.ceil(2 * math.log(1 / (2 * 0.05)) / spent)
        parts.append(text(110, y, f"epsilon {spent:g}", anchor="end"))
        parts.append(box(124, y - 12, max(2, rows * 1.0), 14, DOUBT, opacity=0.7))
        parts.append(text(132 + max(2, rows), y, f"{rows} rows", fill=SOFT))
    return picture(416, "A line at 500 rows, three groups with noise, and the zone of doubt", parts)


def walk() -> str:
    """How a query walks through the engine."""
    steps = (
        ("Read", "SQL is understood", "or refused, free"),
        ("Plan", "what is measured,", "what it may cost"),
        ("Charge", "the ledger notes", "the most it costs"),
        ("Scan", "exact sums stay", "in the vault"),
        ("Draw", "noise is added,", "level by level"),
        ("Settle", "the real price", "and the answer"),
    )
    parts = [text(20, 28, "The walk of a query", size=18, weight=600)]
    for number, (name, first, second) in enumerate(steps):
        x = 20 + number * 116
        inside = name in ("Scan", "Draw")
        parts.append(box(x, 50, 102, 84, "#f3f3ef", BAD if inside else RULE))
        parts.append(text(x + 51, 76, name, size=15, anchor="middle", weight=600))
        parts.append(text(x + 51, 100, first, size=10, fill=SOFT, anchor="middle"))
        parts.append(text(x + 51, 116, second, size=10, fill=SOFT, anchor="middle"))
        if number < len(steps) - 1:
            parts.append(line(x + 104, 92, x + 114, 92, INK, 2))
    parts += [
        text(20, 164, "free: nothing private is read", fill=SURE),
        text(252, 164, "durable before the first row is read", fill=DOUBT),
        text(
            20, 190, "Only the steps with a red rim see exact values, and only noise leaves them."
        ),
    ]
    return picture(208, "Read, plan, charge, scan, draw, settle", parts)


def month() -> str:
    """What a budget of 10 becomes in a month: new questions cost, repeated ones do not."""
    left, right, top, bottom, whole = 60, 690, 60, 240, 10.0
    made_up = random.Random(5)
    spent, points, free = 0.0, [(float(left), float(bottom))], []
    for day in range(30):
        x = left + (right - left) * (day + 1) / 30
        for _ in range(made_up.choice((0, 0, 1, 1, 2)) if day % 7 < 5 else 0):
            cost = made_up.choice((0.05, 0.1, 0.2, 0.4))
            points.append((x, points[-1][1]))
            spent += cost
            points.append((x, bottom - (bottom - top) * spent / whole))
        if day % 7 < 5:
            free.append(x)
    points.append((right, points[-1][1]))
    parts = [
        text(20, 28, "A month of a budget", size=18, weight=600),
        line(left, top, right, top, BAD, 2, "6 4"),
        text(right, top - 6, "epsilon 10: all there will ever be", fill=BAD, anchor="end"),
        line(left, bottom, right, bottom, SOFT),
        path(points, SURE),
        text(right, points[-1][1] - 8, f"spent: {spent:.2f}", fill=SURE, anchor="end"),
        *(dot(x, bottom + 16, SOFT, full=False) for x in free),
        *paragraph(
            left,
            bottom + 46,
            "A new question costs what it needs. The dashboard is opened every working day "
            "(circles): the same questions, answered by what was released before, cost nothing. "
            "Days and prices are made up.",
            SOFT,
            96,
        ),
    ]
    return picture(320, "The spent part of a budget over thirty days", parts)


def periods() -> str:
    """What each month of a year has spent where each has a budget of its own."""
    left, right, top, bottom, each = 60, 690, 70, 230, 2.0
    made_up = random.Random(3)
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    all_year = 0.3  # questions whose WHERE excludes no month
    wide = (right - left) / len(months)
    parts = [
        text(20, 28, "A budget for each month", size=18, weight=600),
        line(left, top, right, top, BAD, 2, "6 4"),
        text(
            right, top - 6, "epsilon 2 for the rows of each month, for ever", fill=BAD, anchor="end"
        ),
        line(left, bottom, right, bottom, SOFT),
    ]
    for number, name in enumerate(months):
        x = left + wide * (number + 0.5)
        own = made_up.uniform(0.5, each - all_year) if number < 9 else 0.0
        base = bottom - (bottom - top) * all_year / each
        parts.append(line(x, bottom, x, base, SURE, 22))
        if own:
            parts.append(line(x, base, x, base - (bottom - top) * own / each, DOUBT, 22))
        parts.append(text(x, bottom + 18, name, anchor="middle"))
    parts += [
        text(left + wide * 9.1, bottom - 100, "no rows yet:", fill=DOUBT),
        text(left + wide * 9.1, bottom - 80, "nothing but what", fill=DOUBT),
        text(left + wide * 9.1, bottom - 60, "every month pays", fill=DOUBT),
        *paragraph(
            left,
            bottom + 46,
            "Below: questions that exclude no month, and are charged to all. Above: questions "
            "about single months. What a month has spent stays spent; a new month brings its own. "
            "Amounts are made up.",
            SOFT,
            96,
        ),
    ]
    return picture(330, "What the rows of each month of a year have spent of their budget", parts)


def caps() -> str:
    """What a cap on a person's rows does to a count: rows that are left out, and noise."""
    left, right, top, bottom = 70, 680, 60, 250
    made_up = random.Random(11)
    people = [max(1, round(made_up.lognormvariate(1.2, 0.9))) for _ in range(800)]
    total, epsilon = sum(people), 0.1
    chosen = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40]
    lost = [total - sum(min(rows, cap) for rows in people) for cap in chosen]
    noise = [math.log(1 / 0.05) * cap / epsilon for cap in chosen]
    most = 1_600.0

    def at(number: int, value: float) -> tuple[float, float]:
        x = left + (right - left) * number / (len(chosen) - 1)
        return x, bottom - (bottom - top) * min(value, most) / most

    both = [a + b for a, b in zip(lost, noise, strict=True)]
    best = min(range(len(chosen)), key=both.__getitem__)
    parts = [
        text(20, 28, "What a cap on each person's rows does to a count", size=18, weight=600),
        line(left, bottom, right, bottom, SOFT),
        path([at(n, v) for n, v in enumerate(lost) if v <= most], DOUBT),
        path([at(n, v) for n, v in enumerate(noise)], BAD),
        path([at(n, v) for n, v in enumerate(both) if v <= most], INK),
        dot(*at(best, both[best]), INK, full=True),
        text(
            at(best, 0)[0],
            at(best, both[best])[1] - 14,
            f"least error: cap {chosen[best]}",
            anchor="middle",
            weight=600,
        ),
        text(
            right,
            at(len(chosen) - 1, noise[-1])[1] - 16,
            "noise grows with the cap",
            fill=BAD,
            anchor="end",
        ),
        text(at(5, 0)[0], top + 30, "rows left out", fill=DOUBT),
        *(
            text(at(n, 0)[0], bottom + 18, str(cap), fill=SOFT, anchor="middle")
            for n, cap in enumerate(chosen)
        ),
        text(
            (left + right) / 2,
            bottom + 38,
            "rows that one person may have in the answer",
            fill=SOFT,
            anchor="middle",
        ),
        *paragraph(
            20,
            bottom + 70,
            f"800 made-up people with {total:,} rows, one count at epsilon 0.1, margin at 95 %. A "
            "low cap leaves rows out; a high one needs more noise. The best cap is far below what "
            "the busiest person has.",
            SOFT,
        ),
    ]
    return picture(350, "Rows left out and noise, against the cap", parts)


def ladder() -> str:
    """Epsilon of the paper's algorithm, the ladder and the limit, as the experiments have it."""
    table = (ROOT / "docs" / "experiments" / "ladder.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in found.strip("|\n").split("|")]
        for found in re.findall(r"^\| (?:taxi|sales|campus) \|.*$", table, re.MULTILINE)
    ]
    parts = [
        text(20, 28, "Six conditions in one question: what it costs", size=18, weight=600),
        text(20, 50, "Mean epsilon, on a logarithmic scale. Both keep the same bounds.", fill=SOFT),
    ]
    y = 80

    def along(value: float) -> float:
        return 150 + 500 * (math.log10(value) + 2.2) / 2.9

    for data, shape, atoms, *cells in rows:
        if atoms != "6":
            continue
        probe = float(cells[1].split()[0])
        ours, ratio = float(cells[5]), float(cells[-1])
        parts.append(text(20, y + 4, f"{data}, {shape}"))
        parts.append(line(along(ours), y, along(probe), y, RULE, 3))
        parts.append(line(along(ours / ratio), y - 8, along(ours / ratio), y + 8, SOFT, 2))
        parts.append(dot(along(ours), y, SURE, full=True))
        parts.append(dot(along(probe), y, DOUBT, full=True))
        parts.append(text(along(probe) + 10, y + 4, f"{probe / ours:.0f} times", fill=SOFT))
        y += 30
    for value in (0.01, 0.1, 1):
        parts.append(line(along(value), 62, along(value), y, RULE))
        parts.append(text(along(value), y + 14, f"{value:g}", fill=SOFT, anchor="middle"))
    parts += [
        dot(26, y + 38, SURE, full=True),
        text(38, y + 42, "ladder"),
        dot(116, y + 38, DOUBT, full=True),
        text(128, y + 42, "probe, the paper's algorithm"),
        line(330, y + 30, 330, y + 46, SOFT, 2),
        text(338, y + 42, "the least that anybody can do"),
    ]
    return picture(y + 60, "Epsilon of probe and ladder for six conditions", parts)


PICTURES = {
    "doubt": doubt, "walk": walk, "month": month, "periods": periods, "caps": caps,
    "ladder": ladder,
}  # fmt: skip


def main(argv: Sequence[str]) -> int:
    """Write all pictures."""
    argparse.ArgumentParser(prog="python -m benchmarks pictures", description=__doc__).parse_args(
        argv
    )
    FOLDER.mkdir(exist_ok=True)
    for name, drawn in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(drawn(), encoding="utf-8")
        print(f"docs/pictures/{name}.svg")
    return 0
