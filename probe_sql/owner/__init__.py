"""What a data owner does: draft a policy, check it, take over a ledger, build the demo."""

from probe_sql.owner.check import Report, check, guarded_files
from probe_sql.owner.demo import DEMO_QUERY, DEMO_VALUES, Demo, build_demo
from probe_sql.owner.draft import draft
from probe_sql.owner.judge import Advice, judge
from probe_sql.owner.record import adopt, record, unlock

__all__ = [
    "DEMO_QUERY",
    "DEMO_VALUES",
    "Advice",
    "Demo",
    "Report",
    "adopt",
    "build_demo",
    "check",
    "draft",
    "guarded_files",
    "judge",
    "record",
    "unlock",
]
