"""Rules that hold a claim against records: a verdict, and the figures it rests on.

They say what "close" and "higher" mean, so that nobody has to squint at a figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.experiments import ALGORITHMS, ALPHA, BETA, PROBES, SPLIT_BETAS
from benchmarks.workload import TREES

Record = dict[str, Any]
Finding = tuple[str, str]  # verdict, figures


def select(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """Records whose fields have these values."""
    return [r for r in records if all(r[name] == value for name, value in wanted.items())]


def _verdict(good: int, total: int) -> str:
    if good == total:
        return "yes"
    return "partly" if good >= total / 2 else "no"


def _known(records: Iterable[Record], name: str) -> list[Record]:
    return [r for r in records if r[name] is not None]


def _keyed(records: Iterable[Record], *names: str) -> dict[tuple[Any, ...], Record]:
    return {tuple(r[name] for name in names): r for r in records}


# --- one to six atoms -------------------------------------------------------------------


def fnr_held(records: list[Record]) -> Finding:
    cells = _known(select(records, experiment="atoms"), "fnr")
    good = [r for r in cells if r["fnr"] <= BETA]
    worst = max(cells, key=lambda r: r["fnr"])
    return _verdict(len(good), len(cells)), (
        f"{len(good)} of {len(cells)} cells at most {BETA:g}; the largest is {worst['fnr']:.3f}"
        f" ({_name(worst)})"
    )


def fnr_zero(records: list[Record]) -> Finding:
    few, many = (
        [r["fnr"] for r in _known(select(records, experiment="atoms"), "fnr") if r["atoms"] in n]
        for n in ((1,), (4, 5, 6))
    )
    verdict = "yes" if fmean(many) < 0.001 else "partly"
    return verdict, f"mean FNR {fmean(few):.4f} at one atom, {fmean(many):.4f} at four to six"


def fpr_held(records: list[Record]) -> Finding:
    cells = [
        r for r in _known(select(records, experiment="atoms"), "fpr") if r["algorithm"] in PROBES
    ]
    good = [r for r in cells if r["fpr"] <= ALPHA]
    worst = max(cells, key=lambda r: r["fpr"])
    return _verdict(len(good), len(cells)), (
        f"{len(good)} of {len(cells)} cells at most {ALPHA:g}; the largest is {worst['fpr']:.3f}"
        f" ({_name(worst)})"
    )


def naive_fpr(records: list[Record]) -> Finding:
    cells = _known(select(records, experiment="atoms"), "fpr")
    mean = {a: fmean([r["fpr"] for r in select(cells, algorithm=a)]) for a in ALGORITHMS}
    above = sum(r["fpr"] > ALPHA for r in select(cells, algorithm="naive"))
    good = sum(mean["naive"] > mean[a] for a in PROBES)
    return _verdict(good, len(PROBES)), (
        f"mean FPR {_list(mean)}; naive is above alpha in {above} cells"
    )


def largest_loss(records: list[Record]) -> Finding:
    cells = [r for r in select(records, experiment="atoms") if r["algorithm"] in PROBES]
    largest = {
        name: max(r["epsilon"] for r in select(cells, dataset=name))
        for name in dict.fromkeys(r["dataset"] for r in cells)
    }
    taxi, sales = largest.get("nytaxi", 0.0), largest.get("sales", 0.0)
    return ("yes" if taxi > sales else "no"), f"largest mean epsilon: {_list(largest, '.2f')}"


def naive_linear(records: list[Record]) -> Finding:
    fits = []
    for members in _series(records, "naive"):
        xs, ys = [r["atoms"] for r in members], [r["epsilon"] for r in members]
        if len(xs) > 2:
            steady = np.ptp(ys) == 0  # no line explains what does not vary
            fits.append(0.0 if steady else float(np.corrcoef(xs, ys)[0, 1] ** 2))
    if not fits:
        return "partly", "too few atoms to tell"
    good = sum(fit > 0.9 for fit in fits)
    return _verdict(good, len(fits)), (
        f"a straight line explains {min(fits):.0%} to {max(fits):.0%} of it, in {len(fits)} series"
    )


def probe_less(records: list[Record]) -> Finding:
    cells = _keyed(select(records, experiment="atoms"), "dataset", "shape", "atoms", "algorithm")
    many = [key for key in cells if key[2] >= 4 and key[3] == "probe"]
    good = sum(cells[key]["epsilon"] < cells[(*key[:3], "naive")]["epsilon"] for key in many)
    ratios = [cells[key]["epsilon"] / cells[(*key[:3], "naive")]["epsilon"] for key in many]
    return _verdict(good, len(many)), (
        f"from four atoms on, probe spends less than naive in {good} of {len(many)} cells"
        f" (median {float(np.median(ratios)):.1f} times naive's epsilon)"
    )


def ent_lowest(records: list[Record]) -> Finding:
    cells = _keyed(select(records, experiment="atoms"), "dataset", "shape", "atoms", "algorithm")
    keys = {key[:3] for key in cells}
    good = sum(
        cells[(*key, "probe-ent")]["epsilon"]
        <= 1.1 * min(cells[(*key, a)]["epsilon"] for a in PROBES)
        for key in keys
    )
    return _verdict(good, len(keys)), (
        f"lowest of the three ProBE algorithms, or within 10 % of it, in {good} of {len(keys)}"
    )


def grows(records: list[Record]) -> Finding:
    series = [s for a in ALGORITHMS for s in _series(records, a) if len(s) > 1]
    good = sum(s[-1]["epsilon"] > s[0]["epsilon"] for s in series)
    return _verdict(good, len(series)), (
        f"higher at {series[0][-1]['atoms']} atoms than at one in {good} of {len(series)} series"
    )


def shapes_alike(records: list[Record], first: str, second: str) -> Finding:
    cells = _keyed(select(records, experiment="atoms"), "dataset", "shape", "atoms", "algorithm")
    ratios = [
        cells[(d, second, n, a)]["epsilon"] / r["epsilon"]
        for (d, s, n, a), r in cells.items()
        if s == first and n > 1 and a in PROBES and (d, second, n, a) in cells
    ]
    if not ratios:
        return "partly", "only one atom was run"
    good = sum(0.8 <= ratio <= 1.25 for ratio in ratios)
    return _verdict(good, len(ratios)), (
        f"epsilon of a {second} is {float(np.median(ratios)):.2f} times that of a {first} in the"
        f" median, {min(ratios):.2f} to {max(ratios):.2f} overall"
    )


def even_split(records: list[Record]) -> Finding:
    cells = _keyed(select(records, experiment="atoms"), "dataset", "shape", "atoms", "algorithm")
    pairs = [
        (cells[(*key[:3], "probe-naive")]["epsilon"], r["epsilon"])
        for key, r in cells.items()
        if key[3] == "probe" and key[2] > 1
    ]
    if not pairs:
        return "partly", "only one atom was run"
    good = sum(even > own for even, own in pairs)
    ratio = float(np.median([even / own for even, own in pairs]))
    return _verdict(good, len(pairs)), (
        f"probe-naive spends more in {good} of {len(pairs)} cells, {ratio:.2f} times in the median"
    )


def single_atom(records: list[Record]) -> Finding:
    cells = _keyed(select(records, experiment="atoms", atoms=1), "dataset", "shape", "algorithm")
    keys = [key for key in cells if key[2] == "probe"]
    ratios = [cells[key]["epsilon"] / cells[(*key[:2], "naive")]["epsilon"] for key in keys]
    good = sum(0.9 <= ratio <= 1.1 for ratio in ratios)
    runs = [run["draws"] > 1 for key in keys for run in cells[key]["runs"]]
    again = fmean(runs) if runs else 0.0
    return _verdict(good, len(ratios)), (
        f"probe spends {min(ratios):.1f} to {max(ratios):.1f} times what naive does; its second"
        f" phase ran in {again:.0%} of the runs"
    )


def naive_fpr_rises(records: list[Record]) -> Finding:
    series = [
        _known(members, "fpr")
        for members in _series(records, "naive")
        if members[0]["shape"] != "disjunction" and members[0]["dataset"] != "sales"
    ]
    ends = [(members[0]["fpr"], members[-1]["fpr"]) for members in series if len(members) > 1]
    return _verdict(sum(last > first for first, last in ends), len(ends)), (
        "FPR from one atom to the most: "
        + ", ".join(f"{first:.3f} to {last:.3f}" for first, last in ends)
    )


def sales_fpr_falls(records: list[Record]) -> Finding:
    series = [
        _known(members, "fpr")
        for algorithm in ALGORITHMS
        for members in _series(records, algorithm)
        if members[0]["dataset"] == "sales" and members[0]["shape"] != "disjunction"
    ]
    ends = [(members[0]["fpr"], members[-1]["fpr"]) for members in series if len(members) > 1]
    good = sum(last < first for first, last in ends)
    return _verdict(good, len(ends)), f"lower at the end in {good} of {len(ends)} series"


# --- the other experiments ----------------------------------------------------------------


def region(records: list[Record]) -> Finding:
    naive = sorted(select(records, experiment="u", algorithm="naive"), key=lambda r: r["x"])
    falls = all(a["epsilon"] > b["epsilon"] for a, b in pairwise(naive))
    rises = all(a["fpr"] <= b["fpr"] for a, b in pairwise(naive))
    ends = naive[0], naive[-1]
    return _verdict(falls + rises, 2), (
        f"epsilon {ends[0]['epsilon']:.3f} to {ends[1]['epsilon']:.3f}, FPR"
        f" {ends[0]['fpr']:.3f} to {ends[1]['fpr']:.3f} from u = 5 % to 30 %"
    )


def trees(records: list[Record]) -> Finding:
    cells = _keyed(select(records, experiment="trees", x="as written"), "shape", "algorithm")
    names = list(TREES)
    pairs = [
        cells[(spread, a)]["epsilon"] / cells[(grouped, a)]["epsilon"]
        for grouped, spread in ((names[0], names[1]), (names[2], names[3]))
        for a in ALGORITHMS
    ]
    return _verdict(sum(r > 1 for r in pairs), len(pairs)), (
        f"the distributed tree costs {min(pairs):.2f} to {max(pairs):.2f} times the grouped one"
    )


def trees_fpr(records: list[Record]) -> Finding:
    own = select(records, experiment="trees", x="as written", algorithm="naive")
    rates = {r["shape"]: r["fpr"] or 0.0 for r in own}
    names = list(TREES)
    pairs = [(rates[names[0]], rates[names[1]]), (rates[names[2]], rates[names[3]])]
    return _verdict(sum(spread > grouped for grouped, spread in pairs), 2), (
        "naive's FPR, grouped and distributed: "
        + ", ".join(f"{grouped:.3f} and {spread:.3f}" for grouped, spread in pairs)
    )


def trees_minimised(records: list[Record]) -> Finding:
    cells = _keyed(select(records, experiment="trees"), "shape", "x", "algorithm")
    names = list(TREES)
    pairs = [
        cells[(spread, "minimised", a)]["epsilon"] / cells[(grouped, "as written", a)]["epsilon"]
        for grouped, spread in ((names[0], names[1]), (names[2], names[3]))
        for a in ALGORITHMS
    ]
    return _verdict(sum(0.8 <= r <= 1.25 for r in pairs), len(pairs)), (
        f"minimised, it costs {min(pairs):.2f} to {max(pairs):.2f} times the grouped one"
    )


def falls_with(records: list[Record], experiment: str, algorithms: Iterable[str]) -> Finding:
    texts, good, total = [], 0, 0
    for algorithm in algorithms:
        own = select(records, experiment=experiment, algorithm=algorithm)
        series = sorted(own, key=lambda r: r["x"])
        first, last = series[0]["epsilon"], series[-1]["epsilon"]
        good += last < first
        total += 1
        texts.append(f"{algorithm} {first:.2f} to {last:.2f}")
    return _verdict(good, total), "epsilon from 0.025 to 0.15: " + ", ".join(texts)


def rates_held(records: list[Record], experiment: str) -> Finding:
    cells = _known(select(records, experiment=experiment), "fnr")
    good = 0
    for r in cells:
        beta, alpha = r["options"].get("fnr", BETA), r["options"].get("fpr", ALPHA)
        good += r["fnr"] <= beta and (r["algorithm"] == "naive" or r["fpr"] <= alpha)
    return _verdict(
        good, len(cells)
    ), f"both bounds held in {good} of {len(cells)} cells with answers"


def alpha_constant(records: list[Record]) -> Finding:
    naive = [r["epsilon"] for r in select(records, experiment="alpha", algorithm="naive")]
    spread = max(naive) - min(naive)
    return ("yes" if spread < 1e-9 else "no"), f"naive's epsilon varies by {spread:.2g}"


def alpha_flat(records: list[Record]) -> Finding:
    cells = _keyed(select(records, experiment="alpha"), "algorithm", "x")
    ratios = {a: cells[a, 0.15]["epsilon"] / cells[a, 0.1]["epsilon"] for a in PROBES}
    good = sum(ratio > 0.9 for ratio in ratios.values())
    return _verdict(good, len(ratios)), (
        f"epsilon at alpha = 0.15 as a share of that at 0.1: {_list(ratios, '.2f')}"
    )


def split(records: list[Record]) -> Finding:
    cells = select(records, experiment="split")
    spreads = []
    for beta in SPLIT_BETAS:
        own = [r["epsilon"] for r in cells if r["options"]["fnr"] == beta]
        spreads.append(max(own) / min(own))
    good = sum(spread < 1.25 for spread in spreads)
    return _verdict(good, len(spreads)), "largest / smallest epsilon over the splits: " + ", ".join(
        f"{spread:.2f} (beta {beta:g})" for beta, spread in zip(SPLIT_BETAS, spreads, strict=True)
    )


def split_fpr(records: list[Record]) -> Finding:
    cells = _known(select(records, experiment="split"), "fpr")
    ends = []
    for beta in SPLIT_BETAS:
        own = {r["x"]: r["fpr"] for r in cells if r["options"]["fnr"] == beta}
        if 0.1 in own and 0.9 in own:
            ends.append((own[0.1], own[0.9]))
    return _verdict(sum(last > first for first, last in ends), len(ends)), (
        "FPR with a tenth and with nine tenths of beta in phase one: "
        + ", ".join(f"{first:.3f} and {last:.3f}" for first, last in ends)
    )


def split_beta(records: list[Record]) -> Finding:
    cells = select(records, experiment="split")
    means = [fmean([r["epsilon"] for r in cells if r["options"]["fnr"] == b]) for b in SPLIT_BETAS]
    rising = means[0] < means[1] < means[2]
    return ("yes" if rising else "no"), "mean epsilon " + ", ".join(
        f"{mean:.2f} (beta {beta:g})" for beta, mean in zip(SPLIT_BETAS, means, strict=True)
    )


def entropy(records: list[Record], experiment: str) -> Finding:
    cells = _keyed(select(records, experiment=experiment), "dataset", "shape", "atoms", "algorithm")
    keys = {key[:3] for key in cells}
    good = sum(
        cells[(*key, "probe-ent")]["min_entropy"]
        >= max(cells[(*key, a)]["min_entropy"] for a in ALGORITHMS) - 0.01
        for key in keys
    )
    of_probes = sum(
        cells[(*key, "probe-ent")]["min_entropy"]
        >= max(cells[(*key, a)]["min_entropy"] for a in PROBES) - 0.01
        for key in keys
    )
    lowest = {
        a: min(r["min_entropy"] for r in cells.values() if r["algorithm"] == a) for a in ALGORITHMS
    }
    return _verdict(good, len(keys)), (
        f"probe-ent is highest, or within 0.01 of it, in {good} of {len(keys)} cells"
        f" ({of_probes} among the ProBE algorithms); lowest values: {_list(lowest, '.2f')}"
    )


def average_higher(records: list[Record]) -> Finding:
    averages = _keyed(select(records, experiment="average"), "atoms", "algorithm")
    counts = _keyed(
        select(records, experiment="atoms", dataset="sales", shape="conjunction"),
        "atoms",
        "algorithm",
    )
    keys = [key for key in averages if key in counts and averages[key]["denied"] < 0.1]
    if not keys:
        return "partly", "counts were not run"
    ratios = [averages[key]["epsilon"] / counts[key]["epsilon"] for key in keys]
    good = sum(ratio > 1 for ratio in ratios)
    return _verdict(good, len(keys)), (
        f"higher in {good} of {len(keys)} cells that were answered in nine of ten runs,"
        f" {float(np.median(ratios)):.1f} times in the median"
    )


def average_lowest(records: list[Record]) -> Finding:
    cells = _keyed(select(records, experiment="average"), "atoms", "algorithm")
    answered = {n for n, _ in cells if all(cells[(n, a)]["denied"] < 0.1 for a in PROBES)}
    good = sum(
        cells[(n, "probe-ent")]["epsilon"] <= 1.1 * min(cells[(n, a)]["epsilon"] for a in PROBES)
        for n in answered
    )
    return _verdict(good, len(answered)), (
        f"lowest of the ProBE algorithms, or within 10 %, in {good} of the {len(answered)} sizes"
        " that all of them answered in nine of ten runs"
    )


def average_denied(records: list[Record]) -> Finding:
    cells = select(records, experiment="average")
    shares = {a: max(r["denied"] for r in select(cells, algorithm=a)) for a in ALGORITHMS}
    return ("yes" if max(shares.values()) == 0 else "no"), (
        f"largest share of denied runs: {_list(shares, '.2f')}"
    )


# --- helpers -----------------------------------------------------------------


def _series(records: list[Record], algorithm: str) -> list[list[Record]]:
    """For each dataset and shape, an algorithm's cells by number of atoms."""
    own = select(records, experiment="atoms", algorithm=algorithm)
    keys = dict.fromkeys((r["dataset"], r["shape"]) for r in own)
    return [sorted(select(own, dataset=d, shape=s), key=lambda r: r["atoms"]) for d, s in keys]


def _name(record: Record) -> str:
    return f"{record['dataset']}, {record['shape']}, {record['atoms']}, {record['algorithm']}"


def _list(values: dict[str, float], form: str = ".3f") -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
