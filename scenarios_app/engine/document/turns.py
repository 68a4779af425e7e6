"""Requirement 003's own form of a scenario: its turns, in camel case, as strict models. Where that
requirement's types are open, so are these; an optional key may also be null."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, WrapValidator
from pydantic.alias_generators import to_camel

from scenarios_app.engine.document.fault import STATUSES_WITHOUT_BODY
from scenarios_app.engine.document.scenario import Thinking
from scenarios_app.engine.shapes import (
    Document,
    KeyProblem,
    fields,
    parse_from_string,
    wrap_in_list,
)

OpenObject: TypeAlias = dict[str, JsonValue]

# Keys that one kind of response has and the others have not; the first of them it must have.
_KEYS_BY_KIND: Mapping[str, tuple[str, ...]] = {
    "tool-call": ("tool_calls",),
    "final-report": (*("report_content", "report_format", "status"), *("content_json", "messages")),
    "text": (),
}


class CamelDocument(Document):
    """Base of models with keys in camel case, as requirement 003 writes them."""

    model_config = ConfigDict(alias_generator=to_camel)


class SegmentDocument(CamelDocument):
    """A block of thinking. A plain string means `text`."""

    type: fields.Text | None = None
    """Read and ignored."""
    text: fields.Text
    """The text of the block."""
    provider_metadata: OpenObject | None = None
    """`anthropic.signature` or `anthropic.redactedData` is given to the client, to send back."""


Segment: TypeAlias = Annotated[SegmentDocument, parse_from_string(SegmentDocument, "text")]
Segments: TypeAlias = Annotated[
    list[Segment], WrapValidator(wrap_in_list, json_schema_input_type=Segment | list[Segment])
]


class CallDocument(CamelDocument):
    """A call of a tool, and the text before it."""

    tool_name: fields.SomeText
    """The tool's name."""
    call_id: fields.SomeText | None = None
    """Without it `call-1`, `call-2` and so on."""
    assistant_text: fields.Text | None = None
    """The text of the answer before the call."""
    arguments: JsonValue = Field(default_factory=dict)
    """Any JSON; a string too is sent JSON-encoded."""


class TokenUsageDocument(CamelDocument):
    """Token counts; 64 of input and 32 of output where they are not given."""

    input_tokens: fields.Whole | None = None
    """Tokens of the request; without it 64."""
    output_tokens: fields.Whole | None = None
    """Tokens of the answer; without it 32."""
    total_tokens: fields.Whole | None = None
    """The total, where it is not the sum of the two."""
    reasoning_tokens: fields.Whole | None = None
    """Output tokens spent on thinking, part of `outputTokens`."""
    cached_tokens: fields.Whole | None = None
    """Input tokens read from a cache, part of `inputTokens`."""
    cached_input_tokens: fields.Whole | None = None
    """The same under another name."""
    cache_read_tokens: fields.Whole | None = Field(default=None, alias="cacheReadInputTokens")
    """Read from a cache beside the input tokens, as Anthropic counts them."""
    cache_write_tokens: fields.Whole | None = Field(default=None, alias="cacheWriteInputTokens")
    """Written to a cache beside the input tokens, as Anthropic counts them."""


class ResponseDocument(CamelDocument):
    """The answer of a turn: tool calls, a final report or a text, after its thinking."""

    kind: fields.ResponseKind
    """The kind of answer: tool-call, final-report or text."""
    assistant_text: fields.Text | None = None
    """The text of the answer, before any calls."""
    tool_calls: list[CallDocument] | None = None
    """The tools that kind tool-call calls."""
    report_content: fields.Text | None = None
    """The report of kind final-report."""
    report_format: fields.Text | None = None
    """The format of the report, such as markdown."""
    status: fields.Text | None = None
    """The result of the run in the report: success, failure or another word."""
    content_json: JsonValue = Field(default=None, alias="reportContentJson")
    """The report as data, for formats that have such a thing."""
    messages: JsonValue = Field(default=None, alias="reportMessages")
    """The report as a chat's messages, for formats that have such a thing."""
    reasoning: list[SegmentDocument] | None = None
    """The blocks of thinking before the answer."""
    reasoning_content: Segments | None = None
    """More thinking: a text, a block or a list of blocks."""
    finish_reason: fields.Text | None = None
    """tool-calls, content-filter, max_tokens, length or stop; anything else means what fits
    the content."""
    token_usage: TokenUsageDocument | None = None
    """Token counts."""
    provider_metadata: OpenObject | None = None
    """More top-level fields of the answer; an object is for the provider that it is named for."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        for kind, names in _KEYS_BY_KIND.items():
            if kind == self.kind:
                needed = names[:1] or ("assistant_text",)
                wrong, text = [name for name in needed if getattr(self, name) is None], "missing"
            else:
                wrong = [name for name in names if getattr(self, name) is not None]
                text = f"does not belong to a response of kind {self.kind}"
            for name in wrong:
                yield (str(ResponseDocument.model_fields[name].alias),), text


def _numbers_to_text(headers: Any) -> Any:
    """Return headers with numbers as texts, and any other value unchanged."""
    if not isinstance(headers, dict):
        return headers
    return {k: str(v) if type(v) in (int, float) else v for k, v in headers.items()}


ThrownHeaders: TypeAlias = Annotated[
    fields.Headers,
    BeforeValidator(_numbers_to_text, json_schema_input_type=dict[str, str | int | float]),
]


class ThrownDocument(CamelDocument):
    """The error that a failing attempt throws. Other keys are allowed and ignored."""

    model_config = ConfigDict(extra="allow")

    name: JsonValue = None
    """With `Timeout` in it: HTTP 504; with `Network`: the connection closes."""
    code: JsonValue = None
    """With `Network` or `ECONN` in it: the connection closes. Else the error's code."""
    message: JsonValue = None
    """The error's message, where failureMessage gives none."""
    type: JsonValue = None
    """The error's type in the provider's envelope."""
    param: JsonValue = None
    """The parameter that the error is about, in the provider's envelope."""
    status: fields.Status | None = None
    """An HTTP error of this status, of any name and code."""
    headers: ThrownHeaders | None = None
    """The headers of that error."""
    response_body: JsonValue = None
    """The body of that error: text as it stands, other JSON encoded."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.status in STATUSES_WITHOUT_BODY:
            yield ("status",), "an error has a body, and 204 and 304 have none"


class TurnDocument(CamelDocument):
    """One turn: expectations of the request, failures of the first attempts, and the answer."""

    turn: fields.Positive
    """The number of the answer in the conversation: assistant messages so far, plus one."""
    response: ResponseDocument
    """The answer."""
    expected_tools: list[fields.SomeText] | None = None
    """Names of tools that should all be offered."""
    allow_missing_tools: fields.Flag | None = None
    """Whether tools may be missing after all."""
    expected_temperature: fields.Number | None = None
    """The temperature that the request should ask for, within 0.000001."""
    expected_top_p: fields.Number | None = None
    """The top_p that the request should ask for, within 0.000001."""
    expected_reasoning: Thinking | None = None
    """Whether the request should switch thinking on."""
    failures_before_success: fields.Whole | None = None
    """Number of attempts that fail, per session and provider."""
    failure_throws: fields.Flag | None = None
    """Whether a failing attempt throws `failureError` instead of giving `failureStatus`."""
    failure_status: fields.Text | None = None
    """timeout, invalid_response, network_error or rate_limit; anything else is model_error."""
    failure_message: fields.Text | None = None
    """The message of the failure."""
    failure_retryable: fields.Flag | None = None
    """False: the client is told not to try again."""
    failure_retry_after_ms: fields.Whole | None = None
    """When the client may come again, in milliseconds."""
    failure_error: ThrownDocument | None = None
    """The error that a failing attempt throws."""


class TurnsDocument(CamelDocument):
    """A scenario in turns, chosen by a first user message that is its id."""

    json_schema: fields.Text | None = Field(default=None, alias="$schema", exclude=True)
    """The address of this JSON Schema, for editors. It is ignored."""
    id: fields.Name
    """The scenario's name."""
    description: fields.Text = ""
    """A note for people."""
    system_prompt_must_include: list[fields.Text] | None = None
    """Texts that the first system message must contain; a missing one is a violation."""
    turns: list[TurnDocument]
    """The turns in order."""
