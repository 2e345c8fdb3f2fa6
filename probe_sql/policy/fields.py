"""The table of all settings of a policy: one row for each.

Reading, checking, writing, the tables of `docs/policy.md` and the schema for editors come from
these rows. What must hold between settings is in `cross`.
"""

from __future__ import annotations

from dataclasses import replace

from probe_sql.options import RANGE_LIMIT
from probe_sql.periods import EVERY
from probe_sql.policy.forms import (
    Edges,
    Ends,
    KeyForms,
    Moments,
    Options,
    PublicColumns,
    Step,
    UnitForms,
    Values,
)
from probe_sql.policy.kinds import (
    Amount,
    Amounts,
    Bounds,
    Choice,
    Grid,
    Names,
    Size,
    Text,
    TimeSpan,
    TypeName,
    Whole,
)
from probe_sql.policy.section import REQUIRED, ByName, Field, Listed, Part, Section

THREADS_LIMIT = 1024
SCANS_LIMIT = 64


UNIT_CAP = "no cap but `max_rows`"
EPSILON = Amount()
COUNT = Whole()

LISTED = Field("", Values(), 'keys = ["A", "B"]', "keys", REQUIRED, "scan", own_name="values")
LIST_KEYS = Section("ListKeys", "keys", (LISTED,))
KEY_FORMS = {
    "integers": Section("IntegerKeys", "keys", (
        Field("integers", Ends(), "integers = [1, 265]",
              "first and last of whole numbers, both included", REQUIRED, "scan",
              own_name="first last"),
        Field("step", Whole(high=2**63 - 1), "step = 1",
              "distance of two keys", "1", "scan"),
    ), inline=True),
    "dates": Section("DateKeys", "keys", (
        Field("dates", Moments(), "dates = [2020-03-01, 2020-03-14]",
              "first and last of dates or timestamps, both included", REQUIRED, "scan",
              own_name="first last"),
        Field("step", Step("a step in time", r"([0-9]+ *)?[A-Za-z]+"), 'step = "1 day"',
              "distance of two keys: a number of minutes, hours, days, weeks, months, quarters "
              "or years", '`"1 day"`', "scan", own_name="count unit"),
    ), inline=True),
    "bins": Section("BinKeys", "keys", (
        Field("bins", Edges(), "bins = [0, 18, 65, 120]",
              "edges of bins, ascending: each holds its lower edge, by which it is shown, and the "
              "last one its upper edge too; numbers outside belong to no group", REQUIRED, "sql",
              own_name="edges"),
    ), inline=True),
    "table": Section("TableKeys", "keys", (
        Field("table", Text(), 'table = "diseases"',
              "a public table", REQUIRED, "scan"),
        Field("column", Text(), 'column = "name"',
              "its column whose distinct values are the keys", REQUIRED, "scan",
              missing="the column of the public table is missing"),
    ), inline=True),
}  # fmt: skip

COLUMN = Section("Column", "columns", (
    Field("type", TypeName(), 'type = "DATE"',
          'SQL type, such as `"DATE"` or `"DECIMAL(10,2)"`', "the database's", "sql"),
    Field("bounds", Bounds(), "bounds = [0, 120]",
          "`[low, high]`, inclusive; needed by SUM, AVG and the like. Numbers only, `low < high`",
          "none", "sql"),
    Field("scale", Whole(0, 15), "scale = 2",
          "decimals that are kept exactly, 0 to 15", "what the type has", "sql"),
    Field("granularity", Grid(), "granularity = 0.25",
          'grid to which other numbers are rounded, such as `0.25` or `"1/3"`',
          "fine enough for the bounds", "sql"),
    Field("about", Text(), 'about = "age in years at admission"',
          "what the column holds, in words that everyone may read", "none", "cli"),
    Field("keys", KeyForms(LIST_KEYS, KEY_FORMS), 'keys = ["A", "B"]',
          "the values that GROUP BY may meet, see below", "none: not for GROUP BY", "sql"),
), named="age = { bounds = [0, 120] }", inline=True)  # fmt: skip

PUBLIC_COLUMN = replace(COLUMN, fields=COLUMN.fields[:-1])

UNIT = Section("Unit", "unit", (
    Field("column", Text(), 'column = "patient_id", or unit = "row"',
          "the column that identifies the person; it must be among the table's columns", REQUIRED,
          "plan", missing="the column that names the user is missing"),
    Field("max_rows", COUNT, "max_rows = 10",
          "rows of one person that are used at all; at least 1", REQUIRED, "plan"),
    Field("max_groups", COUNT, "max_groups = 10",
          "groups of one query that one person can be in", UNIT_CAP, "plan"),
    Field("max_rows_per_group", COUNT, "max_rows_per_group = 10",
          "rows of one person in one group of a query", UNIT_CAP, "plan"),
    Field("null", Choice(("refuse", "drop", "own"), "what becomes of rows without a user"),
          'null = "refuse", "drop" or "own"',
          'rows whose `column` is NULL: `"refuse"` the table, `"drop"` them, or each is its '
          '`"own"` person', '`"refuse"`', "vault"),
), inline=True)  # fmt: skip

JOINT_KEYS = Section("JointKeys", "keys", (
    Field("columns", Names(), 'columns = ["ward", "admitted"]',
          "two or more columns of the private table", REQUIRED, "sql",
          missing="columns is missing"),
    Field("table", Text(), 'table = "ward_days"',
          "a public table; its rows are the combinations that exist", REQUIRED, "scan",
          missing="table is missing"),
    Field("table_columns", Names(), 'table_columns = ["ward", "day"]',
          "its columns, one for each of `columns`", "the names of `columns`", "scan"),
))  # fmt: skip

TABLE = Section("Table", "tables", (
    Field("unit", UnitForms(UNIT), 'unit = "row"',
          'what one person\'s presence means: `"row"`, or a table as below', '`"row"`', "plan"),
    Field("rows_per_group", COUNT, "rows_per_group = 1000",
          "public guess of the number of rows of a group, at least 1", "none", "plan"),
    Field("columns", ByName(COLUMN), "[columns.name]",
          "the columns that may be used; at least one", REQUIRED, "sql"),
    Field("ranges", Amounts(Amount(0, RANGE_LIMIT), "aggregates and numbers", "6000.0"),
          'ranges = { "count(*)" = 6000.0 }',
          "hints for the range of aggregates, by their text", "none", "plan"),
    Field("keys", Listed(JOINT_KEYS), "a tuple of JointKeys",
          "joint keys, see below", "none", "sql", own_name="joint_keys"),
), named="[tables.patients]")  # fmt: skip

PUBLIC = Section("PublicTable", "public", (
    Field("key", Names(), 'key = ["name"]',
          "list of the columns that identify a row; joins use all of them", REQUIRED, "sql",
          missing="the key that joins this table is missing"),
    Field("path", Text(), 'path = "a.parquet"',
          "a CSV or Parquet file", "a table of the database", "vault"),
    Field("columns", PublicColumns(PUBLIC_COLUMN), "[columns.name]",
          "types, and bounds of numbers, for use without a database", "all columns of the source",
          "sql"),
), named="[public.diseases]")  # fmt: skip

PERIODS = Section("Periods", "budget.periods", (
    Field("column", Text(), 'column = "admitted"',
          "the column that dates a row; its keys are dates or timestamps",
          REQUIRED, "plan", missing="the column that dates the rows is missing"),
    Field("every", Choice(EVERY, "how long a period is"),
          'every = "month"', 'how long a period is: `"week"`, `"month"`, `"quarter"` or `"year"`',
          REQUIRED, "plan", missing="how long a period is, is missing"),
    Field("epsilon", EPSILON, "epsilon = 2.0",
          "the most that may ever be spent on the rows of one period, by everyone together; at "
          "most that of `[budget]`", REQUIRED, "ledger",
          missing="the epsilon of a period is missing"),
))  # fmt: skip

BUDGET = Section("Budget", "budget", (
    Field("epsilon", EPSILON, "epsilon = 10.0",
          "the most that may ever be spent on this database, by everyone together", REQUIRED,
          "ledger", missing="the whole database's epsilon is missing"),
    Field("per_query", EPSILON, "per_query = 1.0",
          "epsilon of a query that does not name one; at most `epsilon`",
          "1.0, or `epsilon` where that is less", "policy"),
    Field("least", EPSILON, "least = 0.0001",
          "what every scan that starts costs at least, however it ends",
          "a ten-thousandth of `per_query`", "policy"),
    Field("failure", EPSILON, "failure = 0.1",
          "what a scan costs that fails, is cancelled, or whose process dies; never below `least`",
          "a tenth of `per_query`", "policy"),
    Field("failures", COUNT, "failures = 1",
          "failed scans after which a user of the machine is stopped until the owner unlocks them",
          "1", "ledger"),
    Field("holds", COUNT, "holds = 4",
          "queries that one user of the machine may have under way at once", "4", "ledger"),
    Field("analysts", Amounts(EPSILON, "names and epsilons", "1.0"),
          "analysts = { maria = 4.0 }",
          "table of names and the most that each may ever spend; each at most `epsilon`",
          "no limit of their own", "ledger"),
    Field("periods", Part(PERIODS), "[budget.periods] with column, every and epsilon",
          "a budget for each month, or another period, of rows that have a date, see below",
          "none: one budget for all rows", "plan"),
))  # fmt: skip

REUSE = Section("Reuse", "reuse", (
    Field("answers", Choice(("shared", "own", "none"), "who gets an answer again"),
          'answers = "shared", "own" or "none"',
          'who gets an answer again for nothing: everybody who may ask (`"shared"`), only who '
          'asked (`"own"`), or nobody (`"none"`: then none is kept)', '`"shared"`', "again"),
    Field("version", Text(), 'version = "March 2026"',
          "which data these are, in words that everyone may read; change them when you publish "
          "new data", "none", "again"),
    Field("on_change", Choice(("replay", "ask"), "what happens to older answers"),
          'on_change = "replay" or "ask"',
          'an answer about data under another `version` (without one: about files that have '
          'changed) is given again with its date (`"replay"`), or asked and paid anew (`"ask"`)',
          '`"replay"`', "again"),
    Field("sharpen", Choice(("on", "off"), "whether a tighter margin goes on from a value"),
          'sharpen = "on" or "off"',
          "whether a tighter margin on the same data pays the difference only; their files are "
          'then read once more, byte by byte', '`"on"`', "again"),
    Field("keep", TimeSpan.of("min", "h", "d"), 'keep = "24h"',
          "how long an answer is given again: minutes, hours or days", "for ever", "again"),
    Field("size", Size(), 'size = "256MB"',
          "the most that all kept answers take", '`"256MB"`', "ledger"),
    Field("quota", Size(), 'quota = "16MB"',
          "the most that those of one analyst take; their oldest make room for their own",
          '`"16MB"`', "ledger"),
))  # fmt: skip

ENGINE = Section("Resources", "engine", (
    Field("memory", Size(),
          'memory = "4GB"',
          'memory of scans, such as `"4GB"` or `"512MiB"`; what does not fit is spilled',
          "four fifths of the machine's", "vault"),
    Field("threads", Whole(high=THREADS_LIMIT), "threads = 4",
          "threads of scans, 1 to 1024", "one for each core", "vault"),
    Field("spill", Text(), 'spill = "/var/tmp"',
          "directory for what is spilled", "the system's directory for temporary files", "vault"),
    Field("scans", Whole(high=SCANS_LIMIT), "scans = 2",
          "scans of one open database that may run at once, 1 to 64 and at most `threads`", "1",
          "vault"),
    Field("time_limit", TimeSpan.of("s", "min", "h"), 'time_limit = "30min"',
          'longest time for one statement of a scan, such as `"90s"`, `"30min"` or `"2h"`; what '
          "takes longer has failed", "none; on PostgreSQL and Spark 30 minutes", "vault"),
    Field("around_memory", Size(), 'around_memory = "1GiB"',
          "memory of the process that runs SQL around private blocks", '`"1GiB"`', "outside"),
    Field("around_time", TimeSpan.of("s", "min", "h"), 'around_time = "30s"',
          "longest time for one step of it, such as a block's rows or the query around the blocks",
          '`"30s"`', "outside"),
    Field("around_rows", COUNT, "around_rows = 1_000_000",
          "rows of its result, and of a public table that it reads, at most", "1,000,000",
          "outside"),
    Field("around_size", Size(), 'around_size = "256MiB"',
          "the most that the rows of its result take", '`"256MiB"`', "outside"),
))  # fmt: skip

POLICY = Section("Policy", "", (
    Field("ledger", Text(), 'ledger = "clinic.ledger"',
          "path of the file that records what was spent", "beside the database", "database.py"),
    Field("budget", Part(BUDGET), "[budget] with epsilon = 10.0",
          "how much privacy may be spent", REQUIRED, "policy", missing="the budget is missing"),
    Field("defaults", Options(), "fnr = 0.05",
          "accuracy options of queries that do not give them", "the engine's", "policy"),
    Field("engine", Part(ENGINE), '[engine] with memory = "4GB"',
          "what a scan may take of the machine", "what the machine has", "vault"),
    Field("reuse", Part(REUSE), '[reuse] with version = "March 2026"',
          "what becomes of answers that were given before", "the same question is free", "again"),
    Field("tables", ByName(TABLE), "[tables.name]",
          "private tables, by name; at least one", REQUIRED, "sql"),
    Field("public", ByName(PUBLIC), "[public.name]",
          "public tables, by name", "none", "vault"),
))  # fmt: skip
