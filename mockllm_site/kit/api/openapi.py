"""Describes the operations of an API for its OpenAPI document (`openapi_document`).

Most servers never make the document, so nothing here imports the library that does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from mockllm_site.kit.api.shapes import Shape

F = TypeVar("F", bound=Callable[..., Any])
# A Shape class, or a JSON Schema.
Form: TypeAlias = type[Shape] | dict[str, Any]

JSON: Final = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A method of a view: its id, input and responses; `meanings` describes its errors. Without a
    tag, the first word of the path groups it. `headers` are drf-spectacular's."""

    method: Callable[..., Any]
    operation: str
    meanings: Mapping[int, str]
    answers: Mapping[int, tuple[Form | None, str]]
    query: type[Shape] | None = None
    headers: Sequence[Any] = ()
    body: Form | None = None
    errors: tuple[int, ...] = ()
    media_type: str = JSON
    tag: str | None = None


# Operations that drf-spectacular does not know yet.
operations: Final[list[Operation]] = []


def documented(operation: str, **description: Any) -> Callable[[F], F]:
    """Return a decorator that registers a view's method for the OpenAPI document. `operation` is
    its id; `description` has the other fields of `Operation`."""

    def register(method: F) -> F:
        """Add the method to the described operations, unchanged."""
        operations.append(Operation(method=method, operation=operation, **description))
        return method

    return register
