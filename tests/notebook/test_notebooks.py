"""Real notebooks in a real kernel: the examples give what they show, and the magics do as told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from probe_sql.owner import build_demo
from tests.serve.test_process import make_slow

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.service


def executed(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Any:
    """Run all cells in a kernel whose working directory is `folder`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    resources = {"metadata": {"path": str(folder)}}
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources=resources, **more
    )
    return client.execute()


def shown(cell: Any) -> list[tuple[str, str]]:
    """What a cell shows, without what noise, the clock or the width of a column decides."""
    found = []
    for output in cell.outputs:
        data = output.get("data", {})
        text = output.get("text") or "".join(output.get("traceback", ()))
        parts = {"text": text} if text else {"text": data.get("text/plain", "")}
        if "text/html" in data:
            parts["html"] = data["text/html"]
        for kind, content in parts.items():
            calm = re.sub(r"certain|possible", "mark", content)
            calm = re.sub(r"class=\"(?:sure|doubt)\"", "class", calm)
            calm = re.sub(r"[-0-9.,e+]*[0-9]|[-─]{2,}|#+|\s+", " ", calm)
            found.append((kind, " ".join(re.sub(r"[●○]", "", calm).split())))
    return found


@pytest.mark.parametrize("name", ["analyst", "owner"])
def test_an_example_gives_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    again = executed(nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4), tmp_path, monkeypatch)
    nbformat.validate(again)
    compared = 0
    for old, new in zip(kept.cells, again.cells, strict=True):
        if old.cell_type != "code":
            continue
        kinds = [sorted(output.get("data", {})) for output in old.outputs if "data" in output]
        assert kinds == [sorted(o.get("data", {})) for o in new.outputs if "data" in o], old.source
        before, after = (_steady(shown(cell)) for cell in (old, new))
        assert before == after, old.source
        compared += bool(before)
    assert compared > 5


def _steady(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The beginning of each part, up to where noise decides how many rows or sentences come."""
    joined: dict[str, str] = {}
    for kind, text in parts:
        joined[kind] = f"{joined.get(kind, '')} {text}"
    return [(kind, text[:60]) for kind, text in joined.items()]


CELLS = (
    "%load_ext probe_sql",
    "%probe budget",
    "%probe connect demo/clinic.duckdb demo/clinic.toml analyst=maria",
    'limit = 30\nevil = "x\' OR 1 = 1 --"',
    "%%probe into answer epsilon=0.2\nSELECT ward, count(*) AS n, ':no' AS t FROM patients\n"
    "WHERE age > :limit GROUP BY ward -- :nothing",
    "%%probe into answer epsilon=0.2\nSELECT ward, count(*) AS n FROM patients\n"
    "WHERE age > :limit GROUP BY ward -- :nothing",
    "print(type(answer).__name__, len(answer), answer.columns)",
    "%%probe\nSELECT count(*) AS n FROM patients WHERE disease = :evil",
    "%%probe\nSELECT count(*) AS n FROM patients WHERE disease = :absent",
    "%probe connect probe://maria:secret@127.0.0.1/clinic",
    "from probe_sql.elapsed import ElapsedTime\nt = ElapsedTime()\n"
    "[t(s) for s in (0.5, 1.9, 2.0, 2.5, 3.1)]\nt.done()",
    "%probe close",
    "%probe ledger",
)


SLOW = (
    "from probe_sql import connect, elapsed\nfrom tests.serve.test_process import slow",
    "elapsed.PATIENCE = 0.6\ndb = connect('clinic.duckdb', 'clinic.toml')",
    "answer = db.sql('SELECT ward, count(*) FROM patients GROUP BY ward', epsilon=0.1)",
    "answer = db.sql(slow(80), epsilon=0.5, on_exhausted='mark')",
    "answer = db.sql(slow(79), epsilon=0.5, on_exhausted='mark', progress=print)",
)


def test_a_plain_question_shows_its_time_in_a_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_demo(tmp_path)
    make_slow(tmp_path)
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in SLOW])
    _, _, quick, plain, own = executed(made, tmp_path, monkeypatch).cells
    assert [one.output_type for one in quick.outputs] == []
    assert [one.output_type for one in plain.outputs] == ["display_data"]
    assert plain.outputs[0].data["text/plain"] == ""  # taken away at the end
    assert {one.output_type for one in own.outputs} == {"stream"}


def test_the_magics_do_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_demo(tmp_path / "demo")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    ran = executed(made, tmp_path, monkeypatch, allow_errors=True)
    said = [
        "\n".join(
            str(output.get("text") or "".join(output.get("traceback", ())) or output.get("data"))
            for output in cell.outputs
        )
        for cell in ran.cells
    ]
    assert "nothing is connected" in said[1]
    assert said[2] == "connected; ε 4.000 left\n"
    assert said[4] == said[5] == ""  # ':no' is a text, and ':nothing' a comment
    assert said[6] == "Answer 4 ('ward', 'n')\n"
    assert "1 group" in said[7]  # a parameter: no text of a variable becomes SQL
    assert "no variable absent" in said[8]
    assert ":absent" in said[8]
    assert "histories" in said[9]
    assert "secret" not in said[9]
    assert "scanning for" not in said[10]  # taken away at the end
    assert [output.output_type for output in ran.cells[10].outputs] == ["display_data"]
    assert "nothing is connected" in said[12]
    for text in said:
        assert "Traceback" not in text
