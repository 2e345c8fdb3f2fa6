"""Where figures come from: commit, seed, versions, machine size. Written into every JSON."""

from __future__ import annotations

import os
import platform
import subprocess
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
        "commit": commit(), "seed": seed, "python": platform.python_version(),
        "duckdb": version("duckdb"), "numpy": version("numpy"), "cores": os.cpu_count(),
    }  # fmt: skip
