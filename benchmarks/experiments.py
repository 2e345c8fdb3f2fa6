"""The paper's experiments as a list of cells: one query, one algorithm, one setting each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from benchmarks.workload import SHAPES, TREES
from datasets.catalogue import DATASETS
from datasets.common import Aggregate, Dataset

ALGORITHMS = ("naive", "probe", "probe-naive", "probe-ent")
PROBES = ALGORITHMS[1:]
ATOMS = range(1, 7)

# The paper's parameters (section 6.1). u is the algorithms' own default: 12 % of the range
# for naive, 30 % at the start for the others.
BETA, ALPHA, EPSILON_MAX = 0.05, 0.1, 5.0
BOUNDS = (0.025, 0.05, 0.075, 0.1, 0.125, 0.15)
REGIONS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
SPLITS = (0.1, 0.4, 0.5, 0.6, 0.9)
SPLIT_BETAS = (5e-2, 5e-4, 5e-6)

EXPERIMENTS = {
    "atoms": "privacy and accuracy for 1 to 6 atoms, and min-entropy",
    "u": "varying the uncertain region of naive",
    "trees": "two equivalent query trees, leaf by leaf as written",
    "beta": "varying the bound on missed groups",
    "alpha": "varying the bound on false groups",
    "split": "dividing beta over the two phases",
    "average": "averages instead of counts",
    "kpi": "the four KPI queries of Table 2, one by one",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of one figure. `x` is the value that the experiment varies."""

    experiment: str
    dataset: str
    shape: str
    atoms: int
    algorithm: str
    x: float | str
    aggregates: str = "counts"
    first: int = 0  # of the dataset's aggregates, where the query begins
    as_written: bool = False
    shown: bool = False  # as if every aggregate of the condition were in the SELECT list
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return "/".join(
            map(
                str,
                (
                    self.experiment,
                    self.dataset,
                    self.shape,
                    self.atoms,
                    self.x,
                    self.algorithm,
                    *(["shown"] if self.shown else []),
                    *sorted(self.options.items()),
                ),
            )
        )

    @property
    def query(self) -> tuple[str, str, str, int, int]:
        """What decides the query: cells that agree here share one scan."""
        return self.dataset, self.aggregates, self.shape, self.atoms, self.first

    def columns(self) -> tuple[Aggregate, ...]:
        """The aggregates of the query."""
        dataset: Dataset = DATASETS[self.dataset]
        of: tuple[Aggregate, ...] = getattr(dataset, self.aggregates)
        return of[self.first : self.first + self.atoms]

    def accuracy(self) -> dict[str, Any]:
        """Options of the engine: the paper's, changed by what the experiment varies."""
        common = {"fnr": BETA, "fpr": ALPHA, "epsilon": EPSILON_MAX, "algorithm": self.algorithm}
        return common | self.options


def cells(experiments: Iterable[str], datasets: Iterable[str]) -> list[Cell]:
    """All cells of the named experiments that concern the named datasets."""
    wanted = set(datasets)
    return [cell for name in experiments for cell in _OF[name]() if cell.dataset in wanted]


def _atoms() -> Iterator[Cell]:
    for dataset, shape, atoms, algorithm in product(DATASETS, SHAPES, ATOMS, ALGORITHMS):
        yield Cell("atoms", dataset, shape, atoms, algorithm, atoms)


_TREE, _SPREAD, _MIRROR_TREE, _MIRROR_SPREAD = TREES


def _u() -> Iterator[Cell]:
    for share in REGIONS:
        yield Cell("u", "sales", _TREE, 3, "naive", share, options={"u": share})
    for algorithm in PROBES:
        yield Cell("u", "sales", _TREE, 3, algorithm, "own")


def _trees() -> Iterator[Cell]:
    for tree, algorithm in product(TREES, ALGORITHMS):
        yield Cell("trees", "sales", tree, 3, algorithm, "as written", as_written=True)
    for tree, algorithm in product((_SPREAD, _MIRROR_SPREAD), ALGORITHMS):
        yield Cell("trees", "sales", tree, 3, algorithm, "minimised")


def _beta() -> Iterator[Cell]:
    for bound, algorithm in product(BOUNDS, ALGORITHMS):
        yield Cell("beta", "nytaxi", "disjunction", 3, algorithm, bound, options={"fnr": bound})


def _alpha() -> Iterator[Cell]:
    for bound, algorithm in product(BOUNDS, ALGORITHMS):
        yield Cell("alpha", "nytaxi", "disjunction", 3, algorithm, bound, options={"fpr": bound})


def _split() -> Iterator[Cell]:
    for beta, split in product(SPLIT_BETAS, SPLITS):
        options = {"fnr": beta, "split": split}
        yield Cell("split", "nytaxi", "disjunction", 2, "probe", split, options=options)


def _average() -> Iterator[Cell]:
    for atoms, algorithm in product(ATOMS, ALGORITHMS):
        yield Cell("average", "sales", "conjunction", atoms, algorithm, atoms, "averages")


def _kpi() -> Iterator[Cell]:
    for number, algorithm in product(range(len(DATASETS["sales"].kpis)), ALGORITHMS):
        name = DATASETS["sales"].kpis[number].name
        yield Cell("kpi", "sales", "conjunction", 1, algorithm, name, "kpis", number)


_OF = {
    "atoms": _atoms,
    "u": _u,
    "trees": _trees,
    "beta": _beta,
    "alpha": _alpha,
    "split": _split,
    "average": _average,
    "kpi": _kpi,
}
