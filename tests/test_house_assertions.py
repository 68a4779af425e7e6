"""Every test asserts something, or calls a function that does."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.project_files import source_files

ROOT = Path(__file__).resolve().parents[1]
# Library functions that raise if a check fails: of pytest, jsonschema and OpenAI by name, of
# unittest and Playwright by prefix.
ASSERTING_NAMES = {"raises", "fail", "validate", "validate_type"}
ASSERTING_PREFIXES = ("assert", "to_be_", "to_have_", "to_contain_")
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class FunctionCalls:
    """A function's name, the names of the functions it calls, and whether it has an assertion."""

    name: str
    called_names: frozenset[str]
    asserts: bool

    def has_check(self, checking_names: set[str]) -> bool:
        return self.asserts or not self.called_names.isdisjoint(checking_names)


def analyze_function(function: Function) -> FunctionCalls:
    nodes = list(ast.walk(function))
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    called_names = frozenset(getattr(call, "attr", getattr(call, "id", "")) for call in calls)
    asserts = any(isinstance(node, ast.Assert) for node in nodes)
    return FunctionCalls(
        function.name,
        called_names,
        asserts or any(name.startswith(ASSERTING_PREFIXES) for name in called_names),
    )


def functions(source: str) -> list[FunctionCalls]:
    return [
        analyze_function(node) for node in ast.walk(ast.parse(source)) if isinstance(node, Function)
    ]


def find_tests_without_checks(sources: Iterable[str]) -> list[str]:
    """Return the names of tests without a check.

    Calls are resolved by name only: one function of a name with a check is enough.
    """
    analyzed = [function for source in sources for function in functions(source)]
    others = [function for function in analyzed if not function.name.startswith("test_")]
    checking_names = set(ASSERTING_NAMES)
    while (
        new_names := {function.name for function in others if function.has_check(checking_names)}
        - checking_names
    ):
        checking_names |= new_names
    tests = [function for function in analyzed if function.name.startswith("test_")]
    return [test.name for test in tests if not test.has_check(checking_names)]


def test_every_test_has_a_check() -> None:
    names = [name for name in source_files(ROOT) if name.startswith("tests/")]
    assert (
        find_tests_without_checks(
            (ROOT / name).read_text() for name in names if name.endswith(".py")
        )
        == []
    )


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
def test_test_without_a_check_is_found(source: str, expected: list[str]) -> None:
    assert find_tests_without_checks([source]) == expected
