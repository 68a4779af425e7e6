"""The part of a scenario document that scripts a step's answer."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from msgspec.structs import replace
from pydantic import Field, JsonValue

from scenarios_app.engine.canonical import ScriptedUsage, compact_json, text_or_json
from scenarios_app.engine.document.fault import STATUSES_WITHOUT_BODY, FaultDocument
from scenarios_app.engine.document.parts import (
    ChunkShape,
    JsonAnswer,
    PartDocument,
    Reasoning,
    ToolCallDocument,
    check_chunks,
    join_chunks,
)
from scenarios_app.engine.document.recorded import RecordedAnswerDocument, digest_of_answer
from scenarios_app.engine.parts import AnswerPart, RefusalPart, TextPart
from scenarios_app.engine.producing.produce import final_report
from scenarios_app.engine.scenario import (
    Answer,
    GeneratedAnswer,
    GeneratedKind,
    Pacing,
    Produce,
    RawAnswer,
    ScriptedAnswer,
    ScriptedChoice,
    Unoffered,
)
from scenarios_app.engine.shapes import Document, KeyProblem, fields, to_struct

_CONTENT_KEYS = ("reasoning", "text", "json", "tool_calls", "final_report", "refusal")
_ANSWER_FORMS = ("parts", "chunks", "choices", "raw", "generate")
_MODES = ("streaming", "non_streaming")
_END_KEYS = ("finish_reason", "stop_sequence")
_EXTRA_KEYS = ("usage", "provider_metadata")
# Keys that cannot be combined with a form of answer.
_EXCLUDED_KEYS: Mapping[str, tuple[str, ...]] = {
    "choices": _END_KEYS,
    "raw": _END_KEYS + _EXTRA_KEYS,
    "generate": _END_KEYS,
    "streaming": _END_KEYS + _EXTRA_KEYS,
    "non_streaming": _END_KEYS + _EXTRA_KEYS,
}
# Shared by all steps without these sections.
_NO_USAGE, _NO_PACING = ScriptedUsage(), Pacing()
_EMPTY_ANSWER = 'says nothing: give it an answer (text "" for an empty one)'


class FinalReportDocument(Document):
    """The report of an agent's last answer. It is sent as a call of the tool agent__final_report,
    with these keys as its arguments, in this order, except those that are not given."""

    status: fields.Text = "success"
    """The result of the run: success, failure or another word."""
    report_format: fields.Text | None = None
    """The format of the report, such as markdown."""
    report_content: fields.Text
    """The text of the report."""
    content_json: JsonValue = None
    """The report as data, for formats with data."""
    messages: JsonValue = None
    """The report as chat messages, for formats with messages."""


class ChoiceDocument(Document):
    """The content of an answer: reasoning, text, tool calls, final report and refusal, sent in that
    order, or parts in an order of their own."""

    reasoning: Reasoning | None = None
    """The model's thinking. A string is one block without a signature."""
    text: fields.Text | None = None
    """The answer's text."""
    json_value: JsonAnswer = None
    """A JSON value other than null, sent as compact text instead of `text`."""
    tool_calls: list[ToolCallDocument] = Field(default_factory=list)
    """Tool calls, in parallel."""
    final_report: FinalReportDocument | None = None
    """The report that ends an agent's run."""
    refusal: fields.Text | None = None
    """The text of a refusal, sent in the provider's own form."""
    parts: Annotated[list[PartDocument], Field(min_length=1)] | None = None
    """Parts in an explicit order."""
    finish_reason: fields.FinishReason | None = None
    """Why the answer ends. By default derived from the content."""
    stop_sequence: fields.SomeText | None = None
    """The sequence that ended the answer, for finish_reason stop_sequence."""

    def has_value(self, key: str) -> bool:
        """Return True if a key has a value that is not empty."""
        if key == "json":
            return self.json_value is not None
        value = getattr(self, key, None)
        return value is not None and value != [] and value != {}

    @property
    def forms(self) -> tuple[str, ...]:
        """The keys that hold an answer, of which one is allowed. Of content keys only the first is
        listed, of modes too."""
        content = [key for key in _CONTENT_KEYS if self.has_value(key)]
        modes = [key for key in _MODES if self.has_value(key)]
        return (*content[:1], *(key for key in _ANSWER_FORMS if self.has_value(key)), *modes[:1])

    def find_key_problems(self) -> Iterator[KeyProblem]:
        forms = self.forms
        if not forms:
            yield (), _EMPTY_ANSWER
        for key in forms[1:]:
            yield (key,), f"cannot be combined with {forms[0]}"
        if self.text is not None and self.json_value is not None:
            yield ("json",), "cannot be combined with text: write both into parts"
        for key in _EXCLUDED_KEYS.get(forms[0], ()) if forms else ():
            if self.has_value(key):
                yield (key,), f"cannot be combined with {forms[0]}"
        if self.stop_sequence is not None and self.finish_reason != "stop_sequence":
            yield ("stop_sequence",), "only allowed with finish_reason stop_sequence"

    def compile_choice(self) -> ScriptedChoice:
        """Return the choice that the parts of this document script."""
        return ScriptedChoice(
            parts=tuple(self._compile_parts()),
            finish_reason=self.finish_reason,
            stop_sequence=self.stop_sequence,
        )

    def _compile_parts(self) -> Iterator[AnswerPart]:
        """Yield reasoning, text or JSON, tool calls, final report and refusal, or the parts."""
        for part in self.parts or ():
            yield from part.compile()
        for block in self.reasoning or ():
            yield block.compile()
        if self.text is not None:
            yield TextPart(self.text)
        if self.json_value is not None:
            yield TextPart(compact_json(self.json_value), is_json=True)
        for call in self.tool_calls:
            yield call.compile()
        if self.final_report is not None:
            report = self.final_report.model_dump()
            yield final_report({key: value for key, value in report.items() if value is not None})
        if self.refusal is not None:
            yield RefusalPart(self.refusal)


class UsageDocument(Document):
    """Token counts; what is not given is counted from the text."""

    input_tokens: fields.Whole | None = None
    """Tokens in the request."""
    output_tokens: fields.Whole | None = None
    """Tokens in the answer."""
    reasoning_tokens: fields.Whole | None = None
    """Output tokens that were thinking."""
    cached_tokens: fields.Whole | None = None
    """Input tokens that were read from a cache."""
    cache_read_tokens: fields.Whole | None = None
    """Tokens read from a cache, in addition to the input tokens, as Anthropic counts them."""
    cache_write_tokens: fields.Whole | None = None
    """Tokens written to a cache, in addition to the input tokens, as Anthropic counts them."""
    total_tokens: fields.Whole | None = None
    """The total, for providers that send one. By default input plus output tokens."""


_DEFAULT_USAGE = UsageDocument()


class RawDocument(Document):
    """An HTTP response sent unchanged, for every provider."""

    status: fields.Status = 200
    """The HTTP status; 204 and 304 have no body."""
    headers: fields.Headers = Field(default_factory=dict)
    """The headers. Content-Type is application/json by default."""
    body: JsonValue = None
    """The body: text is sent unchanged, other JSON is encoded."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.status in STATUSES_WITHOUT_BODY and self.body not in (None, ""):
            yield ("body",), f"an answer of status {self.status} has no body"

    def compile(self) -> RawAnswer:
        body = b"" if self.body is None else text_or_json(self.body).encode()
        return RawAnswer(self.status, fields.sent_headers(self.headers), body)


class GenerateDocument(Document):
    """An answer made from the request."""

    kind: Annotated[GeneratedKind, fields.one_of(GeneratedKind)]
    """`lorem`: 5 to 500 words, chosen by the hash of the last user message, then that message.
    Text after "\\nReason:" in it is sent as reasoning first. `auto`: what the request asks for: a
    call of the best-named tool until it has a result, JSON that fits the requested schema, or else
    lorem, cut by `max_tokens` and `stop`."""


class AnswerDocument(ChoiceDocument):
    """One answer: the content of one choice, or choices, chunks, a raw HTTP answer, or one that
    is made from the request."""

    choices: Annotated[list[ChoiceDocument], Field(min_length=1)] | None = None
    """One answer per choice of the provider's API."""
    chunks: Annotated[list[ChunkShape], Field(min_length=1)] | None = None
    """The exact deltas of a stream. A whole answer is all of them joined."""
    raw: RawDocument | None = None
    """An HTTP response sent unchanged, for every provider."""
    generate: GenerateDocument | None = None
    """An answer generated from the request."""
    usage: UsageDocument = Field(default_factory=lambda: _DEFAULT_USAGE)
    """Token counts."""
    provider_metadata: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    """More top-level fields of the answer, by provider; `any` applies to all."""

    def has_value(self, key: str) -> bool:
        """Return True if a key is set; a default `usage` does not count."""
        return super().has_value(key) and (key != "usage" or self.usage != _DEFAULT_USAGE)

    def find_key_problems(self) -> Iterator[KeyProblem]:
        """Return the problems between keys, also those of the parts."""
        yield from super().find_key_problems()
        yield from ((("chunks", *loc), text) for loc, text in check_chunks(self.chunks or ()))

    def compile_answer(self) -> Answer:
        """Return the scripted, raw or generated answer of this document."""
        if self.raw is not None:
            return self.raw.compile()
        usage = to_struct(self.usage, _NO_USAGE)
        if self.generate is not None:
            return GeneratedAnswer(self.generate.kind, usage, self.provider_metadata)
        choice = self.compile_choice()
        if self.chunks is not None:
            parts, chunks = join_chunks(self.chunks)
            choice = replace(choice, parts=parts, chunks=chunks)
        choices = [choice] if self.choices is None else [c.compile_choice() for c in self.choices]
        return ScriptedAnswer(
            choices=tuple(choices),
            per_choice=self.choices is not None,
            usage=usage,
            provider_metadata=self.provider_metadata,
        )


class PacingDocument(Document):
    """When chunks are sent. All zero: as fast as the client reads."""

    first_ms: fields.Whole = 0
    """Milliseconds before the first chunk."""
    words_per_second: fields.Pace = 0.0
    """The pace of the stream. 0: as fast as the client reads."""
    chunk_ms: fields.Whole = 0
    """Milliseconds between chunks, instead of words_per_second."""
    words_per_chunk: fields.Positive = 5
    """Words per chunk."""
    jitter: fields.Share = 0.0
    """The share of each gap that varies, equally for equal requests."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.words_per_second and self.chunk_ms:
            yield ("chunk_ms",), "cannot be combined with words_per_second"


_DEFAULT_PACING = PacingDocument()
# Tool results are never sent to clients; the mock MCP server returns them.
_TOOL_RESULTS: Final[dict[str, Any]] = {
    "tool_calls": {"__all__": {"result"}},
    "parts": {"__all__": {"tool_call": {"result"}}},
}
_EXCLUDED_FROM_DIGEST: Final[dict[str, Any]] = {
    "recorded": True,
    **_TOOL_RESULTS,
    "choices": {"__all__": _TOOL_RESULTS},
}


class ProduceDocument(AnswerDocument):
    """The output of a step: one answer, one for each mode, a fault alone, or an answer with a fault
    inside it."""

    streaming: AnswerDocument | None = None
    """The answer for streams. Whole answers get it too if non_streaming is missing."""
    non_streaming: AnswerDocument | None = None
    """The answer for other requests. Streams get it too if streaming is missing."""
    fault: FaultDocument | None = None
    """A scripted failure, alone or inside the answer."""
    latency_ms: fields.Whole = 0
    """Milliseconds before anything is sent, whole or streamed."""
    pacing: PacingDocument = Field(default_factory=lambda: _DEFAULT_PACING)
    """When the chunks of a stream are sent."""
    unoffered: Annotated[Unoffered, fields.one_of(Unoffered)] | None = None
    """`allow`: calls of tools that the request does not offer are no finding of the verdict."""
    recorded: RecordedAnswerDocument | None = None
    """The recorded response, which is replayed until the parsed fields next to it are edited."""

    @property
    def is_unedited_recording(self) -> bool:
        """True if it holds a recorded answer whose readable form was not edited."""
        if self.recorded is None:
            return False
        dumped = self.model_dump(
            by_alias=True, exclude_defaults=True, exclude=_EXCLUDED_FROM_DIGEST
        )
        return digest_of_answer(dumped) == self.recorded.of

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if self.fault is not None and not self.fault.inside:
            for key in (*self.forms, *_END_KEYS, *_EXTRA_KEYS):
                if self.has_value(key):
                    yield (
                        (key,),
                        f"a fault of kind {self.fault.kind} cannot be combined with an answer",
                    )
        elif self.fault is not None and not self.forms:
            yield (
                ("fault",),
                f"a fault of kind {self.fault.kind} needs an answer that it strikes in",
            )
        else:
            yield from super().find_key_problems()

    def compile(self) -> Produce:
        """Return the answer as steps hold it; an answer for one mode serves both."""
        first = self.streaming or self.non_streaming or self
        streaming = non_streaming = first.compile_answer() if first.forms else None
        if self.streaming and self.non_streaming:
            non_streaming = self.non_streaming.compile_answer()
        recorded = self.recorded if self.is_unedited_recording else None
        return Produce(
            streaming=streaming,
            non_streaming=non_streaming,
            fault=None if self.fault is None else self.fault.compile(),
            latency_ms=self.latency_ms,
            pacing=to_struct(self.pacing, _NO_PACING),
            unoffered=self.unoffered,
            recorded=recorded.compile() if recorded else None,
        )
