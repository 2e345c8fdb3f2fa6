"""What runs around private blocks: a process that has never seen the private database."""

from probe_sql.outside.sandbox import Column, Found, Sandbox

__all__ = ["Column", "Found", "Sandbox"]
