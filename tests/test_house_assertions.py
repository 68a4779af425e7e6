"""Every test looks at something: it asserts, or calls what does."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.project_files import source_files

ROOT = Path(__file__).resolve().parents[1]
# Functions of others that raise where something is not as it should be: pytest's, jsonschema's and
# OpenAI's; unittest's and Playwright's by how their names begin.
ASSERTING = {"raises", "fail", "validate", "validate_type"}
BEGINNINGS = ("assert", "to_be_", "to_have_", "to_contain_")
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Seen:
    """A function, the last names of all that it calls, and whether it asserts itself."""

    name: str
    called: frozenset[str]
    asserts: bool

    def looks(self, looking: set[str]) -> bool:
        return self.asserts or not self.called.isdisjoint(looking)


def seen(function: Function) -> Seen:
    nodes = list(ast.walk(function))
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    called = frozenset(getattr(call, "attr", getattr(call, "id", "")) for call in calls)
    asserts = any(isinstance(node, ast.Assert) for node in nodes)
    return Seen(
        function.name, called, asserts or any(name.startswith(BEGINNINGS) for name in called)
    )


def functions(source: str) -> list[Seen]:
    return [seen(node) for node in ast.walk(ast.parse(source)) if isinstance(node, Function)]


def blind(sources: Iterable[str]) -> list[str]:
    """Tests that look at nothing. What they call is known by its name alone: of two functions with
    the same name one that asserts will do."""
    found = [function for source in sources for function in functions(source)]
    others = [function for function in found if not function.name.startswith("test_")]
    looking = set(ASSERTING)
    while more := {one.name for one in others if one.looks(looking)} - looking:
        looking |= more
    tests = [function for function in found if function.name.startswith("test_")]
    return [test.name for test in tests if not test.looks(looking)]


def test_every_test_looks_at_something() -> None:
    names = [name for name in source_files(ROOT) if name.startswith("tests/")]
    assert blind((ROOT / name).read_text() for name in names if name.endswith(".py")) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def test_a():\n    build()", ["test_a"]),
        ("def test_a():\n    build()\ndef test_b():\n    assert x", ["test_a"]),
        ("def build():\n    pass\ndef test_a():\n    build()", ["test_a"]),
        ("async def test_a():\n    assert build()", []),
        ("def test_a():\n    with pytest.raises(ValueError):\n        build()", []),
        ("def is_so():\n    assert x\ndef asked():\n    is_so()\ndef test_a(): asked()", []),
    ],
)
def test_a_test_that_looks_at_nothing_is_found(source: str, expected: list[str]) -> None:
    assert blind([source]) == expected
