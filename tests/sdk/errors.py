"""The exceptions that each provider's client raises, with their attributes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anthropic
import ollama
import openai
from google.genai.errors import ClientError, ServerError

ODD = ("odd_type", "odd_code", "messages")
INVALID = "invalid_request_error"


@dataclass(frozen=True)
class ExpectedErrors:
    """The errors of one provider's client.

    `describe` returns an error's class, status, message and further attributes. `statuses` maps
    statuses to the class and the default attributes. Steps that script `scripted_fields` have the
    attributes `details`; `details_by_kind` are those of errors scripted by kind, `unmatched` and
    `too_large` those of the server's own errors. `malformed` are request bodies, each with the
    place that `names_place` finds in the error.
    """

    statuses: Mapping[int, tuple[Any, ...]]
    describe: Callable[[Any], tuple[Any, ...]]
    get_response: Callable[[Any], Any] | None = None
    scripted_fields: Mapping[str, str] | None = None
    details: tuple[str, ...] = ()
    details_by_kind: Mapping[str, tuple[str | None, ...]] | None = None
    unmatched: tuple[str | None, ...] = ()
    too_large: tuple[Any, ...] = ()
    rate_limit_headers: Mapping[str, str] | None = None
    retry_after_ms: str | None = None
    malformed: tuple[tuple[dict[str, Any], str], ...] = ()
    names_place: Callable[[Any, str], bool] | None = None


def openai_errors(malformed: tuple[tuple[dict[str, Any], str], ...]) -> ExpectedErrors:
    return ExpectedErrors(
        statuses={
            400: (openai.BadRequestError,),
            401: (openai.AuthenticationError,),
            403: (openai.PermissionDeniedError,),
            404: (openai.NotFoundError,),
            409: (openai.ConflictError,),
            422: (openai.UnprocessableEntityError,),
            429: (openai.RateLimitError,),
            500: (openai.InternalServerError,),
            503: (openai.InternalServerError,),
        },
        describe=lambda e: (type(e), e.status_code, e.body["message"], e.type, e.code, e.param),
        get_response=lambda e: e.response,
        scripted_fields={"type": ODD[0], "code": ODD[1], "param": ODD[2]},
        details=ODD,
        details_by_kind={
            "rate_limit": ("requests", "rate_limit_exceeded", None),
            "model_error": ("server_error", None, None),
        },
        rate_limit_headers={"x-ratelimit-remaining-requests": "0"},
        retry_after_ms="2500",
        unmatched=(INVALID, "no_scenario_matched", None),
        too_large=(openai.APIStatusError, INVALID, None, None),
        malformed=malformed,
        names_place=lambda e, place: (e.type, e.param) == (INVALID, place),
    )


ANTHROPIC = ExpectedErrors(
    statuses={
        400: (anthropic.BadRequestError, INVALID),
        401: (anthropic.AuthenticationError, "authentication_error"),
        403: (anthropic.PermissionDeniedError, "permission_error"),
        404: (anthropic.NotFoundError, "not_found_error"),
        409: (anthropic.ConflictError, "conflict_error"),
        422: (anthropic.UnprocessableEntityError, INVALID),
        429: (anthropic.RateLimitError, "rate_limit_error"),
        500: (anthropic.InternalServerError, "api_error"),
        503: (anthropic.ServiceUnavailableError, "overloaded_error"),
        529: (anthropic.OverloadedError, "overloaded_error"),
    },
    describe=lambda e: (
        type(e),
        e.status_code,
        e.body["error"]["message"],
        e.body["error"]["type"],
    ),
    get_response=lambda e: e.response,
    rate_limit_headers={"anthropic-ratelimit-requests-remaining": "0"},
    unmatched=("not_found_error",),
    too_large=(anthropic.ContentTooLargeError, "request_too_large"),
    malformed=(
        ({"messages": []}, "messages"),
        ({"messages": "Hello"}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"model": 7}, "model"),
        ({"max_tokens": None}, "max_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"tools": [{"name": 1}]}, "tools[0].name"),
        ({"stream": "yes"}, "stream"),
    ),
    names_place=lambda e, place: (
        e.body["error"]["type"] == INVALID and place in e.body["error"]["message"]
    ),
)
ERRORS = {
    "openai": openai_errors(
        (
            ({"messages": []}, "messages"),
            ({"messages": "Hello"}, "messages"),
            ({"messages": [{"role": "user"}]}, "messages[0].content"),
            ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
            ({"model": 7}, "model"),
            ({"temperature": "hot"}, "temperature"),
            ({"n": 0}, "n"),
            ({"tools": [{"type": "function"}]}, "tools[0].function"),
            ({"stream": "yes"}, "stream"),
        )
    ),
    "responses": openai_errors(
        (
            ({"input": [{"role": "critic", "content": "x"}]}, "input[0].role"),
            ({"tools": [{"type": "function"}]}, "tools[0].name"),
            ({"text": {"format": {}}}, "text.format.type"),
        )
    ),
    "anthropic": ANTHROPIC,
    "anthropic beta": ANTHROPIC,
    "gemini": ExpectedErrors(
        statuses={
            400: (ClientError, "INVALID_ARGUMENT"),
            401: (ClientError, "UNAUTHENTICATED"),
            403: (ClientError, "PERMISSION_DENIED"),
            404: (ClientError, "NOT_FOUND"),
            409: (ClientError, "ABORTED"),
            429: (ClientError, "RESOURCE_EXHAUSTED"),
            500: (ServerError, "INTERNAL"),
            501: (ServerError, "UNIMPLEMENTED"),
            503: (ServerError, "UNAVAILABLE"),
            504: (ServerError, "DEADLINE_EXCEEDED"),
        },
        describe=lambda e: (type(e), e.code, e.message, e.status),
        get_response=lambda e: e.response,
        rate_limit_headers={},
        unmatched=("NOT_FOUND",),
        too_large=(ClientError, "INVALID_ARGUMENT"),
        malformed=(
            ({"contents": []}, "contents"),
            ({"contents": "Hello"}, "contents"),
            ({"contents": [{"role": "robot", "parts": [{"text": "x"}]}]}, "contents[0].role"),
            ({"contents": [{"parts": [{}]}]}, "contents[0].parts[0]"),
            ({"generationConfig": {"temperature": "hot"}}, "generationConfig.temperature"),
            ({"tools": [{"functionDeclarations": [{"name": 1}]}]}, "functionDeclarations[0].name"),
        ),
        names_place=lambda e, place: (
            e.status == "INVALID_ARGUMENT"
            and place in e.message
            and [
                place in wrong["fieldViolations"][0]["field"]
                for wrong in e.details["error"]["details"]
            ]
            == [True]
        ),
    ),
    "ollama": ExpectedErrors(
        statuses=dict.fromkeys(
            (400, 401, 403, 404, 409, 422, 429, 500, 503), (ollama.ResponseError,)
        ),
        describe=lambda e: (type(e), e.status_code, e.error),
        too_large=(ollama.ResponseError,),
    ),
}
