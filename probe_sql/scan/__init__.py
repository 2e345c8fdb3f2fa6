"""The databases that can run a scan: how each says what a bound expression means.

DuckDB is the reference. Another engine gets a translation whose every part is known to give
the same value there, or the query is refused on that engine with the reason.
"""
