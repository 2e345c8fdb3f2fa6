"""What the vault says when it refuses: a row for each reason. Failures have `failures`.

Privacy: a row is filled with public words alone: names of tables, columns and files, and what the
policy says. Addresses, which may hold a password, and texts of other programs are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from probe_sql.errors import DataError, InterfaceError, OperationalError, ProbeError, Refused


@dataclass(frozen=True, slots=True)
class Said:
    """What is told of one reason; braces stand for words that are public."""

    what: str
    why: str | None = None
    fix: str | None = None
    kind: type[ProbeError] = OperationalError

    def error(self, **words: object) -> ProbeError:
        """The error, with the words in their places."""
        said = self.filled(words)
        return self.kind(said.what, why=said.why, fix=said.fix)

    def filled(self, words: Mapping[str, object]) -> Said:
        """The texts with the words in their places, which are taken as they are."""
        why, fix = (text and text.format_map(words) for text in (self.why, self.fix))
        return Said(self.what.format_map(words), why, fix, self.kind)


_SOURCES = "give a DuckDB database, Parquet or CSV files, an Arrow table, or a frame"
_UNREPEATED = "it is not repeated here, since it may hold a password"
_SPARK = 'pip install "probe-sql[spark]", and install Java 17 or later'

# Any source.
CLOSED = Said("the database is closed", None, "connect again", InterfaceError)
WATCHED = Said(
    "a progress function cannot use the connection that it watches",
    "the connection does one thing at a time, and it waits for that function",
    "raise an exception in it to cancel the scan, or connect a second time",
    InterfaceError,
)
BAD_LIMIT = Said("{path}: {what}", None, "{fix}", InterfaceError)  # as the policy would say it
NO_SPILL = Said(
    "the directory {base} cannot hold what scans spill",
    "it is missing or cannot be written, or somebody else has made probe-sql's place in it",
    'name another in the policy: [engine] with spill = "/var/tmp"',
)
TOO_MANY_GROUPS = Said(
    "the key domain has {size:,} groups",
    "every group of the domain is measured, at most {most:,}",
    "group by coarser keys, or declare the combinations in a public table",
    Refused,
)
SAME_KEYS = Said(
    "two keys of {table} are the same to what they are joined with: {one} and {other}",
    "a row that meets both would count twice",
    "join it with a value of the type that {table} has",
    Refused,
)

# Which source is meant.
OTHER_ADDRESS = Said(
    "the source looks like {thing}, in a form that cannot be opened",
    _UNREPEATED,
    "postgresql://user@host:5432/database; a password belongs into ~/.pgpass (PGPASSFILE),"
    " PGPASSWORD or a service file",
    InterfaceError,
)
OTHER_TYPE = Said("a source of type {type} cannot be opened", None, _SOURCES, InterfaceError)
DATABASE_AS_TABLE = Said(
    "a database is not the source of one table",
    "{name} holds tables of its own",
    "give the database as the source itself, or files and frames by table name",
    InterfaceError,
)
SERVER_AS_TABLE = Said(
    "a server is not the source of one table",
    None,
    "give its address as the source itself",
    InterfaceError,
)
SEVERAL_TABLES = Said(
    "the policy has {count} private tables and the source is one",
    "it could be any of {names}",
    'say which is which: {{"{first}": ..., ...}}',
    InterfaceError,
)

# Files.
NO_MATCH = Said("no file matches {pattern}", None, "check the pattern")
UNKNOWN_PATTERN = Said(
    "the pattern {pattern} does not say what the files are",
    None,
    "end it in .parquet or .csv",
    InterfaceError,
)
NO_FILE = Said("there is no file {path}", None, "check the path")
DIRECTORY = Said("{path} is a directory", None, "write a pattern: {pattern}")
IRREGULAR = Said(
    "{path} is {thing}, not a file", "rows are read again for every query", "give regular files"
)
UNREADABLE_FILE = Said("the file {path} cannot be read", None, "check its permissions")
OTHER_FILE = Said("{path} is neither a DuckDB database nor a Parquet or CSV file", None, _SOURCES)
LAKE = Said(
    "{path} belongs to a table of {format}",
    "which of its files count is in the table's {format} log; read as plain files, rows that were"
    " deleted or replaced would come back",
    "read it with Spark, as a table of its catalog (spark:...), or export its rows to Parquet"
    " files elsewhere",
)
NO_HEADER = Said(
    "the first line of {name} names no column{declared}",
    "a CSV file begins with the names of its columns",
    "add that line, or declare the columns in the policy",
)
OTHER_HEADER = Said(
    "the CSV files do not begin with the same line",
    "files of one table have the same columns in the same order",
    "write the files again with the same first line",
)
OPEN_QUOTE = Said(
    "a field of {name} begins with a quote and does not end with one",
    "all lines up to the next quote would be one row, so that one line could take away thousands",
    "write the file with a CSV library: a quoted field ends in a quote before the next delimiter"
    " or line, and a quote in it is doubled",
)
FILES_DIFFER = Said(
    "the files of one table differ: {column} is {one} and {other}",
    "values would be cast to one type while they are read, and a single row could decide whether"
    " a query fails",
    "write the files again with {column} in one type, or give them as a DuckDB view with TRY_CAST",
)

# PostgreSQL: the address, the server, the rights, the tables.
NO_PSYCOPG = Said(
    "PostgreSQL needs the library psycopg, which is not installed",
    None,
    'pip install "probe-sql[postgres]"',
    InterfaceError,
)
UNREADABLE_URL = Said(
    "the URL of the PostgreSQL database cannot be read",
    _UNREPEATED,
    "postgresql://user@host:5432/database?schema=public; in a password write %40 for @, %2F for /,"
    " %3A for :, %3F for ? and %23 for #",
    InterfaceError,
)
BAD_TIMEOUT = Said(
    "statement_timeout is a number with a unit",
    None,
    "statement_timeout=90s, 30min or 2h; 0 for no limit",
    InterfaceError,
)
SESSION_SETTINGS = Said(
    "the URL holds settings of the session",
    "they would decide what a scan sees; it has settings of its own",
    "leave options=... out; the owner can set what a role needs with ALTER ROLE",
    InterfaceError,
)
UNREACHABLE = Said(
    "the PostgreSQL server at {server} could not be reached",
    "nothing answers there, or it does not accept connections now",
    "check host and port, that the server runs, and that sslmode is what it wants",
)
LOCKED_OUT = Said(
    "the server at {server} did not let {role} in",
    "the password is missing or wrong, or pg_hba.conf has no rule for this client",
    "put it into ~/.pgpass or PGPASSWORD, or into the URL; %40 stands for @",
)
NO_ROLE = Said(
    "the server at {server} has no role {role}",
    None,
    "ask its administrator for a role that may SELECT from the tables",
)
NO_DATABASE = Said(
    "the server at {server} has no database {database}",
    None,
    "check the name after the last / of the URL",
)
NO_TLS = Said(
    "the server at {server} answers, but no encrypted connection came about",
    "with sslmode={sslmode}: the server has no TLS, or its certificate, or ours, was not accepted",
    "check sslmode, sslrootcert and the host's name in the certificate",
)
OLD_SERVER = Said("the server is older than PostgreSQL {oldest}", None, "update the server")
OTHER_ENCODING = Said(
    "the database {database} is not in the encoding UTF8",
    "texts would be compared and measured in another way than declared",
    "copy it into a database with ENCODING 'UTF8'",
)
NO_SCHEMA = Said(
    "the database {database} has no schema {schema}",
    None,
    "name one that it has: postgresql://.../name?schema=public",
)
FORBIDDEN = Said(
    "the server does not let this role read {what}",
    "it is there, but the role has no right to SELECT it",
    "ask the owner to GRANT {granted} ON {table}, and USAGE on its schema, to the role",
)
UNREADABLE_VIEW = Said(
    "the server does not let this role read {table}",
    "it is a view whose owner may not read what it shows",
    "ask the owner to GRANT SELECT to the owner of the view",
)
NO_TEMPORARY = Said(
    "{role} cannot make temporary tables in the database {database}",
    "the policy protects people, whose first rows are kept in one: without it the secret key that"
    " chooses them would stand in every statement, and servers log statements",
    "ask the owner of the database for GRANT TEMPORARY ON DATABASE {database} TO {role};"
    " of a server in recovery, which has no temporary tables, connect to its primary",
)
HIDDEN = Said(  # from the role, or from the owner of a view
    "the table {table} is under row-level security, which hides rows from this role",
    "answers would be about the rows that the role happens to see, perhaps none of them",
    "ask the owner for a view that shows the rows to be asked about, owned by a role that sees"
    " all of them; or for a role of its own with BYPASSRLS",
)
FOREIGN = Said(
    "the table {table} is a foreign table, or shows one",
    "all of a query must see one state of the rows, which another server does not promise, nor"
    " that it shows all of them",
    "connect to the server where the rows are, or to a materialized view of them",
)
VOLATILE = Said(
    "the view {table} may show other values each time it is read",
    "it samples rows, or calls a function that is VOLATILE, such as random()",
    "use a materialized view",
)
COMPUTED = Said(  # reading a row could raise, and a failing query would tell of it
    "the view {table} computes, and its rows are computed anew by every query",
    "what it computes may fail for one row, and whether a query fails must not tell of it. Views"
    " of columns, constants, comparisons, CASE, coalesce, joins and UNION ALL are read as they"
    " are; casts, arithmetic, functions, subqueries, groups and virtual columns not",
    "CREATE MATERIALIZED VIEW instead: its rows are computed once. Or make {table} a table, with"
    " GENERATED ALWAYS AS (...) STORED for what is computed",
)
ALIKE = Said(  # the type of the person's column has no equality
    "people in {table} cannot be told apart by {column}",
    "PostgreSQL cannot say of two values of its type whether they are equal",
    "name another column in unit, or show this one as text in a materialized view",
)

# Spark: the session, the tables.
NO_PYSPARK = Said("Spark needs the package pyspark", None, _SPARK, InterfaceError)
NO_JAVA = Said("Spark needs Java, and there is none", None, _SPARK, InterfaceError)
NO_SESSION = Said(
    "this object is not a session of Spark that can be used",
    "the scan needs the session of a driver in this process, not a remote one",
    "pass SparkSession.builder.getOrCreate(), or name a master",
    InterfaceError,
)
OTHER_MASTER = Said(
    "another Spark context runs in this process, with another master",
    "a process has one context",
    "pass its SparkSession, or stop it before connecting",
    InterfaceError,
)
NOT_STARTED = Said(
    "Spark could not be started",
    "Java is older than 17, the master cannot be reached, or a setting is wrong",
    "start pyspark from the shell with the same master: it says why",
)
SPARK_SECRETS = Said(
    "a path or master of Spark holds credentials",
    "paths appear in messages and in the ledger; it is not repeated here",
    "put them into spark-defaults.conf, or into the settings of a SparkSession",
    InterfaceError,
)
NO_SPARK_TABLE = Said("Spark has no table {table}", None, "check its name")
FILE_TWICE = Said(
    "the table {table} reads a file twice",
    "a link leads to another of its files, or its pattern names one twice: each row would count"
    " as two",
    "remove the link from the folder, or name each file once",
)
SPARK_LAKE = Said(
    "the table {table} is one of {format}, and was to be read as plain Parquet files",
    "its log says which of the files are rows; without it, rows that were deleted return",
    "pass a SparkSession with {format}'s extension, in which {table} is a table or view:"
    " session.read.format('{reader}').load(path).createOrReplaceTempView('{table}')",
)
SPARK_COMPUTED = Said(
    "the view {table} computes what could fail for a row",
    "whether a query fails must not tell of a row; a view keeps the mode in which it was made, and"
    " under ANSI a CAST or a sum raises; functions of one's own may, too",
    "write try_cast, try_add and the like in the view, or make it while spark.sql.ansi.enabled is"
    " false; or save {table} as a table or Parquet files",
)

# Noise that cannot be drawn.
BAD_EPSILON = Said(
    "the noise parameter epsilon is not a number in (0, {most}]",
    "nothing was drawn; an epsilon beyond that protects nothing",
    "relax the accuracy, or use a coarser granularity",
    DataError,
)
BAD_SENSITIVITY = Said(
    "the sensitivity is not a positive integer",
    "nothing was drawn; noise is scaled to what one row can change",
    kind=DataError,
)
TOO_WIDE = Said(
    "the noise would not fit into 64-bit integers",
    "nothing was drawn; the largest scale, delta/epsilon, that fits is about {scale:.3g}",
    "use a larger epsilon, tighter bounds, or a coarser granularity",
    DataError,
)
NOT_FINER = Said(
    "the finer of two noise levels has the smaller epsilon",
    "nothing was drawn; a finer value costs at least as much as a coarser one",
    kind=DataError,
)
