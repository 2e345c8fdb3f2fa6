"""The command `probe-sql` and its shell."""
