"""Who runs this process, as the operating system says."""

from __future__ import annotations

import os


def owns(path: str | os.PathLike[str]) -> bool:
    """Whether this process runs as the owner of a file, or as root."""
    if not hasattr(os, "geteuid"):  # Windows
        return True
    return os.geteuid() in (0, os.stat(path).st_uid)


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
