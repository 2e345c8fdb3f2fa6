"""Asking again is free: answers that were given before, given again where they fit.

A released answer is public to whoever may ask, so giving it again reveals nothing more of any row.
"""

from probe_sql.again.again import Again, Replay

__all__ = ["Again", "Replay"]
