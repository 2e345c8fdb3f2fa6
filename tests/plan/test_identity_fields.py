"""No fact of a question comes in unnoticed: whoever adds a field decides whether it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import pytest

from probe_sql.measuring import Atom, Figure, Part, Rank
from probe_sql.plan.identity import Surroundings
from probe_sql.plan.tally import MeasureSql, Multiplier, Scan, Tally, Term, Threshold
from probe_sql.policy import (
    Column,
    DateKeys,
    IntegerKeys,
    JointKeys,
    ListKeys,
    PublicTable,
    Table,
    TableKeys,
    Unit,
)
from probe_sql.sql.bound import GroupKey, Stairs
from probe_sql.sql.joins import Join
from probe_sql.sql.relation import Relation

# What the identity of a question covers, or leaves out and why.
CONSIDERED: Mapping[type, str] = {
    Surroundings: "engine source schema role public",
    # Outputs are what is shown; walls follow from the conditions.
    Scan: "relation keys joint tallies measures thresholds outputs kept rankings walls",
    Relation: "table joins where",
    Join: "table alias outer on released",  # the alias is a name; `released` by its table's name
    GroupKey: "name scalar keys column column_type identity step stairs written parts",  # names
    Stairs: "image ends",
    ListKeys: "values",
    IntegerKeys: "first last step",
    DateKeys: "first last count unit",
    TableKeys: "table column",
    JointKeys: "columns table table_columns",
    Unit: "column max_rows max_groups max_rows_per_group null",
    Column: "name type bounds scale granularity keys about",  # keys where they are grouped by
    Table: "name columns unit rows_per_group joint_keys ranges",  # guesses steer utility alone
    PublicTable: "name key columns path",  # by its content
    Tally: "kind argument filter grid low high present label after",  # `after` excludes no row
    Term: "coefficient tally multiplier",
    Multiplier: "scalar grid low high",
    Threshold: "constant parts unit floor shift",
    MeasureSql: "terms guards guard_threshold delta",
    Atom: "name measure sign threshold delta range",  # the range steers utility alone
    Figure: "name output kind parts low width rows least most among rank smallest margin",
    Part: "measure delta factor offset",
    Rank: "ranking share low high",  # the ends are those of the ranking
}


@pytest.mark.parametrize("kind", CONSIDERED, ids=lambda kind: kind.__name__)
def test_every_fact_of_a_question_was_considered(kind: type) -> None:
    # What a value works out of itself, and keeps, is no fact of its own.
    assert [field.name for field in fields(kind) if field.init] == CONSIDERED[kind].split()
