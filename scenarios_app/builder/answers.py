"""The builder's methods that script answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self, TypedDict, Unpack

from mockllm_site.kit.keywords import suggest_names
from scenarios_app.builder.draft import Draft, Object, PartKind, without_none
from scenarios_app.builder.expectations import EnvelopeKeys, FaultKeys
from scenarios_app.engine.parts import FinishReason


class PacingKeys(TypedDict, total=False):
    """The pace of a stream's chunks, by `words_per_second` or by `chunk_ms`."""

    words_per_chunk: int
    words_per_second: float
    chunk_ms: int
    first_ms: int
    jitter: float


class UsageKeys(TypedDict, total=False):
    """Token counts that are part of the totals."""

    reasoning_tokens: int
    cached_tokens: int


_KEYWORDS = object()


@suggest_names
class Answers(Draft):
    """Methods that set the answer and the side effects of the last step."""

    __slots__ = ()

    def respond_with_text(self, text: str, *, citations: Sequence[Object] = ()) -> Self:
        """Answer with text and sources, as in a document. Repeated, it adds another text part."""
        sources: Object = {"citations": list(citations)} if citations else {}
        return self._add_part("text", {"text": text, **sources})

    def respond_with_json(self, value: object) -> Self:
        """Answer with the compact text of a JSON value, for structured output."""
        return self._add_part("text", {"json": value})

    def respond_with_reasoning(
        self, text: str = "", *, signature: str | None = None, redacted: str | None = None
    ) -> Self:
        """Add reasoning; `redacted` is its encrypted form if it is hidden."""
        return self._add_part(
            "reasoning", without_none(text=text, signature=signature, redacted=redacted)
        )

    def respond_with_tool_call(
        self,
        name: str,
        input: str | None = None,
        namespace: str | None = None,
        /,
        *,
        id: str | None = None,
        arguments: object = _KEYWORDS,
        **keywords: object,
    ) -> Self:
        """Add a tool call with these keywords as its arguments, or with `arguments`: any JSON; a
        string is sent unchanged. A custom tool takes an input instead. Raises TypeError for several
        of these."""
        if arguments is not _KEYWORDS and keywords:
            raise TypeError("give the tool call's arguments as keywords or as arguments=, not both")
        if input is not None and (keywords or arguments is not _KEYWORDS):
            raise TypeError("give the tool call an input or arguments, not both")
        content = keywords if arguments is _KEYWORDS else arguments
        text: Object = {"arguments": content} if input is None else {"input": input}
        call = {**without_none(id=id), "name": name, **text, **without_none(namespace=namespace)}
        return self._add_part("tool_call", call)

    def respond_with_hosted_tool(
        self,
        tool: str,
        input: Object | None = None,
        *,
        result: object = None,
        error: str | None = None,
        server: str | None = None,
        name: str | None = None,
    ) -> Self:
        """Add the use of a tool that the provider runs itself, with its result or error; tools of
        an MCP server have a `server` and a `name`."""
        content = without_none(
            tool=tool, server=server, name=name, input=input, result=result, error=error
        )
        return self._add_part("hosted_tool", content)

    def respond_with_final_report(
        self,
        content: str,
        *,
        format: str = "markdown",
        status: str = "success",
        content_json: object = None,
        messages: object = None,
    ) -> Self:
        """End an agent's run with a report: a call of the tool agent__final_report."""
        report = without_none(
            status=status,
            report_format=format,
            report_content=content,
            content_json=content_json,
            messages=messages,
        )
        return self._add_part("final_report", report)

    def respond_with_refusal(self, text: str) -> Self:
        """Refuse with this text."""
        return self._add_part("refusal", {"text": text})

    def respond_with_chunks(self, *chunks: str | Object) -> Self:
        """Set the exact deltas of a stream: strings, or objects as in a document."""
        return self._produce(chunks=list(chunks))

    def respond_with_choices(self, *choices: str | Object) -> Self:
        """Answer each of the provider's choices: strings, or objects as in a document."""
        return self._produce(choices=[{"text": c} if isinstance(c, str) else c for c in choices])

    def respond_with_raw(
        self, body: object = None, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Self:
        """Send an HTTP response unchanged: text, or other JSON to encode."""
        return self._produce(raw=without_none(status=status, headers=headers, body=body))

    def respond_with_lorem(self) -> Self:
        """Answer with lorem ipsum that depends on the last user message, then that message."""
        return self._produce(generate={"kind": "lorem"})

    def respond_with_auto(self) -> Self:
        """Answer as the request asks: a call of a tool, JSON that fits its schema, or lorem."""
        return self._produce(generate={"kind": "auto"})

    def respond_with_error(
        self, status: int, message: str | None = None, **keys: Unpack[EnvelopeKeys]
    ) -> Self:
        """Answer with an HTTP error in the provider's envelope, or with this `body`."""
        return self._produce(
            fault={**without_none(kind="http", status=status, message=message), **keys}
        )

    def respond_with_fault(self, kind: str, **keys: Unpack[FaultKeys]) -> Self:
        """Send a fault of this kind instead of the answer, or inside it."""
        return self._produce(fault={"kind": kind, **keys})

    def respond_to_streams(self, **answer: object) -> Self:
        """Set the answer for streams, with the keys of an answer in a document."""
        return self._produce(streaming=answer)

    def respond_to_whole(self, **answer: object) -> Self:
        """Set the answer for requests without a stream, with the keys of an answer."""
        return self._produce(non_streaming=answer)

    def as_stream(self, **pacing: Unpack[PacingKeys]) -> Self:
        """Set how a stream is split and paced."""
        return self._produce(pacing=pacing)

    def with_finish_reason(self, reason: FinishReason, *, stop_sequence: str | None = None) -> Self:
        """Set why the answer ends. By default derived from the content."""
        return self._produce(**without_none(finish_reason=reason, stop_sequence=stop_sequence))

    def with_usage(self, input_tokens: int, output_tokens: int, **parts: Unpack[UsageKeys]) -> Self:
        """Set token counts. By default counted from the text."""
        counts = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        return self._produce(usage={**counts, **parts})

    def with_provider_metadata(self, provider: str, /, **fields: object) -> Self:
        """Add top-level fields to this provider's answers."""
        return self._to_answer()._with_more("produce", "provider_metadata", {provider: fields})

    def with_latency(self, milliseconds: int) -> Self:
        """Wait this long before sending anything."""
        return self._produce(latency_ms=milliseconds)

    def with_unoffered_tools(self) -> Self:
        """Allow calls of tools that the request does not offer; otherwise they are a warning of the
        verdict."""
        return self._produce(unoffered="allow")

    def with_counter(self, name: str) -> Self:
        """Increase this counter of the session with each answer."""
        return self._effect(counter=name)

    def with_response_status(self, status: int) -> Self:
        """Set the HTTP status of the answer instead of 200."""
        return self._effect(status=status)

    def with_response_headers(self, headers: Mapping[str, str]) -> Self:
        """Add response headers."""
        return self._to_answer()._with_more("side_effects", "headers", headers)

    def echo_headers(self, *names: str) -> Self:
        """Set the names of request headers to repeat in the response."""
        return self._effect(echo_headers=list(names))

    def assert_that(self, **match: object) -> Self:
        """Check the request with the keys of `match` in a document. The answer is still sent, but a
        failed check is a violation."""
        return self._to_answer()._with_more("side_effects", "assert", [match])

    def _add_part(self, kind: PartKind, content: Object) -> Self:
        """Return a copy with one more part at the end of the last step's answer."""
        draft = self._to_answer()
        return draft._set_step(replace(draft._last, parts=(*draft._last.parts, (kind, content))))

    def _produce(self, **keys: object) -> Self:
        """Return a copy with these keys of the last step's `produce`."""
        return self._to_answer()._with_section("produce", keys)

    def _effect(self, **keys: object) -> Self:
        """Return a copy with these keys of the last step's `side_effects`."""
        return self._to_answer()._with_section("side_effects", keys)
