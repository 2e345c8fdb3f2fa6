"""Answers: immutable, materialised, and free to look at."""

from probe_sql.answer.values import Answer, Denied, Privacy

__all__ = ["Answer", "Denied", "Privacy"]
