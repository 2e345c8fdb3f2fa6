"""What a data owner does: draft a policy, check it, take over a ledger, build the demo."""

from probe_sql.owner.adopt import adopt
from probe_sql.owner.check import Report, check
from probe_sql.owner.demo import DEMO_QUERY, Demo, build_demo
from probe_sql.owner.draft import draft
from probe_sql.owner.record import record, unlock

__all__ = [
    "DEMO_QUERY",
    "Demo",
    "Report",
    "adopt",
    "build_demo",
    "check",
    "draft",
    "record",
    "unlock",
]
