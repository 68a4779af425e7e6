"""Requirement 003's own form of a scenario: its turns, in camel case, as strict models.

Where that requirement's types are open, so are these; an optional key may also be null.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, WrapValidator
from pydantic.alias_generators import to_camel

from scenarios_app.engine.document_base import Document, Finding, in_a_list, reads_string
from scenarios_app.engine.document_faults import NO_BODY
from scenarios_app.engine.document_fields import (
    Flag,
    Headers,
    Name,
    Number,
    Positive,
    ResponseKind,
    SomeText,
    Status,
    Text,
    Thinking,
    Whole,
)

Open: TypeAlias = dict[str, JsonValue]

# Keys that one kind of response has and the others have not; the first of them it must have.
_OF_KIND: Mapping[str, tuple[str, ...]] = {
    "tool-call": ("tool_calls",),
    "final-report": (
        "report_content",
        "report_format",
        "status",
        "report_content_json",
        "report_messages",
    ),
    "text": (),
}


class CamelDocument(Document):
    """Keys as requirement 003 writes them."""

    model_config = ConfigDict(alias_generator=to_camel)


class SegmentDocument(CamelDocument):
    """A block of thinking. A plain string means `text`."""

    type: Text | None = None
    text: Text
    provider_metadata: Open | None = None
    """`anthropic.signature` or `anthropic.redactedData` is given to the client, to send back."""


Segment: TypeAlias = Annotated[SegmentDocument, reads_string(SegmentDocument, "text")]
Segments: TypeAlias = Annotated[
    list[Segment], WrapValidator(in_a_list, json_schema_input_type=Segment | list[Segment])
]


class CallDocument(CamelDocument):
    """A call of a tool, and what is said before it."""

    tool_name: SomeText
    call_id: SomeText | None = None
    """Without it `call-1`, `call-2` and so on."""
    assistant_text: Text | None = None
    arguments: JsonValue = Field(default_factory=dict)
    """Any JSON; a string too is sent JSON-encoded."""


class TokenUsageDocument(CamelDocument):
    """Token counts; 64 of input and 32 of output where they are not given."""

    input_tokens: Whole | None = None
    output_tokens: Whole | None = None
    total_tokens: Whole | None = None
    reasoning_tokens: Whole | None = None
    cached_tokens: Whole | None = None
    """Those of the input tokens that came from a cache."""
    cached_input_tokens: Whole | None = None
    """The same under another name."""
    cache_read_input_tokens: Whole | None = None
    cache_write_input_tokens: Whole | None = None


class ResponseDocument(CamelDocument):
    """What a turn answers: tool calls, a final report or a text, thinking before each of them."""

    kind: ResponseKind
    assistant_text: Text | None = None
    tool_calls: list[CallDocument] | None = None
    report_content: Text | None = None
    report_format: Text | None = None
    status: Text | None = None
    report_content_json: JsonValue = None
    report_messages: JsonValue = None
    reasoning: list[SegmentDocument] | None = None
    reasoning_content: Segments | None = None
    """More thinking, in any form that it comes in."""
    finish_reason: Text | None = None
    """tool-calls, content-filter, max_tokens, length or stop; anything else means whatever fits
    the content."""
    token_usage: TokenUsageDocument | None = None
    provider_metadata: Open | None = None
    """More top-level fields of the answer; an object is for the provider that it is named for."""

    def findings(self) -> Iterator[Finding]:
        for kind, keys in _OF_KIND.items():
            if kind == self.kind:
                needed = keys[:1] or ("assistant_text",)
                missing = (key for key in needed if getattr(self, key) is None)
                yield from (((to_camel(key),), "missing") for key in missing)
            else:
                strange = (key for key in keys if getattr(self, key) is not None)
                text = f"does not belong to a response of kind {self.kind}"
                yield from (((to_camel(key),), text) for key in strange)


def _numbers_as_text(headers: Any) -> Any:
    if not isinstance(headers, dict):
        return headers
    return {k: str(v) if type(v) in (int, float) else v for k, v in headers.items()}


ThrownHeaders: TypeAlias = Annotated[
    Headers,
    BeforeValidator(_numbers_as_text, json_schema_input_type=dict[str, str | int | float]),
]


class ThrownDocument(CamelDocument):
    """The error that a failing attempt throws. What it holds besides is let through unread."""

    model_config = ConfigDict(extra="allow")

    name: JsonValue = None
    """With `Timeout` in it: HTTP 504; with `Network`: the connection closes."""
    code: JsonValue = None
    """With `Network` or `ECONN` in it: the connection closes. Else the error's code."""
    message: JsonValue = None
    type: JsonValue = None
    param: JsonValue = None
    status: Status | None = None
    """An HTTP error of this status, whatever the name or the code."""
    headers: ThrownHeaders | None = None
    response_body: JsonValue = None
    """The body of that error: text as it stands, other JSON encoded."""

    def findings(self) -> Iterator[Finding]:
        if self.status in NO_BODY:
            yield ("status",), "an error has a body, and 204 and 304 have none"


class TurnDocument(CamelDocument):
    """One turn: what is expected of the request, how often it fails first, what it answers."""

    turn: Positive
    """Which answer of the conversation this is: assistant messages so far, plus one."""
    response: ResponseDocument
    expected_tools: list[SomeText] | None = None
    allow_missing_tools: Flag | None = None
    expected_temperature: Number | None = None
    expected_top_p: Number | None = None
    expected_reasoning: Thinking | None = None
    failures_before_success: Whole | None = None
    """How many attempts fail, per session and provider."""
    failure_throws: Flag | None = None
    """Whether a failing attempt throws `failureError` instead of giving `failureStatus`."""
    failure_status: Text | None = None
    """timeout, invalid_response, network_error or rate_limit; anything else is model_error."""
    failure_message: Text | None = None
    failure_retryable: Flag | None = None
    failure_retry_after_ms: Whole | None = None
    failure_error: ThrownDocument | None = None


class TurnsDocument(CamelDocument):
    """A scenario in turns, chosen by a first user message that is its id."""

    id: Name
    """The scenario's name."""
    description: Text = ""
    system_prompt_must_include: list[Text] | None = None
    """Texts that the system prompt should hold; a missing one is a violation."""
    turns: list[TurnDocument]
