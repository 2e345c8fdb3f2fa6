"""What the owner gives a scan: memory, threads, and a place to spill to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from probe_sql.policy.checks import Findings, check_text, check_whole, show

THREADS_LIMIT = 1024
_SIZE = re.compile(r"\d{1,9}(\.\d{1,3})? ?(KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Resources:
    """`[engine]`: memory and threads of a scan, and the directory for what does not fit.

    Privacy: whether a scan fits depends on the rows. An analyst who chose these limits could
    set them where one row decides, so they are the owner's, as is the rest of the policy.
    """

    memory: str | None = None  # None: four fifths of the machine's
    threads: int | None = None  # None: one for each core
    spill: str | None = None  # None: the system's directory for temporary files

    def __post_init__(self) -> None:
        found = Findings("engine")
        example = 'memory = "4GB"'
        if (
            self.memory is not None
            and check_text(found, "memory", self.memory, example)
            and not _SIZE.fullmatch(self.memory)
        ):
            found.add("memory", f"{show(self.memory)} is not a size", f"write {example}")
        if self.threads is not None:
            check_whole(found, "threads", self.threads, "threads = 4", high=THREADS_LIMIT)
        if self.spill is not None:
            check_text(found, "spill", self.spill, 'spill = "/var/tmp"')
        found.finish()
