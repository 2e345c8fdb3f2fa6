"""The operating system's name for whoever runs this process."""

from __future__ import annotations

import os


def system_user() -> str:
    """The account's name, or its number where it has none.

    Privacy: read from the process, not from its environment, which the user can set.
    """
    try:
        import pwd
    except ImportError:  # Windows
        return os.getlogin()
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
