"""Tables of the builder's methods, from their signatures and docstrings."""

import inspect
from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from typing import Any, get_args, get_type_hints

from scenarios_app import builder
from scenarios_app.builder import ScenarioBuilder
from scenarios_app.builder.answers import Answers
from scenarios_app.builder.draft import Draft
from scenarios_app.builder.expectations import Expectations
from tests.docs.document_tables import table

CLASSES = (ScenarioBuilder, Expectations, Answers, Draft)
FUNCTIONS = [name for name in builder.__all__ if name[0].islower()]


def methods_table(of: str) -> str:
    """The methods that a class of the builder's has of its own."""
    (owner,) = (one for one in CLASSES if one.__name__ == of)
    return _table(methods(owner))


def functions_table() -> str:
    """What the builder's module gives besides."""
    return _table(getattr(builder, name) for name in FUNCTIONS)


def methods(owner: type) -> Iterator[Callable[..., Any]]:
    """In the order in which they are written."""
    for name, member in vars(owner).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            yield member


def _table(found: Any) -> str:
    return table(("call", "meaning"), [(f"`{_call(one)}`", _meaning(one)) for one in found])


def _meaning(function: Callable[..., Any]) -> str:
    text = inspect.getdoc(function)
    assert text, f"{function.__qualname__} does not say what it does"
    return " ".join(text.split()).rstrip(".")


def _call(function: Callable[..., Any]) -> str:
    """As it is called: keywords that have types of their own by name, defaults as they are."""
    hints = get_type_hints(function, include_extras=True)
    written = []
    for name, one in signature(function).parameters.items():
        match one.kind:
            case _ if name == "self":
                continue
            case Parameter.POSITIONAL_ONLY if one.default is not Parameter.empty:
                written.append(f"[{name}]")
            case Parameter.VAR_POSITIONAL:
                written.append(f"*{name}")
            case Parameter.VAR_KEYWORD if get_args(hints[name]):
                (keys,) = get_args(hints[name])
                written += [f"{key}=…" for key in get_type_hints(keys)]
            case Parameter.VAR_KEYWORD:
                written.append(f"**{name}")
            case Parameter.KEYWORD_ONLY:
                written.append(f"{name}={_default(one)}")
            case _ if one.default is not Parameter.empty:
                written.append(f"{name}={_default(one)}")
            case _:
                written.append(name)
    return f"{function.__name__}({', '.join(written)})"


def _default(one: Parameter) -> str:
    plain = one.default is None or isinstance(one.default, str | int | float)
    return repr(one.default) if plain and one.default is not None else "…"
