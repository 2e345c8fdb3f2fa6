"""Answers that are kept: what goes in with a settlement, and what the chain knows of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Saving:
    """An answer that is to be kept: the digest of its question, and its text.

    `version` is the owner's label of the data, `state` a word for the files that were read, `heads`
    are the chains whose finest value is in it.
    Privacy: the text holds what was released and charged, and nothing else.
    """

    question: str
    body: str
    version: str | None = None
    state: str | None = None
    heads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer that is kept: which query it is of, who asked when, and the digest of its text.

    `outcome` is 'answered' or 'denied'; `user` the operating system's.
    """

    number: int
    time: str
    analyst: str | None
    user: str | None
    outcome: str
    question: str
    digest: str
    size: int
    version: str | None
    state: str | None

    def belongs_to(self, analyst: str | None, user: str) -> bool:
        """Whether this name asked it, from this account of the machine."""
        return (self.analyst, self.user) == (analyst, user)

    @property
    def name(self) -> str:
        """What a link calls this answer.

        Privacy: it is made of the answer's digest, so that who knows the name was told it, and
        nobody can list what others asked by counting.
        """
        mark = hashlib.sha256(f"link {self.question} {self.digest}".encode()).hexdigest()
        return f"{self.number}-{mark[:20]}"

    def dump(self) -> list[object]:
        """Write it as a list for a snapshot of the chain."""
        return [
            self.number,
            self.time,
            self.analyst,
            self.user,
            self.outcome,
            self.question,
            self.digest,
            self.size,
            self.version,
            self.state,
        ]


@dataclass(frozen=True, slots=True)
class Note:
    """What a settlement says of the answer that is kept with it, and of those that make room."""

    question: str
    digest: str
    size: int
    version: str | None
    state: str | None
    evicted: tuple[int, ...]
    heads: tuple[str, ...] = ()

    @classmethod
    def of(cls, saving: Saving, evicted: Iterable[int]) -> Note:
        """The note of an answer that is about to be kept."""
        body = saving.body.encode()
        return cls(
            saving.question,
            hashlib.sha256(body).hexdigest(),
            len(body),
            saving.version,
            saving.state,
            tuple(evicted),
            saving.heads,
        )

    def dump(self) -> str:
        """Write it as text for the log; nothing is said of heads where there is none."""
        said = [self.question, self.digest, self.size, self.version, self.state, self.evicted]
        return json.dumps([*said, self.heads] if self.heads else said)

    @classmethod
    def load(cls, text: str) -> Note:
        """Inverse of `dump`."""
        question, digest, size, version, state, evicted, *heads = json.loads(text)
        chains = tuple(chain for each in heads for chain in each)
        return cls(question, digest, size, version, state, tuple(evicted), chains)

    def kept(
        self, number: int, time: str, analyst: str | None, user: str | None, outcome: str
    ) -> Kept:
        """The answer, once its settlement is in the chain."""
        return Kept(
            number,
            time,
            analyst,
            user,
            outcome,
            self.question,
            self.digest,
            self.size,
            self.version,
            self.state,
        )
