"""Tables of the builder's methods, from their signatures and docstrings."""

import inspect
from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from typing import Any, get_args, get_type_hints

from scenarios_app import builder
from scenarios_app.builder import ScenarioBuilder
from scenarios_app.builder.answers import Answers
from scenarios_app.builder.conditions import Conditions
from scenarios_app.builder.draft import Draft
from scenarios_app.builder.expectations import Expectations, FaultKeys
from scenarios_app.engine.conditions.text_shapes import ConditionKeys
from tests.docs.document_tables import table

CLASSES = (ScenarioBuilder, Expectations, Answers, Draft)
FUNCTIONS = [name for name in builder.__all__ if name[0].islower()]


def methods_table(of: str) -> str:
    """Return the table of the methods that a class of the builder defines."""
    (owner,) = (builder_class for builder_class in CLASSES if builder_class.__name__ == of)
    return _table(methods(owner))


def functions_table() -> str:
    """Return the table of the functions of the builder's module."""
    return _table(getattr(builder, name) for name in FUNCTIONS)


def methods(owner: type) -> Iterator[Callable[..., Any]]:
    """Yield the public methods of a class in source order, and those of conditions with the other
    expectations."""
    for definer in (owner, Conditions) if owner is Expectations else (owner,):
        for name, member in vars(definer).items():
            if inspect.isfunction(member) and not name.startswith("_"):
                yield member


def _table(functions: Any) -> str:
    return table(
        ("call", "meaning"),
        [(f"`{_call(function)}`", _meaning(function)) for function in functions],
    )


def _meaning(function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function)
    assert text, f"{function.__qualname__} does not say what it does"
    return " ".join(text.split()).rstrip(".")


def _call(function: Callable[..., Any]) -> str:
    """Return the syntax of a call, with typed keywords by name and with defaults."""
    hints = get_type_hints(function, include_extras=True)
    arguments = []
    for name, parameter in signature(function).parameters.items():
        match parameter.kind:
            case _ if name == "self":
                continue
            case Parameter.POSITIONAL_ONLY if parameter.default is not Parameter.empty:
                arguments.append(f"[{name}]")
            case Parameter.VAR_POSITIONAL:
                arguments.append(f"*{name}")
            case Parameter.VAR_KEYWORD if get_args(hints[name]):
                (keys,) = get_args(hints[name])
                arguments += _keywords(keys)
            case Parameter.VAR_KEYWORD:
                arguments.append(f"**{name}")
            case Parameter.KEYWORD_ONLY:
                arguments.append(f"{name}={_default(parameter)}")
            case _ if parameter.default is not Parameter.empty:
                arguments.append(f"{name}={_default(parameter)}")
            case _:
                arguments.append(name)
    return f"{function.__name__}({', '.join(arguments)})"


def _keywords(keys: type) -> list[str]:
    """Return the keywords of a call; those of a text condition or a fault as one name."""
    names = dict.fromkeys(get_type_hints(keys))
    for group, name in ((FaultKeys, "**fault"), (ConditionKeys, "**condition")):
        if (members := get_type_hints(group)).keys() <= names.keys():
            own = [f"{key}=…" for key in names if key not in members]
            return [name, *own]
    return [f"{key}=…" for key in names]


def _default(parameter: Parameter) -> str:
    is_plain = parameter.default is None or isinstance(parameter.default, str | int | float)
    return repr(parameter.default) if is_plain and parameter.default is not None else "…"
