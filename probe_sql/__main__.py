"""`probe-sql`, which is also `python -m probe_sql`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command; Ctrl-C while it is still being loaded ends as it does later."""
    try:
        from probe_sql.cli.main import main as command

        return command()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
