"""`python -m probe_sql` is `probe-sql`."""

from __future__ import annotations

import sys

from probe_sql.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
