"""The corpus of queries: enough of them, and no fewer accepted than the documentation says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import corpus
from probe_sql.policy import load_policy

SCHEMAS = sorted(path.stem for path in corpus.FOLDER.glob("*.toml"))


def test_the_corpus_is_large_and_says_no_query_twice() -> None:
    for kind in corpus.KINDS:
        found = [q for path in corpus.FOLDER.glob(f"*.{kind}.sql") for q in corpus.queries(path)]
        assert len(found) >= 150
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_most_of_it_is_accepted(schema: str) -> None:
    policy = load_policy(corpus.FOLDER / f"{schema}.toml")
    for kind, least in (("plain", 0.68), ("having", 0.84)):
        found = [
            corpus.Verdict(schema, kind, sql, *corpus.judged(sql, policy))
            for sql in corpus.queries(corpus.FOLDER / f"{schema}.{kind}.sql")
        ]
        refused = [(one.obstacle, one.sql) for one in found if one.obstacle]
        assert corpus.share(found) >= least, refused
        assert all("internal" not in obstacle.lower() for obstacle, _ in refused)


def test_what_is_refused_counts_as_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The negative control."""
    (tmp_path / "taxi.plain.sql").write_text(
        "-- two queries\nSELECT * FROM trips;\nSELECT count(*) FROM trips;\n"
    )
    assert corpus.main(["--folder", str(tmp_path), "--list"]) == 0
    shown = capsys.readouterr().out
    assert "50.0 % of 2" in shown
    assert "SELECT * FROM trips" in shown
