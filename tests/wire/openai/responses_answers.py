"""Responses that the tests of the Responses API render and stream."""

from typing import Any

from openai._models import validate_type
from openai.types.responses import Response

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
    ToolCallPart,
)
from tests.wire.openai.responses_cases import parse, render

HEX = "0123456789abcdef0123456789abcdef"
CALL = ToolCallPart("call_1", "f", '{"a":1}')


def answer(
    *choices: tuple[AnswerPart, ...], finish: FinishReason = "stop", **metadata: Any
) -> CanonicalResponse:
    return CanonicalResponse(
        id=HEX,
        created=1735689600,
        model="gpt-4o",
        choices=tuple(Choice(parts, finish) for parts in choices),
        usage=Usage(9, 2, reasoning_tokens=1, cached_tokens=3, cache_write_tokens=4),
        metadata=metadata,
    )


def output(*parts: AnswerPart, **body: Any) -> list[dict[str, Any]]:
    """Return the output items of a response with these parts, checked against the SDK's types."""
    response_body = render(parse(**body), answer(parts))
    validate_type(type_=Response, value=response_body)
    items: list[dict[str, Any]] = response_body["output"]
    return items
