"""The tables and triggers of a ledger's file, by the versions that wrote it."""

from __future__ import annotations

VERSION = 5
"""Of the file's schema, which it names as SQLite's user_version; version 1 named none."""

_COLUMNS = """
    seq INTEGER PRIMARY KEY,
    event TEXT NOT NULL,
    number INTEGER NOT NULL,
    time TEXT NOT NULL,
    analyst TEXT,
    kind TEXT,
    sql TEXT,
    units INTEGER NOT NULL,
    outcome TEXT,
    budget INTEGER,
    analyst_budget INTEGER,
    spent INTEGER NOT NULL,
    analyst_spent INTEGER NOT NULL,
    place TEXT,
    snapshot TEXT,
    hash TEXT NOT NULL
"""
_GUARDS = {
    "log_no_update": (
        "CREATE TRIGGER log_no_update BEFORE UPDATE ON log BEGIN"
        " SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    ),
    "log_no_delete": (
        "CREATE TRIGGER log_no_delete BEFORE DELETE ON log BEGIN"
        " SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    ),
}
FIRST_SCHEMA = {"log": f"CREATE TABLE log ({_COLUMNS})", **_GUARDS}
"""Every object of a file of version 1, by name."""

SECOND_SCHEMA = {"log": f"CREATE TABLE log ({_COLUMNS}, hold TEXT)", **_GUARDS}
"""Every object of a file of version 2, by name."""

_ANSWERS = {
    "answers": "CREATE TABLE answers (number INTEGER PRIMARY KEY, body TEXT NOT NULL)",
    "replays": (
        "CREATE TABLE replays (number INTEGER NOT NULL, analyst TEXT NOT NULL,"
        " last TEXT NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (number, analyst)) WITHOUT ROWID"
    ),
}
SCHEMA = {  # the log last, so that a file that is cut off has lost rows of it
    **_ANSWERS,
    "log": f"CREATE TABLE log ({_COLUMNS}, hold TEXT, answer TEXT)",
    **_GUARDS,
}
"""Every object of the file, by name; anything else in it means that someone edited it.

SQLite writes the same text when `UPGRADES` add the columns to an older file. The log vouches for
the answers; how often each was given again is counted beside it, and decides nothing.
"""

_TO_THIRD = ("ALTER TABLE log ADD COLUMN answer TEXT", *_ANSWERS.values())
UPGRADES = {
    0: (FIRST_SCHEMA, ("ALTER TABLE log ADD COLUMN hold TEXT", *_TO_THIRD)),
    2: (SECOND_SCHEMA, _TO_THIRD),
    3: (SCHEMA, ()),  # whose log had no allowances
    4: (SCHEMA, ()),  # whose charges were all of every day
}
"""By the version that a file names: its schema, and the statements that make it one of this."""
