"""Where figures come from: commit, seed, versions, machine size. Written into every JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any


def commit() -> str:
    """The commit of this checkout, with '+' if files differ from it; 'unknown' without git."""
    folder = Path(__file__).parent

    def git(*words: str) -> str:
        result = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        )
        return result.stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + (
            "+" if git("status", "--porcelain") else ""
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def provenance(seed: int) -> dict[str, Any]:
    """What a reader needs to repeat a run."""
    return {
        "commit": commit(),
        "seed": seed,
        "python": platform.python_version(),
        "duckdb": version("duckdb"),
        "numpy": version("numpy"),
        "cores": os.cpu_count(),
    }


def write_records(
    path: Path, benchmark: str, seed: int, records: Sequence[Any], **more: Any
) -> None:
    """Write the records of a run, dataclasses all, with what is needed to repeat it."""
    document = {
        **provenance(seed),
        "benchmark": benchmark,
        **more,
        "records": [asdict(record) for record in records],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")
