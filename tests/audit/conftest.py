"""The database of extremes, opened without noise; tests of other data have their own fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probe_sql.session import Connection
from tests.audit.bench import in_memory
from tests.audit.workbench import QuietSampler, opened
from tests.examples import extremes


@pytest.fixture(scope="module")
def database() -> Iterator[Connection]:
    with in_memory() as folder:
        path, policy = extremes.make(folder)
        with opened(path, policy, QuietSampler()) as connection:
            yield connection
