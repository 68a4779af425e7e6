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
    """A view's method in the document. `answers` and `meanings` describe successes and errors by
    status; `headers` are drf-spectacular's. `tag` groups it, by default the path's first word."""

    method: Callable[..., Any]
    operation_id: str
    meanings: Mapping[int, str]
    answers: Mapping[int, tuple[Form | None, str]]
    query: type[Shape] | None = None
    headers: Sequence[Any] = ()
    body: Form | None = None
    errors: tuple[int, ...] = ()
    media_type: str = JSON
    tag: str | None = None


# Operations that are not registered with drf-spectacular yet.
unregistered: Final[list[Operation]] = []


def documented(operation_id: str, **description: Any) -> Callable[[F], F]:
    """Return a decorator that adds a view's method to the OpenAPI document; `description` has the
    other fields of `Operation`."""

    def register(method: F) -> F:
        """Add the method to the unregistered operations, and return it unchanged."""
        unregistered.append(Operation(method=method, operation_id=operation_id, **description))
        return method

    return register
