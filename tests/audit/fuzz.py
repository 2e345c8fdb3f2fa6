"""Mutations of text and of bytes, from a seed: the same inputs on every run."""

from __future__ import annotations

from random import Random

WORDS = [
    "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AND", "OR", "NOT", "(",
    ")", ",", ";", "*", "'", '"', "--", "/*", "*/", "count(*)", "sum(age)", "avg(cost)", "patients",
    "diseases", "ward", "disease", "age", "NULL", "TRUE", "CASE WHEN", "THEN", "END", "CAST(", "AS",
    "INTEGER", "::", "||", "=", "<", ">", "BETWEEN", "IN (", "LIKE", "FILTER (WHERE", "OVER ()",
    "WITH ACCURACY (", "epsilon = ", "fnr=0.1", "1e999", "0x1F", "1_000", ".5", "5.", "-1", "$1",
    "?", ":x", "@y", "{'a': 1}", "[1]", "x -> x", "EXPLAIN", "WITH RECURSIVE", "UNION", "INTERVAL",
    "DATE '2020-02-30'", "E'\\x'", "$$a$$", "\u0000", "\u200b", "\ufeff", "é", "😀", "\ud800",
    "INF", "NaN", "JOIN", "USING (", "ON", "LATERAL", "VALUES", "GROUPING SETS", "QUALIFY", "ALL",
    "DISTINCT", "quantile_disc(age, 0.5)", "median(age)", "%", "//", "**", "~", "->>", "IS",
]  # fmt: skip


NEAR = [
    (">", "<"), (">", ">="), ("<", "="), ("<", "<>"), ("count(*)", "sum(age)"), ("AND", "OR"),
    ("count(*)", "avg(cost)"), ("age", "cost"), ("cost", "age"), ("1", "0"), ("5", "7.25"),
    ("0", "00"), ("ward", "disease"), ("avg", "max"), ("avg", "median"), ("HAVING", "HAVING NOT"),
    ("count(*)", "count(DISTINCT ward)"), ("count(*)", "2 * count(*) - sum(age)"), ("> ", "> -"),
    ("count(*)", "count(*) FILTER (WHERE age > 9)"), ("WHERE", "WHERE age IS NOT NULL AND"),
]  # fmt: skip


def mutated(rng: Random, text: str) -> str:
    """A text with a few pieces cut, doubled, swapped, replaced or put in."""
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        kind = rng.randrange(14)
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.randrange(12))
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:end] + text[start:end] * rng.randrange(1, 4) + text[end:]
        elif kind < 4:
            text = text[:start] + " " + rng.choice(WORDS) + " " + text[start:]
        elif kind == 4:
            text = text[:start] + rng.choice(WORDS) + text[end:]
        elif kind == 5:
            words = text.split(" ")
            a, b = rng.randrange(len(words)), rng.randrange(len(words))
            words[a], words[b] = words[b], words[a]
            text = " ".join(words)
        elif kind > 6:  # stays close to what is accepted
            old, new = rng.choice(NEAR)
            text = text.replace(old, new, rng.randrange(1, 3))
        else:
            text = text[:start] + chr(rng.randrange(1, 0x2FF)) + text[end:]
    return text


def corrupted(rng: Random, data: bytes) -> bytes:
    """Bytes with a few of them flipped, cut, doubled or overwritten."""
    raw = bytearray(data)
    for _ in range(rng.randrange(1, 9)):
        kind = rng.randrange(5)
        offset = rng.randrange(len(raw) + 1)
        if kind == 0 and raw:
            raw[offset % len(raw)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del raw[offset : offset + rng.randrange(1, 64)]
        elif kind == 2:
            raw[offset:offset] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 3:
            size = rng.randrange(1, 16)
            raw[offset : offset + size] = rng.choice([b"\x00", b"\xff"]) * size
        else:
            del raw[offset:]
        if not raw:
            break
    return bytes(raw)
