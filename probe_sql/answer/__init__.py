"""Answers: immutable, materialised, and free to look at."""

from probe_sql.answer.content import Privacy
from probe_sql.answer.values import Answer, Denied

__all__ = ["Answer", "Denied", "Privacy"]
