"""What each provider's client tells of an error: its exceptions, and what stands in them."""

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
class Errors:
    """What a client tells of an error: `told` is its class, its status, its message and what its
    provider says besides. `statuses` are the classes, and what is said besides where nothing was
    scripted; `scripted` is, and is told as `details`.

    `kinds` are said besides by errors that are scripted by their kind, `unmatched` and `too_large`
    by errors of the server's own. `limits` are the headers of a rate limit. `malformed` are bodies
    and the places in them that `names` looks for."""

    statuses: Mapping[int, tuple[Any, ...]]
    told: Callable[[Any], tuple[Any, ...]]
    answer: Callable[[Any], Any] | None = None
    scripted: Mapping[str, str] | None = None
    details: tuple[str, ...] = ()
    kinds: Mapping[str, tuple[str | None, ...]] | None = None
    unmatched: tuple[str | None, ...] = ()
    too_large: tuple[Any, ...] = ()
    limits: Mapping[str, str] | None = None
    retry_after_ms: str | None = None
    malformed: tuple[tuple[dict[str, Any], str], ...] = ()
    names: Callable[[Any, str], bool] | None = None


def openais(malformed: tuple[tuple[dict[str, Any], str], ...]) -> Errors:
    return Errors(
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
        told=lambda e: (type(e), e.status_code, e.body["message"], e.type, e.code, e.param),
        answer=lambda e: e.response,
        scripted={"type": ODD[0], "code": ODD[1], "param": ODD[2]},
        details=ODD,
        kinds={
            "rate_limit": ("requests", "rate_limit_exceeded", None),
            "model_error": ("server_error", None, None),
        },
        limits={"x-ratelimit-remaining-requests": "0"},
        retry_after_ms="2500",
        unmatched=(INVALID, "no_scenario_matched", None),
        too_large=(openai.APIStatusError, INVALID, None, None),
        malformed=malformed,
        names=lambda e, place: (e.type, e.param) == (INVALID, place),
    )


ANTHROPIC = Errors(
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
    told=lambda e: (type(e), e.status_code, e.body["error"]["message"], e.body["error"]["type"]),
    answer=lambda e: e.response,
    limits={"anthropic-ratelimit-requests-remaining": "0"},
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
    names=lambda e, place: (
        e.body["error"]["type"] == INVALID and place in e.body["error"]["message"]
    ),
)
ERRORS = {
    "openai": openais(
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
    "responses": openais(
        (
            ({"input": [{"role": "critic", "content": "x"}]}, "input[0].role"),
            ({"tools": [{"type": "function"}]}, "tools[0].name"),
            ({"text": {"format": {}}}, "text.format.type"),
        )
    ),
    "anthropic": ANTHROPIC,
    "anthropic beta": ANTHROPIC,
    "gemini": Errors(
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
        told=lambda e: (type(e), e.code, e.message, e.status),
        answer=lambda e: e.response,
        limits={},
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
        names=lambda e, place: (
            e.status == "INVALID_ARGUMENT"
            and place in e.message
            and [
                place in wrong["fieldViolations"][0]["field"]
                for wrong in e.details["error"]["details"]
            ]
            == [True]
        ),
    ),
    "ollama": Errors(
        statuses=dict.fromkeys(
            (400, 401, 403, 404, 409, 422, 429, 500, 503), (ollama.ResponseError,)
        ),
        told=lambda e: (type(e), e.status_code, e.error),
        too_large=(ollama.ResponseError,),
    ),
}
