"""What stands once: constants that privacy rests on, shapes between rooms, a guess at names."""

from __future__ import annotations

import ast
import re

from tests.test_architecture import PACKAGE, python_files

# Numbers that privacy rests on, each with its one owner.
OWNED = {
    2**61: "measuring.py",
    2**50: "plan/weights.py",
    2**40: "plan/weights.py",
    10**7: "sql/keys.py",
    5760: "sql/forms/call.py",  # one of the characters that are trimmed
}


LARGE = re.compile(r"\*\*|<<|\d[\d_]{3}|\b0[box]")  # stands in every file that writes one of them


def numbers_in(source: str) -> set[int]:
    """The integers that a file writes down, as `2**40` and `1 << 40` too."""
    found: set[int] = set()
    if not LARGE.search(source):
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            found.add(node.value)
        elif isinstance(node, ast.BinOp):
            match node:
                case ast.BinOp(ast.Constant(int(a)), ast.Pow(), ast.Constant(int(b))) if b < 99:
                    found.add(a**b)
                case ast.BinOp(ast.Constant(int(a)), ast.LShift(), ast.Constant(int(b))) if b < 99:
                    found.add(a << b)
    return found


def test_every_constant_that_privacy_rests_on_has_one_owner() -> None:
    owners: dict[int, list[str]] = {number: [] for number in OWNED}
    for file in python_files(PACKAGE):
        for number in numbers_in(file.read_text(encoding="utf-8")) & set(OWNED):
            owners[number].append(file.relative_to(PACKAGE).as_posix())
    assert owners == {number: [owner] for number, owner in OWNED.items()}


def test_names_are_guessed_in_one_way() -> None:
    guessing = [
        file.relative_to(PACKAGE).as_posix()
        for file in python_files(PACKAGE)
        if "difflib" in file.read_text(encoding="utf-8")
    ]
    assert guessing == ["text.py"]


SHAPES = ("Atom", "Task", "Draw", "Ints", "Floats", "Mask")  # of the contract with the vault


def declared_in(source: str) -> set[str]:
    """The classes and the names that a file gives a value at its top level."""
    if not re.search(rf"(?m)^(?!from |import |def |@|#).*\w*({'|'.join(SHAPES)})", source):
        return set()
    body = ast.parse(source).body
    names = {node.name for node in body if isinstance(node, ast.ClassDef)}
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return names | {target.id for target in targets if isinstance(target, ast.Name)}


def test_the_shapes_between_plan_and_vault_are_declared_once() -> None:
    owners: dict[str, list[str]] = {shape: [] for shape in SHAPES}
    for file in python_files(PACKAGE):
        for name in declared_in(file.read_text(encoding="utf-8")):
            for shape in SHAPES:
                if name == shape or (shape == "Atom" and name.endswith(("Atom", "AtomSpec"))):
                    owners[shape].append(file.relative_to(PACKAGE).as_posix())
    assert owners == {shape: ["measuring.py"] for shape in SHAPES}
