"""The three datasets by name."""

from __future__ import annotations

from datasets import nytaxi, sales, uci
from datasets.common import Dataset

DATASETS: dict[str, Dataset] = {
    dataset.name: dataset for dataset in (nytaxi.DATASET, sales.DATASET, uci.DATASET)
}
