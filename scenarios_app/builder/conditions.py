"""The builder's methods for conditions, made of the conditions' classes.

`make docs` writes the stub file beside this module, for type checkers and editors.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from mockllm_site.kit.keywords import suggest_names
from scenarios_app.builder.draft import Draft
from scenarios_app.engine.conditions.base import Condition
from scenarios_app.engine.conditions.match import CONDITION_KINDS


class Conditions(Draft):
    """Methods that set conditions of a step."""

    __slots__ = ()


def methods_of(kind: type[Condition]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the names and methods that a kind of condition gives the builder."""
    for name, member in vars(kind).items():
        if isinstance(member, staticmethod) and "adds" in vars(member):
            yield name, _to_method(kind, member)


def _to_method(kind: type[Condition], member: "staticmethod[..., Any]") -> Callable[..., Any]:
    """Return the method that joins the value of a function to the condition's key."""

    @wraps(member.__func__)
    def method(self: Conditions, *arguments: Any, **keywords: Any) -> Conditions:
        __tracebackhide__ = True
        value, draft = member(*arguments, **keywords), self._to_match()
        if not vars(member)["adds"]:
            return draft._with_section("match", {kind.key: value})
        return draft._with_more("match", kind.key, value if kind.empty is dict else [value])

    return method


for _kind in CONDITION_KINDS:
    for _name, _method in methods_of(_kind):
        setattr(Conditions, _name, _method)
suggest_names(Conditions)
