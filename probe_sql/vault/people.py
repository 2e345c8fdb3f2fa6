"""The bounded tables of a connection: found beside the source, or built before the first scan."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from probe_sql.errors import PolicyError, Problem, ScanError
from probe_sql.policy.model import Policy, Table
from probe_sql.policy.names import find, place
from probe_sql.vault.backend import Progress, Schemas
from probe_sql.vault.bounding import Bounding, bounding, build, missing_people
from probe_sql.vault.failures import Failure, scan_error
from probe_sql.vault.loading import identifier, literal
from probe_sql.vault.shelf import Shelf, open_shelf, shelf_folder, source_marks
from probe_sql.vault.sources import Layout
from probe_sql.vault.workplace import Workplace

Execute = Callable[[str, Progress | None], list[tuple[Any, ...]]]

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
            problems.append(Problem(f"{place('tables', table.name)}.unit.null", what, fix))
    if problems:
        raise PolicyError(problems, policy.source or "policy")


class People:
    """Bounds the rows of people, once for a table, through `execute`.

    Privacy: until a table is bounded, its name shows no rows (`loading`); afterwards it shows the
    bounded rows and never again any others.
    """

    def __init__(
        self, layout: Layout, policy: Policy | None, spare: Path, execute: Execute
    ) -> None:
        self._layout = layout
        self._policy = policy
        self._opened = source_marks(layout)  # before anything of it is read
        self._spare = spare  # a private directory that ends with the connection
        self._execute = execute
        self._done: set[str] = set()
        self._turn = threading.Lock()

    def folders(self) -> list[Path]:
        """Directories in which bounded tables may lie; none where no table protects people."""
        found = set()
        for table in self._tables():
            if table.unit.column is not None:
                found |= {self._spare, shelf_folder(self._layout, table.name) or self._spare}
        return sorted(found)

    def clean(self, schemas: Schemas) -> None:
        """Remove the bounded tables beside the source that fit it or the policy no more."""
        wanted: dict[Path, tuple[Shelf, list[Path]]] = {}
        for table in self._tables():
            folder = shelf_folder(self._layout, table.name)
            if folder is None or not folder.is_dir():
                continue
            shelf = self._shelf(table)
            if shelf.folder != folder:
                continue  # not ours to clean
            _, places = wanted.setdefault(folder, (shelf, []))
            if table.unit.column is not None and find(schemas, table.name) is not None:
                how = bounding(table, find(schemas, table.name) or {}, shelf.key)
                places.append(shelf.place(table.name, how.described()))
        for shelf, places in wanted.values():
            with suppress(OSError):
                shelf.clean(places)

    def _tables(self) -> Iterable[Table]:
        return self._policy.tables.values() if self._policy is not None else ()

    def _shelf(self, table: Table) -> Shelf:
        named = self._policy.source if self._policy is not None else None
        return open_shelf(self._layout, table.name, self._spare, self._opened, named)

    def check(self, policy: Policy, schemas: Schemas) -> None:
        """Raise `PolicyError` where a row has no person and the policy refuses such rows.

        Privacy: whether there is such a row is a fact about rows. The owner who writes `refuse`
        vouches that there is none, and is told where that is wrong.
        """
        run = partial(self._run, progress=None)

        def missing(table: Table) -> bool:
            return missing_people(bounding(table, find(schemas, table.name) or {}, 0), run)

        check_people(policy, schemas, missing)

    def bound(self, table: Table, schemas: Schemas, progress: Progress | None = None) -> None:
        """Have the rows of every person bounded, now or as they were kept, for all later scans."""
        with self._turn:
            if table.name in self._done:
                return
            shelf = self._shelf(table)
            how = bounding(table, schemas[table.name], shelf.key)
            place = shelf.place(table.name, how.described())
            if not place.exists() or not self._shown(table, place):
                self._build(how, shelf, place, progress)
                if not self._shown(table, place):
                    raise scan_error(Failure.FILE)
            self._done.add(table.name)

    def _shown(self, table: Table, place: Path) -> bool:
        """Show a kept table under the table's name; False if its file is damaged."""
        kept = identifier(f"probe_sql kept {table.name}")
        view = f"CREATE OR REPLACE TEMP VIEW {identifier(table.name)} AS SELECT * FROM {kept}.rows"
        try:
            self._run(f"ATTACH {literal(str(place))} AS {kept} (READ_ONLY)")
            self._run(view)
        except ScanError:
            self._run(f"DETACH DATABASE IF EXISTS {kept}")
            return False
        return True

    def _build(self, how: Bounding, shelf: Shelf, place: Path, progress: Progress | None) -> None:
        """Make the file of a bounded table, whole or not at all."""
        try:
            workplace = Workplace(shelf.folder)
        except OSError:
            raise scan_error(Failure.FILE) from None
        draft = workplace.path / "draft.duckdb"
        try:
            self._run(f"ATTACH {literal(str(draft))} AS {_DRAFT}")
            try:
                build(how, f"{_DRAFT}.rows", partial(self._run, progress=progress))
            except BaseException:
                with suppress(ScanError):  # closed meanwhile, and the draft with it
                    self._run(f"DETACH {_DRAFT}")
                raise
            self._run(f"DETACH {_DRAFT}")
            if not shelf.current:  # changed between two steps, someone may have more than T rows
                raise scan_error(Failure.FILE)
            shelf.keep(draft, place)
        except OSError:
            raise scan_error(Failure.FILE) from None
        finally:
            workplace.close()

    def _run(self, sql: str, progress: Progress | None = None) -> list[tuple[Any, ...]]:
        return self._execute(sql, progress)
