"""The door for PostgreSQL's clients: its wire protocol, message by message, for one guest each."""
