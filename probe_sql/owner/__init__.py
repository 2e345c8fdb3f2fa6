"""What a data owner does: draft and check a policy, take over and sum up a ledger, the demo."""

from probe_sql.owner.access import OpenFile, refused_by_server
from probe_sql.owner.caps import TableCaps, caps
from probe_sql.owner.check import Report, check, guarded_files
from probe_sql.owner.demo import DEMO_PAPER, DEMO_QUERY, DEMO_SAME, DEMO_VALUES, Demo, build_demo
from probe_sql.owner.draft import draft
from probe_sql.owner.interview import interview
from probe_sql.owner.judge import Advice, PeriodsPromise, judge, periods_promise
from probe_sql.owner.record import Failing, adopt, allow, failing, record, unlock
from probe_sql.owner.report import SpendingReport, spending_report
from probe_sql.owner.report_page import (
    lead,
    people_grid,
    periods_grid,
    periods_lead,
    questions_grid,
    report_page,
)

__all__ = [
    "DEMO_PAPER",
    "DEMO_QUERY",
    "DEMO_SAME",
    "DEMO_VALUES",
    "Advice",
    "Demo",
    "Failing",
    "OpenFile",
    "PeriodsPromise",
    "Report",
    "SpendingReport",
    "TableCaps",
    "adopt",
    "allow",
    "build_demo",
    "caps",
    "check",
    "draft",
    "failing",
    "guarded_files",
    "interview",
    "judge",
    "lead",
    "people_grid",
    "periods_grid",
    "periods_lead",
    "periods_promise",
    "questions_grid",
    "record",
    "refused_by_server",
    "report_page",
    "spending_report",
    "unlock",
]
