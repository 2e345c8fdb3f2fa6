"""What every engine must do: a class of tests that each engine's own class inherits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.seeded import SeededWords
from datasets.catalogue import DATASETS
from probe_sql.algorithms import NAMES
from probe_sql.answer import Answer
from probe_sql.database import Database
from probe_sql.errors import Refused
from probe_sql.ledger import Ledger
from probe_sql.plan.explain import explain
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy, parse_policy
from probe_sql.session import Connection
from probe_sql.vault.backend import Backend
from probe_sql.vault.backends import open_backend
from probe_sql.vault.exact import unsealed, unsealed_ranking
from probe_sql.vault.noise import Sampler
from probe_sql.vault.remote import RemoteBackend
from tests.engines import events, papers
from tests.engines.cases import SEPARATE, batches, queries

QUERIES = queries()
_PLANS: dict[str, Plan] = {}  # of batches: the same for every engine that does not refuse them
PEOPLE = (
    "SELECT site FROM events{where} GROUP BY site"
    " HAVING count(*) > 5 AND count(DISTINCT person) > 2"
)
CAPS: tuple[dict[str, Any], ...] = (
    {"rows": 5}, {"rows": 9, "groups": 2}, {"rows": 12, "per_group": 2},
    {"rows": 12, "groups": 2, "per_group": 3},
)  # fmt: skip


def measured(backend: Backend, plan: Plan, fuse: bool = True) -> list[list[int]]:
    """The exact measures of a plan, which only tests may look at."""
    with backend.measure(plan.scan, fuse) as exact:
        rankings = [unsealed_ranking(exact, i) for i in range(len(plan.scan.rankings))]
        columns = [*unsealed(exact), *(part for ranking in rankings for part in ranking)]
        return [column.tolist() for column in columns]


def tables(count: int = 600, seed: int = 1) -> dict[str, pa.Table]:
    """The contract's tables as Arrow."""
    return {"events": events.events(count, seed), "sites": events.sites()}


class Engines(Protocol):
    """An engine under test: how to put tables into it and open them."""

    @property
    def refused(self) -> Mapping[str, str]:
        """The cases that the engine refuses, with a part of the reason that it gives."""
        ...

    def open(self, source: dict[str, pa.Table], policy: Policy) -> Backend:
        """The tables, loaded into the engine and opened under the policy."""
        ...


@dataclass(frozen=True, slots=True)
class Pair:
    """The same tables in the engine and in DuckDB, under the same policy."""

    backend: Backend
    reference: Backend
    policy: Policy

    def plan(self, query: str) -> Plan:
        """The query's plan for the engine; its scan is what DuckDB runs too."""
        return make_plan(query, self.policy, engine=self.backend.engine)

    def agree(self, plan: Plan, fuse: bool = True) -> None:
        """Assert that both give the same groups and integers."""
        assert self.backend.groups(plan.scan) == self.reference.groups(plan.scan)
        assert measured(self.backend, plan, fuse) == measured(self.reference, plan)

    def close(self) -> None:
        self.backend.close()
        self.reference.close()


def pair(engines: Engines, source: dict[str, pa.Table], policy: Policy) -> Pair:
    """Open the tables in both; the types that they find are the same."""
    backend = engines.open(source, policy)
    found = Pair(backend, open_backend(source, policy), policy.with_types(backend.schemas()))
    assert found.policy == policy.with_types(found.reference.schemas())
    return found


class Contract:
    """Inherited by a class for each engine, which gives the fixture `engines`."""

    every: ClassVar[int] = 1  # which of the batches of cases run among the fast tests

    @pytest.fixture(scope="class")
    @classmethod
    def opened(cls, engines: Any) -> Iterator[Pair]:
        """The contract's tables, opened once."""
        found = pair(engines, tables(), events.policy())
        yield found
        found.close()

    # --- the same integers ----------------------------------------------------------------

    @pytest.mark.slow  # all in one go below; here one fails by itself
    @pytest.mark.parametrize("case", QUERIES)
    def test_integers_are_those_of_duckdb(self, case: str, opened: Pair, engines: Any) -> None:
        self._check_case(case, opened, engines)

    def test_what_is_refused_is_refused_with_the_reason(self, opened: Pair, engines: Any) -> None:
        for case in engines.refused:
            self._check_case(case, opened, engines)

    def _check_case(self, case: str, opened: Pair, engines: Any) -> None:
        reason = engines.refused.get(case)
        if reason is not None:
            with pytest.raises(Refused) as refusal:
                opened.plan(QUERIES[case])
            assert reason in str(refusal.value)
            assert "^" in str(refusal.value)
            return
        plan = opened.plan(QUERIES[case])
        opened.agree(plan)
        for mine, theirs in zip(
            opened.backend.thresholds(plan.scan),
            opened.reference.thresholds(plan.scan),
            strict=True,
        ):
            assert mine.tolist() == theirs.tolist()

    @pytest.mark.parametrize("case", SEPARATE)
    def test_a_scan_for_each_measure_gives_the_same(self, case: str, opened: Pair) -> None:
        opened.agree(opened.plan(QUERIES[case]), fuse=False)

    def test_another_table(self, engines: Any) -> None:
        self._all_agree(engines, tables(300, 4), self.every)

    @pytest.mark.parametrize("kind", ["empty", "missing"])
    def test_without_values(self, kind: str, engines: Any) -> None:
        rows = events.events(0) if kind == "empty" else events.missing()
        self._all_agree(engines, {"events": rows, "sites": events.sites()}, every=4)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("count", "seed"), [(1, 3), (20_000, 10)] + [(40, n) for n in range(5, 9)]
    )
    def test_tables_of_many_seeds(self, count: int, seed: int, engines: Any) -> None:
        self._all_agree(engines, tables(count, seed))

    def _all_agree(self, engines: Any, source: dict[str, pa.Table], every: int = 1) -> None:
        both = pair(engines, source, events.policy())
        try:
            for query in batches(engines.refused)[::every]:
                if query not in _PLANS:
                    _PLANS[query] = both.plan(query)
                both.agree(_PLANS[query])
        finally:
            both.close()

    @pytest.mark.parametrize("name", DATASETS)
    def test_workloads_of_the_paper(
        self, name: str, engines: Any, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        workload = papers.workload(name, tmp_path_factory)
        both = pair(engines, workload.tables, workload.policy)
        try:
            for query in workload.queries:
                both.agree(both.plan(query))
        finally:
            both.close()

    def test_a_public_table_from_a_file(self, engines: Any, tmp_path: Path) -> None:
        pq.write_table(events.sites(), tmp_path / "sites.parquet")
        text = events.POLICY.format(unit='"row"').replace(
            "[public.sites]", f'[public.sites]\npath = "{tmp_path / "sites.parquet"}"'
        )
        policy = parse_policy(text)
        backend = engines.open({"events": events.events()}, policy)
        reference = open_backend(tables(), events.policy())
        both = Pair(backend, reference, policy.with_types(backend.schemas()))
        try:
            for case in ("public outer join", "public column in a sum", "public threshold"):
                both.agree(both.plan(QUERIES[case]))
        finally:
            both.close()

    # --- people ---------------------------------------------------------------------------

    @pytest.mark.parametrize("caps", CAPS)
    def test_caps_hold_for_everyone(self, caps: dict[str, Any], engines: Any) -> None:
        """The key is drawn anew each time, so that all rows of one person may miss the domain."""
        backend, plan = _people(engines, tables(), caps, " WHERE person = 7")
        rows, people = measured(backend, plan)
        everyone = make_plan(
            PEOPLE.format(where=""),
            events.people(**caps).with_types(backend.schemas()),
            engine=backend.engine,
        )
        assert sum(measured(backend, everyone)[0]) > caps["rows"]
        backend.close()
        assert sum(rows) <= caps["rows"]
        assert sum(count > 0 for count in rows) <= caps.get("groups", len(rows))
        assert max(rows) <= caps.get("per_group", caps["rows"])
        assert people == [min(1, count) for count in rows]

    @pytest.mark.parametrize("caps", [pytest.param(CAPS[0], marks=pytest.mark.slow), CAPS[3]])
    def test_what_stays_of_a_person_depends_on_them_alone(
        self, caps: dict[str, Any], engines: Any, tmp_path: Path
    ) -> None:
        """Other orders of the rows, and another person among them, change nothing."""
        here = events.events()
        other = pa.concat_tables([here[300:], events.stranger(999, 50), here[:300]])
        source = {"events": other, "sites": events.sites()}
        found = []
        for one in (tables(), source):
            backend, plan = _people(engines, one, caps, " WHERE person <> 999")
            if isinstance(backend, RemoteBackend):
                backend._key._beside = tmp_path / "a.ledger"  # the same key for both
            found.append(measured(backend, plan))
            backend.close()
        assert found[0] == found[1]
        assert sum(found[0][0]) > 0

    @pytest.mark.parametrize("cap", [pytest.param("per_group", marks=pytest.mark.slow), "groups"])
    def test_a_secret_key_decides_what_a_query_keeps(
        self, cap: str, engines: Any, tmp_path: Path
    ) -> None:
        """The same key keeps the same, another one something else, of people who keep all rows."""
        found = []
        for beside in ("a", "a", "b"):
            backend, plan = _people(engines, tables(), {"rows": 2_000, cap: 1}, "")
            folder = tmp_path / beside
            folder.mkdir(exist_ok=True)
            if not isinstance(backend, RemoteBackend):
                backend.close()
                pytest.skip("its key lies beside the rows")
            backend._key._beside = folder / "a.ledger"
            found.append(measured(backend, plan))
            backend.close()
        assert found[0] == found[1] != found[2]

    @pytest.mark.parametrize("null", [pytest.param("drop", marks=pytest.mark.slow), "own"])
    def test_those_below_the_caps_keep_all_rows(self, null: str, engines: Any) -> None:
        caps: dict[str, Any] = {"rows": 2_000, "groups": 100, "per_group": 1_000, "null": null}
        both = pair(engines, tables(), events.people(**caps))
        everyone = both.plan(PEOPLE.format(where=""))
        both.agree(everyone)
        nobody = both.plan(PEOPLE.format(where=" WHERE person IS NULL"))
        both.agree(nobody)
        assert (sum(measured(both.backend, nobody)[0]) > 0) == (null == "own")
        both.close()

    # --- whole queries --------------------------------------------------------------------

    def test_whole_queries_are_charged_and_refused_ones_are_not(
        self, engines: Any, tmp_path: Path
    ) -> None:
        policy = events.policy()
        backend = engines.open(tables(2_000), policy)
        typed = policy.with_types(backend.schemas())
        ledger = Ledger.open(tmp_path / "a.ledger", budget=typed.budget, identity="contract")
        with Connection(
            Database(backend, typed, ledger, Sampler(SeededWords(1))), owner=True
        ) as db:
            for case in engines.refused:
                with pytest.raises(Refused):
                    db.sql(QUERIES[case])
            assert db.budget.spent == 0
            query = "SELECT site FROM events GROUP BY site HAVING count(*) > 100"
            for algorithm in NAMES:
                before = db.budget.spent
                answer = db.sql(query, algorithm=algorithm, epsilon=20.0, fpr=0.4)
                assert isinstance(answer, Answer)
                assert {row[0] for row in answer.rows} == set(events.SITES[:-1])
                assert db.budget.spent - before == pytest.approx(answer.privacy.epsilon, abs=1e-9)

    def test_values_come_with_margins_that_hold(self, engines: Any, tmp_path: Path) -> None:
        policy = events.policy()
        backend = engines.open(tables(2_000), policy)
        typed = policy.with_types(backend.schemas())
        ledger = Ledger.open(tmp_path / "a.ledger", budget=typed.budget, identity="contract")
        rows = tables(2_000)["events"].column("site").to_pylist()
        with Connection(
            Database(backend, typed, ledger, Sampler(SeededWords(1))), owner=True
        ) as db:
            answer = db.sql("SELECT site, count(*) AS n FROM events GROUP BY site", epsilon=2.0)
            assert isinstance(answer, Answer)
            assert {row[0] for row in answer.rows} == set(events.SITES)
            for (site, n), (_, margin) in zip(answer.rows, answer.margins, strict=True):
                assert abs(n - rows.count(site)) <= 4 * (margin or 0)
            total = db.sql("SELECT count(*) FROM events", epsilon=2.0)
            assert isinstance(total, Answer)
            assert abs(total.rows[0][0] - 2_000) < 30
            assert db.budget.spent == pytest.approx(4, abs=1e-9)

    def test_explain_shows_the_statement_that_runs(self, opened: Pair) -> None:
        plan = opened.plan(QUERIES["two keys"])
        shown = str(explain(plan))
        (statement,) = opened.backend.engine.statements(plan.scan, pretty=True)
        assert all(line.strip() in shown for line in statement.splitlines())


def _people(
    engines: Engines, source: dict[str, pa.Table], caps: Mapping[str, Any], where: str
) -> tuple[Backend, Plan]:
    policy = events.people(**caps)
    backend = engines.open(source, policy)
    typed = policy.with_types(backend.schemas())
    return backend, make_plan(PEOPLE.format(where=where), typed, engine=backend.engine)
