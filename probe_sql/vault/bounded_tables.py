"""The bounded tables of a source: found beside the source, or built before the first scan."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from probe_sql.errors import PolicyError, Problem, ScanError
from probe_sql.policy.model import Table
from probe_sql.policy.names import dotted, find
from probe_sql.policy.policy import Policy
from probe_sql.vault.backend import Schemas
from probe_sql.vault.bounded_store import BoundedTableStore, open_store, source_marks, store_folder
from probe_sql.vault.bounding import RowCap, bounding, build, missing_people
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.instance import Instance, rows
from probe_sql.vault.loading import identifier, literal
from probe_sql.vault.sources import Layout
from probe_sql.vault.workplace import Workplace

_DRAFT = "probe_sql_draft"


def check_people(policy: Policy, schemas: Schemas, missing: Callable[[Table], bool]) -> None:
    """Raise `PolicyError` where a row is `missing` its person and the policy refuses such rows."""
    problems = []
    for table in policy.tables.values():
        schema = find(schemas, table.name)
        column = table.unit.column
        if schema is None or column is None or table.unit.null != "refuse":
            continue
        if find(schema, column) is None:
            continue  # the policy's own check of schemas reports it
        if missing(table):
            what = f"{table.name} has rows whose {column} is NULL, and null = refuse"
            fix = 'write null = "drop" to leave them out, or null = "own"'
            problems.append(Problem(f"{dotted('tables', table.name)}.unit.null", what, fix))
    if problems:
        raise PolicyError(problems, policy.source or "policy")


class BoundedTables:
    """Bounds the rows of people, once for a table, and shows them in every instance.

    Privacy: until a table is bounded, its name shows no rows (`loading`); afterwards it shows the
    bounded rows and never again any others.
    """

    def __init__(self, layout: Layout, policy: Policy | None, spare: Path) -> None:
        self._layout = layout
        self._policy = policy
        self._opened = source_marks(layout)  # before anything of it is read
        self._spare = spare  # a private directory that ends with the connection
        self._turns = {table.name: threading.Lock() for table in self._tables()}

    def folders(self) -> list[Path]:
        """Directories in which bounded tables may lie; none where no table protects people."""
        found = set()
        for table in self._tables():
            if table.unit.column is not None:
                found |= {self._spare, store_folder(self._layout, table.name) or self._spare}
        return sorted(found)

    def clean(self, schemas: Schemas) -> None:
        """Remove the bounded tables beside the source that fit it or the policy no more."""
        wanted: dict[Path, tuple[BoundedTableStore, list[Path]]] = {}
        for table in self._tables():
            folder = store_folder(self._layout, table.name)
            if folder is None or not folder.is_dir():
                continue
            store = self._store(table)
            if store.folder != folder:
                continue  # not ours to clean
            _, paths = wanted.setdefault(folder, (store, []))
            if table.unit.column is not None and find(schemas, table.name) is not None:
                how = bounding(table, find(schemas, table.name) or {}, store.key)
                paths.append(store.path(table.name, how.described()))
        for store, paths in wanted.values():
            with suppress(OSError):
                store.clean(paths)

    def _tables(self) -> Iterable[Table]:
        return self._policy.tables.values() if self._policy is not None else ()

    def _store(self, table: Table) -> BoundedTableStore:
        named = self._policy.source if self._policy is not None else None
        return open_store(self._layout, table.name, self._spare, self._opened, named)

    def check(self, policy: Policy, schemas: Schemas, instance: Instance) -> None:
        """Raise `PolicyError` where a row has no person and the policy refuses such rows.

        Privacy: whether there is such a row is a fact about rows. The owner who writes `refuse`
        vouches that there is none, and is told where that is wrong.
        """

        def missing(table: Table) -> bool:
            how = bounding(table, find(schemas, table.name) or {}, 0)
            return missing_people(how, instance.execute)

        check_people(policy, schemas, missing)

    def bound(self, table: Table, schemas: Schemas, instance: Instance) -> Path:
        """Have the rows of every person bounded, now or as they were kept, for all later scans.

        Returns the file that has them. Two instances do not bound the same table at once: the
        second shows what the first made.
        """
        if table.name in instance.bounded:
            return instance.bounded[table.name]
        with instance.watch.holding(self._turns[table.name]):
            store = self._store(table)
            how = bounding(table, schemas[table.name], store.key)
            path = store.path(table.name, how.described())
            if not path.exists() or not _shown(table, path, instance):
                _build(how, store, path, instance)
                if not _shown(table, path, instance):
                    raise scan_error(Failure.FILE)
            instance.bounded[table.name] = path
            return path


def _shown(table: Table, path: Path, instance: Instance) -> bool:
    """Show a kept table under the table's name; False if its file is damaged."""
    kept = identifier(f"probe_sql kept {table.name}")
    view = f"CREATE OR REPLACE TEMP VIEW {identifier(table.name)} AS SELECT * FROM {kept}.rows"
    try:
        instance.execute(f"ATTACH {literal(str(path))} AS {kept} (READ_ONLY)")
        instance.execute(view)
    except ScanError:
        instance.execute(f"DETACH DATABASE IF EXISTS {kept}")
        return False
    return True


def _build(how: RowCap, store: BoundedTableStore, path: Path, instance: Instance) -> None:
    """Make the file of a bounded table, whole or not at all."""
    try:
        workplace = Workplace(store.folder)
    except OSError:
        raise scan_error(Failure.FILE) from None
    draft = workplace.path / "draft.duckdb"
    try:
        instance.execute(f"ATTACH {literal(str(draft))} AS {_DRAFT}")
        try:
            build(how, f"{_DRAFT}.rows", instance.execute, instance.run)
        except BaseException:
            if isinstance(instance.attempt(partial(rows, sql=f"DETACH {_DRAFT}")), Failure):
                instance.broken = True  # the draft would be in the way of the next one
            raise
        instance.execute(f"DETACH {_DRAFT}")
        if not store.current:  # changed between two steps, someone may have more than T rows
            raise scan_error(Failure.FILE)
        store.keep(draft, path)
    except OSError:
        raise scan_error(Failure.FILE) from None
    finally:
        workplace.close()
