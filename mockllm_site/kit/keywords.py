"""Suggests the right name for a misspelt one, also in the errors of calls and attributes."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, isfunction, signature
from typing import Any, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type[Any])


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `did you mean NAME?` for the nearest of the names, or "" if none is near."""
    near = get_close_matches(name, sorted(names), n=1)
    return f"did you mean {near[0]}?" if near else ""


def with_suggestions(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that raises TypeError with a suggestion for an unknown keyword; a function
    that takes any keyword is returned unchanged."""
    parameters = signature(function).parameters.values()
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return function
    positional = (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL)
    names = [
        parameter.name
        for parameter in parameters
        if parameter.kind not in positional and parameter.name != "self"
    ]

    @wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> R:
        """Call the function; raise TypeError that names the nearest keyword for an unknown one."""
        __tracebackhide__ = True
        for keyword in keywords:
            if keyword not in names:
                hint = did_you_mean(keyword, names) or f"it takes {', '.join(names) or 'none'}"
                raise TypeError(f"{function.__name__}() has no keyword {keyword!r}, {hint}")
        return function(*args, **keywords)

    return checked


def suggest_names(cls: C) -> C:
    """Decorate a class: TypeErrors of its public methods suggest the right keyword, AttributeErrors
    the right attribute, unless the class has a `__getattr__`."""
    for name, value in list(vars(cls).items()):
        if isfunction(value) and not name.startswith("_"):
            setattr(cls, name, with_suggestions(value))
    if not hasattr(cls, "__getattr__"):
        cls.__getattr__ = raise_unknown_attribute
    return cls


def raise_unknown_attribute(instance: object, name: str) -> NoReturn:
    """Raise AttributeError, for a public name with the nearest attribute of the instance."""
    __tracebackhide__ = True
    message = f"{type(instance).__name__} has no attribute {name!r}"
    # `dir` itself looks for private ones.
    if not name.startswith("_"):
        public = [attribute for attribute in dir(instance) if not attribute.startswith("_")]
        hint = did_you_mean(name, public) or f"it has {', '.join(public)}"
        message = f"{message}, {hint}"
    raise AttributeError(message)
