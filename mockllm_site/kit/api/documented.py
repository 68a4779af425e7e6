"""Says of a view's method what the OpenAPI document tells: one call, for all of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from mockllm_site.kit.api.shapes import ErrorBody, Shape

F = TypeVar("F", bound=Callable[..., Any])
# A shape, or a piece of JSON Schema.
Form: TypeAlias = type[Shape] | dict[str, Any]

JSON = "application/json"
ALWAYS = (400, 401, 403, 500, 503)
WITH_BODY = (413, 415)


def documented(
    operation: str,
    *,
    meanings: Mapping[int, str],
    query: type[Shape] | None = None,
    headers: Sequence[OpenApiParameter] = (),
    body: Form | None = None,
    answers: Mapping[int, tuple[Form | None, str]],
    errors: tuple[int, ...] = (),
    media_type: str = JSON,
    tag: str | None = None,
) -> Callable[[F], F]:
    """The operation's id, what it reads and each answer that it gives, with its meaning; that of
    an error is in `meanings`. Without a tag, the path's first word groups it."""
    refused = {*ALWAYS, *errors, *(WITH_BODY if body is not None else ())}
    responses: dict[Any, Any] = {
        (status, media_type): OpenApiResponse(form, description=meaning)
        for status, (form, meaning) in answers.items()
    }
    responses |= {
        (status, JSON): OpenApiResponse(ErrorBody, description=meanings[status])
        for status in sorted(refused)
    }
    return extend_schema(
        operation_id=operation,
        parameters=[*([] if query is None else [query]), *headers],
        request=None if body is None else {JSON: body},
        responses=responses,
        tags=None if tag is None else [tag],
    )
