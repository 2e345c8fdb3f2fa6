"""The paper's experiments end to end: tiny runs, their records, resuming, and the report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import claims, figures, report
from benchmarks.__main__ import main
from benchmarks.engine import Bench, seed_of
from benchmarks.experiments import ALGORITHMS, EXPERIMENTS, cells
from benchmarks.runner import Store
from benchmarks.workload import TREES, build, opened
from datasets.catalogue import DATASETS

ROOT = Path(__file__).parents[2]
ROWS = 150_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper")


def paper(folder: Path, *extra: str) -> dict[str, Any]:
    arguments = ["--source", "generated", "--rows", str(ROWS), "--jobs", "1", "--out", str(folder)]
    assert main(["paper", *arguments, "--runs", "2", *extra]) == 0
    document: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return document


def test_records_say_what_was_run(folder: Path) -> None:
    document = paper(folder, "--experiment", "u", "--no-figures")
    assert document["seed"]
    assert document["commit"]
    assert document["parameters"]["runs"] == 2
    records = document["records"]
    assert len(records) == 9
    for record in records:
        assert record["experiment"] == "u"
        assert record["dataset"] == "sales"
        assert record["algorithm"] in ALGORITHMS
        assert record["shape"] in TREES
        assert record["atoms"] == 3
        assert len(record["runs"]) == 2
        mean = sum(run["epsilon"] for run in record["runs"]) / 2
        assert record["epsilon"] == pytest.approx(mean, rel=1e-4)
        assert 0 < record["epsilon"] <= 5
        assert 0 <= record["denied"] <= 1
    naive = [r["epsilon"] for r in records if r["algorithm"] == "naive"]
    assert naive == sorted(naive, reverse=True)


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = tmp_path
    paper(folder, "--experiment", "u", "--no-figures")
    lines = (folder / "cells.jsonl").read_text(encoding="utf-8").splitlines()
    before = [json.loads(line) for line in lines[1:]]
    marked = {**before[0], "epsilon": 4.25}  # would change if the cell were run again
    rest = [json.dumps(record) for record in before[1:-1]]
    cut = json.dumps(before[-1])[:50]
    (folder / "cells.jsonl").write_text(
        "\n".join([lines[0], json.dumps(marked), *rest, cut]), encoding="utf-8"
    )
    document = paper(folder, "--experiment", "u", "--no-figures")
    found = {record["id"]: record for record in document["records"]}
    assert document["resumed"]
    assert found[marked["id"]]["epsilon"] == 4.25
    assert found[before[-1]["id"]] == before[-1]  # run again, with the same noise


def test_other_settings_start_over(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    Store(path, {"runs": 2}).add([{"id": "a"}])
    assert list(Store(path, {"runs": 2}).records) == ["a"]
    other = Store(path, {"runs": 3})
    assert other.restarted
    assert not other.records


def test_the_report_stands_alone(folder: Path) -> None:
    document = paper(folder, "--experiment", "trees", "--experiment", "split")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert (folder / "trees.png").is_file()
    assert "data:image/png;base64," in page
    assert not re.search(r"(src|href)='(?!data:|#)", page)
    assert "0.0455" in page  # the paper's table beside ours
    assert "(Beyond the paper)" in page
    verdicts = {claim.verdict for claim in claims.check(document["records"])}
    assert verdicts <= {"yes", "partly", "no"}


def flat_world() -> list[dict[str, Any]]:
    """All cells, as if nothing depended on anything."""
    record = {
        "id": "",
        "sql": "",
        "groups": 10,
        "positives": 2,
        "epsilon": 1.0,
        "epsilon_sd": 0.0,
        "fnr": 0.0,
        "fpr": 0.0,
        "denied": 0.0,
        "min_entropy": 0.5,
        "runs": [],
    }
    return [
        {
            **record,
            "experiment": cell.experiment,
            "dataset": cell.dataset,
            "shape": cell.shape,
            "atoms": cell.atoms,
            "algorithm": cell.algorithm,
            "x": cell.x,
            "options": cell.options,
        }
        for cell in cells(EXPERIMENTS, DATASETS)
    ]


def test_a_flat_world_refutes_what_should_depend() -> None:
    found = claims.check(flat_world())
    assert {claim.figure for claim in found} == {*figures.NEEDS, "split"}
    refuted = [claim.paper for claim in found if claim.verdict == "no"]
    for words in ("increases with the number", "linear", "distributed query", "beta increases"):
        assert any(words in text for text in refuted), words


@pytest.mark.slow
def test_every_figure_is_drawn(tmp_path: Path) -> None:
    document = {
        "records": flat_world(),
        "seed": 1,
        "commit": "x",
        "seconds": 1.0,
        "cores": 2,
        "resumed": False,
        "parameters": {"source": "generated", "runs": 0, "z": 2.0, "jobs": 1},
    }
    written = {path.name for path in report.write(document, tmp_path)}
    assert written == {"report.html", "summary.md", *(f"{name}.png" for name in figures.FIGURES)}


def test_as_written_draws_every_leaf(tmp_path: Path) -> None:
    dataset, database = DATASETS["sales"], tmp_path / "sales.duckdb"
    dataset.generate(database, ROWS, 1)
    grouped, spread, *_ = TREES
    with opened(database) as exact, Bench(database, dataset.policy) as bench:
        epsilons = {}
        for tree in (grouped, spread):
            query = build(exact, dataset, tree, dataset.counts[:3])
            for as_written in (True, False):
                prepared = bench.prepared(
                    query, as_written=as_written, algorithm="naive", epsilon=5.0
                )
                epsilons[tree, as_written] = bench.run(prepared, seed_of(1))[1]
        assert len(bench._scans) == 1
        truths = [
            build(exact, dataset, tree, dataset.counts[:3]).truth.tolist()
            for tree in (grouped, spread)
        ]
    assert truths[0] == truths[1]
    assert epsilons[spread, True] > epsilons[grouped, True]
    assert epsilons[spread, False] == pytest.approx(epsilons[grouped, False])


@pytest.mark.slow
def test_processes_make_no_difference(tmp_path: Path) -> None:
    alone = paper(tmp_path / "one", "--experiment", "kpi", "--no-figures")
    many = paper(tmp_path / "two", "--experiment", "kpi", "--no-figures", "--jobs", "2")
    assert alone["records"] == many["records"]


def test_the_standin_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROBE_SQL_DATA", str(tmp_path))
    assert main(["paper", "--source", "standin", "--out", str(tmp_path / "out")]) == 1
    assert "PROBE_SQL_DATA" in capsys.readouterr().err


def test_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "paper" in capsys.readouterr().out
    assert main([]) == 2


def test_without_matplotlib_nothing_is_run_and_the_end_is_not_zero(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from benchmarks.paper import main\n"
        f"sys.exit(main(['--quick', '--source', 'generated', '--out', {str(tmp_path / 'out')!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "the report needs matplotlib" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
