"""Queries of several private blocks: planned together, asked one by one, joined outside."""

from probe_sql.blocks.alone import explain_only
from probe_sql.blocks.asker import Asker, outline
from probe_sql.blocks.explain import Outline, brief

__all__ = ["Asker", "Outline", "brief", "explain_only", "outline"]
