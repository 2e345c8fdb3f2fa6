"""The owner's way to take over a ledger that was moved, copied or restored."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from probe_sql.errors import LedgerError
from probe_sql.ledger import anchors, errors
from probe_sql.ledger.anchors import Anchor
from probe_sql.ledger.chain import NAMELESS, Book, Place
from probe_sql.ledger.locks import owns
from probe_sql.ledger.log import Log, anchor_of
from probe_sql.ledger.store import as_ledger_error


def take_over(log: Log, identity: str, now: Callable[[], str]) -> None:
    """Append that the ledger is now here; charge what it has forgotten, to whom it belongs.

    Failures that it has forgotten count again.

    Privacy: where the ledger that this one is a copy of is still in its place, that one is
    retired first, durably, and everything that it knows is charged here: two copies of one
    ledger cannot both go on. What the anchors know is charged likewise.
    """
    with as_ledger_error(log.path):
        if not log.path.exists():
            raise errors.ABSENT.error(log.path)
        log.store.check_kind()
        if not owns(log.path):
            raise errors.NOT_OWNER.error(log.path, act="take it over")
    with log.store.transaction("IMMEDIATE"):
        log.upgrade()
    with log.store.transaction("DEFERRED"):
        book = log.replay()
    old = log.place(book)
    place = log.here(old.ledger, identity)
    originals = _retire_all({old.path, book.retired}, place, now)
    with log.store.transaction("IMMEDIATE"):
        book = log.replay()
        left = anchors.in_state_directory(Path(old.path))
        if left is not None and old.path != place.path:
            log.anchors = (*log.anchors, left)
        known = [anchor for anchor in log.read_anchors() if anchor is not None]
        if any(anchor.ledger not in (None, old.ledger) for anchor in known):
            raise errors.OTHER_LEDGER.error(log.path)
        forgotten = [anchor for anchor in known if not log.holds(anchor)] + originals
        for analyst, units in _lost(book, forgotten):
            row = book.draft("carried", time=now(), units=units, analyst=analyst)
            log.store.insert(row)
            book.apply(row)
        for user in _failed(book, forgotten):
            row = book.draft("recalled", time=now(), units=0, kind=user)
            log.store.insert(row)
            book.apply(row)
        rest = max([0, *(anchor.spent - book.spent for anchor in forgotten)])
        nameless = NAMELESS if any(anchor.analysts is None for anchor in forgotten) else None
        log.store.insert(
            book.draft("adopted", time=now(), units=rest, place=place, outcome=nameless)
        )
        log.store.commit()
    with log.store.transaction("IMMEDIATE"):
        log.book = log.replay()
        log.publish(None, force=True)
    log.anchors = anchors.of(log.path, log.mode)


def _lost(book: Book, forgotten: Iterable[Anchor]) -> list[tuple[str, int]]:
    """What each analyst has spent beyond what the book knows, by whatever knows most."""
    most: dict[str, int] = {}
    for anchor in forgotten:
        for analyst, units in anchor.analysts or ():
            if analyst is not None and units > book.spent_by(analyst):
                most[analyst] = max(most.get(analyst, 0), units - book.spent_by(analyst))
    return sorted(most.items())


def _failed(book: Book, forgotten: Iterable[Anchor]) -> list[str]:
    """Users by failures that the book has forgotten, each as often as whatever knows most says."""
    most: dict[str, int] = {}
    for anchor in forgotten:
        for user, count in anchor.failures:
            most[user] = max(most.get(user, 0), count - book.failures.get(user, 0))
    return [user for user in sorted(most) for _ in range(most[user])]


def _retire_all(paths: Iterable[str | None], place: Place, now: Callable[[], str]) -> list[Anchor]:
    """End every ledger of this name that these paths lead to in favour of `place`; their heads."""
    heads: list[Anchor] = []
    seen = {place.path}
    left = [path for path in paths if path is not None]
    while left:
        path = left.pop()
        if path not in seen and Path(path).exists():
            book = _retire(Path(path), place, now)
            if book is not None:
                heads.append(anchor_of(place.ledger, book))
                left += [] if book.retired is None else [book.retired]
        seen.add(path)
    return heads


def _retire(path: Path, place: Place, now: Callable[[], str]) -> Book | None:
    """End the ledger at `path`; what it knew, or None where another ledger has the path by now."""
    original = Log(path, now)
    try:
        with as_ledger_error(path):
            if not owns(path):
                raise errors.NOT_OWNER.error(path, act="end it")
        with original.store.transaction("IMMEDIATE"):
            original.upgrade()
        with original.store.transaction("IMMEDIATE"):
            original.book = original.replay()
            if original.ledger_id != place.ledger:
                return None
            if original.book.retired is not None:
                return original.book
            row = original.book.draft("retired", time=now(), units=0, place=place)
            original.append(row, None)
        original.follow()
        return original.book
    except LedgerError as error:
        raise errors.ORIGINAL_REMAINS.error(path) from error
    finally:
        original.store.close()
