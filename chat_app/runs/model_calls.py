"""A run's requests to models: each is streamed through a pipeline, within what one run may take,
and has a row that is recorded as it begins and as it ends."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Final, cast
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from chat_app.clients.transports import answered
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.models import ModelProfile
from chat_app.prompt.length import estimate, texts_of
from chat_app.prompt.messages import stored_parts
from chat_app.runs import metrics as figures
from chat_app.stream import StreamPipeline
from chat_app.stream.rounds import Round
from chat_app.values.events import StreamEvent
from chat_app.values.model_call import (
    AssistantTurn,
    CallArguments,
    CallBegun,
    Finished,
    LlmClient,
    ModelRequest,
    ProviderEvent,
    TextPiece,
    ThinkingPiece,
    Usage,
)
from chat_app.values.text import clean
from traces_app.models import ModelCall
from traces_app.reports import REPORT_TOOL

_ENCODING: Final = "utf-8"


class Budget:
    """What is left of a run's text and tool calls, over all its model calls."""

    def __init__(self) -> None:
        self._most_bytes: int = settings.CHAT_RUN_TEXT_BYTES
        self._most_calls: int = settings.CHAT_RUN_TOOL_CALLS
        self._bytes = 0
        self._calls = 0

    def take(self, event: ProviderEvent) -> ProviderEvent:
        """The event, its text cut to what is left; `check` says that it was. All that a model
        says is text, the arguments of its calls too. Raises ChatError for a tool call too many."""
        if isinstance(event, CallBegun) and event.name != REPORT_TOOL:
            self._calls += 1
            if self._calls > self._most_calls:
                raise _spent(f"called more than {self._most_calls} tools", "CHAT_RUN_TOOL_CALLS")
        left = max(self._most_bytes - self._bytes, 0)
        self._bytes += (size := _size(event))
        if size > left and isinstance(event, TextPiece | ThinkingPiece | CallArguments):
            return replace(event, text=_beginning(event.text, left))
        return event

    def check(self) -> None:
        """Raises ChatError once more was said than may be."""
        if self._bytes > self._most_bytes:
            raise _spent(f"has more than {self._most_bytes} bytes of text", "CHAT_RUN_TEXT_BYTES")


def out_of_time() -> ChatError:
    """What a run ends with at the end of its time."""
    return _spent(f"took longer than {settings.CHAT_RUN_SECONDS} seconds", "CHAT_RUN_SECONDS")


def _spent(what: str, setting: str) -> ChatError:
    return ChatError(SERVICE_UNAVAILABLE, f"The answer {what}, the limit of {setting}")


def _size(event: ProviderEvent) -> int:
    match event:
        case TextPiece(text) | CallArguments(text=text):
            return _bytes(text)
        case ThinkingPiece(text, signature, redacted):
            return _bytes(text) + _bytes(signature) + _bytes(redacted)
        case CallBegun(id=call_id, name=name):
            return _bytes(call_id) + _bytes(name)
    return 0


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(_ENCODING, "surrogatepass"))


def _beginning(text: str, most: int) -> str:
    """As many whole characters as so many bytes hold."""
    return text.encode(_ENCODING, "surrogatepass")[:most].decode(_ENCODING, "ignore")


ANSWER: Final = "answer"
SUMMARY: Final = "summary"
_REASON_LENGTH: Final = 32
_LONGEST_NAMES: Final = 520


class StreamedCall:
    """One request to a model. `row` is its row as it is now, `recorded` whether its end was given
    out to be recorded; `round` is what it came to, once its events have ended."""

    def __init__(
        self, row: ModelCall, request: ModelRequest, *, pipeline: StreamPipeline, budget: Budget
    ) -> None:
        self.row = row
        self.recorded = False
        self.round = Round()
        self._request = request
        self._pipeline = pipeline
        self._budget = budget
        # True once the provider has ended the call and with it reported all tokens.
        self._reported = False

    async def events(self, client: LlmClient) -> AsyncGenerator[StreamEvent | ModelCall, None]:
        """What the model says, as the pipeline has it, between the row as it begins and as it
        ends; raises ChatError. One that is cancelled does not give out its end."""
        yield self.row
        try:
            async with aclosing(self._said(client)) as said:
                async for event in said:
                    yield event
        except ChatError as error:
            self.row.code = error.code
            yield self._ended()
            raise
        except BaseException:
            self._end(cancelled=True)
            raise
        yield self._ended()

    async def _said(self, client: LlmClient) -> AsyncGenerator[StreamEvent, None]:
        finished = False
        # What a client streams with is a generator: closing it closes the provider's socket.
        stream = cast(AsyncGenerator[ProviderEvent], client.stream(self._request))
        answered.set(self._answered_by)
        async with aclosing(stream) as events:
            async for event in events:
                _note(self.row, event)
                finished = self._reported = isinstance(event, Finished)
                for said in self._pipeline.feed(self._budget.take(event)):
                    yield said
                self._budget.check()
                if self._pipeline.ended:
                    finished = True
                    break
        if not finished:
            raise ChatError(SERVICE_UNAVAILABLE, "Failed to parse response")

    def _answered_by(self, what: str) -> None:
        self.row.answered_by = clean(what)[:_LONGEST_NAMES]

    def _ended(self) -> ModelCall:
        self._end()
        self.recorded = True
        return self.row

    def _end(self, *, cancelled: bool = False) -> None:
        self.round = self._pipeline.end_round()
        self.row.parts = stored_parts(self.round.parts)
        self.row.finished_at = timezone.now()
        # A request that failed before its first token was refused: it used none.
        if not self._reported and (cancelled or self.row.first_token_at is not None):
            self._estimate_tokens()

    def _estimate_tokens(self) -> None:
        """Count the tokens of a call that was cut off before its provider reported them."""
        received = estimate(texts_of("", (), [AssistantTurn(self.round.parts)]))
        self.row.input_tokens = self.row.input_tokens or self.row.request["estimated_tokens"]
        self.row.output_tokens = max(self.row.output_tokens, received)
        self.row.tokens_estimated = True


class ModelCalls:
    """The calls of one run, in order, out of one budget."""

    def __init__(self, trace_id: UUID, profile: ModelProfile) -> None:
        self._calls: list[StreamedCall] = []
        self._trace_id = trace_id
        self._profile = profile
        self._budget = Budget()

    @property
    def rows(self) -> list[ModelCall]:
        return [call.row for call in self._calls]

    def unrecorded(self) -> list[ModelCall]:
        """The rows of calls whose ends nobody was given: those that were cancelled."""
        return [call.row for call in self._calls if not call.recorded]

    def begin(
        self, request: ModelRequest, *, pipeline: StreamPipeline, purpose: str = ANSWER
    ) -> StreamedCall:
        """The next call, with a row of its own; its events are still to be read."""
        texts = texts_of(request.system_prompt, request.tools, request.turns)
        row = ModelCall(
            trace_id=self._trace_id,
            number=len(self._calls) + 1,
            purpose=purpose,
            provider_id=self._profile.provider_id,
            model_id=self._profile.model_id,
            request={
                "turns": len(request.turns),
                "estimated_tokens": estimate(texts),
            },
            tools=[tool.name for tool in request.tools],
            started_at=timezone.now(),
        )
        call = StreamedCall(row, request, pipeline=pipeline, budget=self._budget)
        self._calls.append(call)
        return call


def _note(row: ModelCall, event: ProviderEvent) -> None:
    if isinstance(event, Usage | Finished):
        row.input_tokens, row.output_tokens = event.input_tokens, event.output_tokens
    if isinstance(event, Finished):
        row.finish_reason = clean(event.reason)[:_REASON_LENGTH]
    elif row.first_token_at is None and not isinstance(event, Usage):
        row.first_token_at = timezone.now()
        figures.first_token_came(row.provider_id, row.first_token_at - row.started_at)
