"""The server: analysts log in and ask by PostgreSQL's protocol; the data stay with one process."""
