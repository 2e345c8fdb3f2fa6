"""The console: pages for people, over HTTP, behind the same house as PostgreSQL's protocol."""
