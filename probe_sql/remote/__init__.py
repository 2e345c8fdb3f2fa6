"""A served database from Python: the same calls and answers, over PostgreSQL's protocol."""

from probe_sql.remote.address import SCHEME, Address
from probe_sql.remote.connection import RemoteConnection
from probe_sql.remote.login import connect
from probe_sql.remote.told import RemoteExplanation

__all__ = ["SCHEME", "Address", "RemoteConnection", "RemoteExplanation", "connect"]
