"""Says of a view's method what the OpenAPI document tells: one call, for all of it."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers

from scenarios_app.control.shapes import ErrorBody, Shape

F = TypeVar("F", bound=Callable[..., Any])
# A shape, or a piece of JSON Schema.
Form: TypeAlias = type[Shape] | dict[str, Any]

SCENARIO: Form = {"$ref": "#/components/schemas/ScenarioDocument"}
DOCUMENT: Form = {"$ref": "#/components/schemas/Document"}
STEP: Form = {"$ref": "#/components/schemas/StepDocument"}
MATCH: Form = {"$ref": "#/components/schemas/MatchDocument"}

ANY = "application/json"
ALWAYS = (400, 401, 403, 500, 503)
WITH_BODY = (413, 415)
MEANINGS: Mapping[int, str] = {
    400: "Something is wrong with the request; `field` says where.",
    401: "The control token is missing or wrong.",
    403: "The control API is closed here.",
    404: "There is nothing of this name or id.",
    409: "Something of this name exists, or does not allow this.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    500: "The server failed; its log says why.",
    503: "The database does not answer.",
}


@extend_schema_field(SCENARIO)
class ScenarioField(serializers.JSONField):
    """A scenario document."""


@extend_schema_field(MATCH)
class MatchField(serializers.JSONField):
    """Conditions on a request, as a step has them."""


def documented(
    operation: str,
    *,
    query: type[Shape] | None = None,
    body: Form | None = None,
    answers: Mapping[int, tuple[Form | None, str]],
    errors: tuple[int, ...] = (),
    media_type: str = ANY,
) -> Callable[[F], F]:
    """The operation's id, what it reads and each answer that it gives, with its meaning."""
    refused = {*ALWAYS, *errors, *(WITH_BODY if body is not None else ())}
    responses: dict[Any, Any] = {
        (status, media_type): OpenApiResponse(form, description=meaning)
        for status, (form, meaning) in answers.items()
    }
    responses |= {
        (status, ANY): OpenApiResponse(ErrorBody, description=MEANINGS[status])
        for status in sorted(refused)
    }
    return extend_schema(
        operation_id=operation,
        parameters=[] if query is None else [query],
        request=None if body is None else {ANY: body},
        responses=responses,
    )
