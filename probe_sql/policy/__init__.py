"""The policy: everything that is public about a database, read, checked and frozen.

`load_policy` and `parse_policy` read the TOML file; the classes build one in code.
"""

from probe_sql.policy.forms import KeyValue
from probe_sql.policy.keys import (
    BinKeys,
    DateKeys,
    IntegerKeys,
    KeySet,
    ListKeys,
    TableKeys,
)
from probe_sql.policy.model import (
    Budget,
    Column,
    JointKeys,
    Periods,
    PublicTable,
    Resources,
    Reuse,
    Table,
    Unit,
)
from probe_sql.policy.names import by_name
from probe_sql.policy.policy import Policy, use_of
from probe_sql.policy.read import load_policy, parse_policy, with_lines
from probe_sql.policy.write import dump_policy, json_schema

__all__ = [
    "BinKeys",
    "Budget",
    "Column",
    "DateKeys",
    "IntegerKeys",
    "JointKeys",
    "KeySet",
    "KeyValue",
    "ListKeys",
    "Periods",
    "Policy",
    "PublicTable",
    "Resources",
    "Reuse",
    "Table",
    "TableKeys",
    "Unit",
    "by_name",
    "dump_policy",
    "json_schema",
    "load_policy",
    "parse_policy",
    "use_of",
    "with_lines",
]
