"""The stub file of the builder's methods for conditions, from the functions of their classes.

`make docs` writes it beside the module that makes the methods.
"""

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scenarios_app.builder import conditions
from scenarios_app.engine.conditions.base import Condition
from scenarios_app.engine.conditions.match import CONDITION_KINDS

FILE = Path(conditions.__file__).with_suffix(".pyi")
HEAD = """\
# `make docs` writes this file, from the conditions' classes.
from collections.abc import Callable, Iterator
from typing import Any, Self

from scenarios_app.builder.draft import Draft
from scenarios_app.engine.conditions.base import Condition
"""
CLASS = """
def methods_of(kind: type[Condition]) -> Iterator[tuple[str, Callable[..., Any]]]: ...

class Conditions(Draft):
    __slots__ = ()
"""


def stub_text() -> str:
    """Return the content of the file, formatted."""
    methods = [method for kind in CONDITION_KINDS for method in _functions(kind)]
    imports = sorted({line for function, _ in methods for line in _imports(function)})
    text = "\n".join([HEAD, *imports, CLASS, *(definition for _, definition in methods)])
    commands = (["check", "--select=I", "--fix-only", "--quiet"], ["format"])
    for command in commands:
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, f"--stdin-filename={FILE}", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text


def write_stub() -> None:
    FILE.write_text(stub_text(), encoding="utf-8")


def _functions(kind: type[Condition]) -> Iterator[tuple[Callable[..., Any], str]]:
    """Yield the functions of a condition's class, with the definitions of their methods."""
    for _, method in conditions.methods_of(kind):
        function = inspect.unwrap(method)
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert isinstance(node, ast.FunctionDef)
        arguments = node.args
        (arguments.posonlyargs or arguments.args).insert(0, ast.arg("self"))
        node.decorator_list, node.body = [], node.body[:1]
        node.returns = ast.Name("Self")
        yield function, textwrap.indent(ast.unparse(node), "    ")


def _imports(function: Callable[..., Any]) -> Iterator[str]:
    """Yield an import for each global name in a function's annotations."""
    source = ast.parse(textwrap.dedent(inspect.getsource(function)))
    names = {node.id for node in ast.walk(source) if isinstance(node, ast.Name)}
    names &= {
        node.id
        for argument in ast.walk(source)
        if isinstance(argument, ast.arg) and argument.annotation is not None
        for node in ast.walk(argument.annotation)
        if isinstance(node, ast.Name)
    }
    for name in names & function.__globals__.keys():
        yield f"from {function.__globals__[name].__module__} import {name}"
