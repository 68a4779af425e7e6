"""A run's requests to models: streamed through a pipeline, limited, and recorded in rows."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from msgspec.structs import replace

from chat_app.clients.sdk import SdkClient
from chat_app.clients.transports import on_answered
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.models import ModelProfile
from chat_app.prompt.length import estimate_tokens, prompt_texts
from chat_app.prompt.messages import to_stored_part
from chat_app.runs import metrics
from chat_app.stream import StreamPipeline
from chat_app.stream.rounds import Round
from chat_app.values import model_call as llm
from chat_app.values.events import StreamEvent
from chat_app.values.text import clean
from traces_app.models import ModelCall
from traces_app.reports import REPORT_TOOL

_ENCODING: Final = "utf-8"


class RunBudget:
    """Limits the bytes of text and the number of tool calls of a run, over all its model calls."""

    def __init__(self) -> None:
        """The limits are the settings CHAT_RUN_TEXT_BYTES and CHAT_RUN_TOOL_CALLS."""
        self._max_bytes: int = settings.CHAT_RUN_TEXT_BYTES
        self._max_tool_calls: int = settings.CHAT_RUN_TOOL_CALLS
        self._text_bytes = 0
        self._tool_calls = 0

    def charge(self, event: llm.ProviderEvent) -> llm.ProviderEvent:
        """Count the event; return it with its text, or a call's arguments, cut to the remaining
        bytes. Raises ChatError for a tool call beyond the limit."""
        if isinstance(event, llm.CallStarted) and event.name != REPORT_TOOL:
            self._tool_calls += 1
            if self._tool_calls > self._max_tool_calls:
                raise _limit_error(
                    f"called more than {self._max_tool_calls} tools", "CHAT_RUN_TOOL_CALLS"
                )
        left = max(self._max_bytes - self._text_bytes, 0)
        self._text_bytes += (size := _event_bytes(event))
        if size > left and isinstance(event, llm.TextPart | llm.ThinkingPart | llm.CallArguments):
            return replace(event, text=_cut_to_bytes(event.text, left))
        return event

    def check_text_length(self) -> None:
        """Raise ChatError if all charged text together is longer than the limit."""
        if self._text_bytes > self._max_bytes:
            raise _limit_error(
                f"has more than {self._max_bytes} bytes of text", "CHAT_RUN_TEXT_BYTES"
            )


def time_limit_error() -> ChatError:
    """Return the error of a run that took longer than CHAT_RUN_SECONDS."""
    return _limit_error(f"took longer than {settings.CHAT_RUN_SECONDS} seconds", "CHAT_RUN_SECONDS")


def _limit_error(excess: str, setting: str) -> ChatError:
    """Return the error of an answer beyond the limit of a setting."""
    return ChatError(SERVICE_UNAVAILABLE, f"The answer {excess}, the limit of {setting}")


def _event_bytes(event: llm.ProviderEvent) -> int:
    """Return the bytes of an event's texts in UTF-8, which count towards the budget."""
    match event:
        case llm.TextPart(text) | llm.CallArguments(text=text):
            return _text_bytes(text)
        case llm.ThinkingPart(text, signature, redacted):
            return _text_bytes(text) + _text_bytes(signature) + _text_bytes(redacted)
        case llm.CallStarted(id=call_id, name=name):
            return _text_bytes(call_id) + _text_bytes(name)
    return 0


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(_ENCODING, "surrogatepass"))


def _cut_to_bytes(text: str, max_bytes: int) -> str:
    """Return the longest start of the text of at most `max_bytes` bytes of UTF-8."""
    return text.encode(_ENCODING, "surrogatepass")[:max_bytes].decode(_ENCODING, "ignore")


ANSWER: Final = "answer"
SUMMARY: Final = "summary"
_MAX_REASON_CHARS: Final = 32
_MAX_ANSWERED_BY_CHARS: Final = 520


class StreamedCall:
    """One request to a model. `row` is its row as of now; `recorded` is true once its end was
    yielded; `round` is its result, once its events have ended."""

    def __init__(
        self,
        row: ModelCall,
        request: llm.ModelRequest,
        *,
        pipeline: StreamPipeline,
        budget: RunBudget,
    ) -> None:
        self.row = row
        self.recorded = False
        self.round = Round()
        self._request = request
        self._pipeline = pipeline
        self._budget = budget
        # True once the provider has finished the call and reported its tokens.
        self._reported = False

    async def events(self, client: SdkClient) -> AsyncGenerator[StreamEvent | ModelCall, None]:
        """Yield the row, then the pipeline's events, then the row again; raises ChatError. A
        cancelled call does not yield its row at the end."""
        yield self.row
        try:
            async with aclosing(self._stream_and_record(client)) as events:
                async for event in events:
                    yield event
        except ChatError as error:
            self.row.code = error.code
            self._complete_row()
            yield self.row
            raise
        except BaseException:
            self._complete_row(cancelled=True)
            raise
        self._complete_row()
        yield self.row

    async def _stream_and_record(self, client: SdkClient) -> AsyncGenerator[StreamEvent, None]:
        """Yield the pipeline's events and update the row; raises ChatError also beyond the budget,
        and if the stream ends without `Finished`."""
        finished = False
        on_answered.set(self._set_answered_by)
        async with aclosing(client.stream(self._request)) as events:
            async for event in events:
                _update_row(self.row, event)
                finished = self._reported = isinstance(event, llm.Finished)
                for stream_event in self._pipeline.feed(self._budget.charge(event)):
                    yield stream_event
                self._budget.check_text_length()
                if self._pipeline.ended:
                    finished = True
                    break
        if not finished:
            raise ChatError(SERVICE_UNAVAILABLE, "Failed to parse response")

    def _set_answered_by(self, step: str) -> None:
        """Store the mock's scenario and step in the row."""
        self.row.answered_by = clean(step)[:_MAX_ANSWERED_BY_CHARS]

    def _complete_row(self, *, cancelled: bool = False) -> None:
        """Set `round`, `recorded` and the row's end; estimate tokens that were not reported."""
        self.recorded = not cancelled
        self.round = self._pipeline.end_round()
        self.row.parts = [to_stored_part(part) for part in self.round.parts]
        self.row.finished_at = timezone.now()
        # A request that failed before its first token used no tokens.
        if not self._reported and (cancelled or self.row.first_token_at is not None):
            # It was cut off before its provider reported them.
            received = estimate_tokens(prompt_texts("", (), [llm.AssistantTurn(self.round.parts)]))
            self.row.input_tokens = self.row.input_tokens or self.row.request["estimated_tokens"]
            self.row.output_tokens = max(self.row.output_tokens, received)
            self.row.tokens_estimated = True


class ModelCalls:
    """The model calls of one run, in order, with one budget."""

    def __init__(self, trace_id: UUID, profile: ModelProfile) -> None:
        self._calls: list[StreamedCall] = []
        self._trace_id = trace_id
        self._profile = profile
        self._budget = RunBudget()

    @property
    def rows(self) -> list[ModelCall]:
        """The rows of all calls that have begun, also of running ones."""
        return [call.row for call in self._calls]

    def unrecorded_rows(self) -> list[ModelCall]:
        """Return the rows of cancelled calls, whose ends were not yielded."""
        return [call.row for call in self._calls if not call.recorded]

    def begin(
        self, request: llm.ModelRequest, *, pipeline: StreamPipeline, purpose: str = ANSWER
    ) -> StreamedCall:
        """Return the run's next call, not sent yet: reading its events sends it."""
        texts = prompt_texts(request.system_prompt, request.tools, request.turns)
        row = ModelCall(
            trace_id=self._trace_id,
            number=len(self._calls) + 1,
            purpose=purpose,
            provider_id=self._profile.provider_id,
            model_id=self._profile.model_id,
            request={"turns": len(request.turns), "estimated_tokens": estimate_tokens(texts)},
            tools=[tool.name for tool in request.tools],
            started_at=timezone.now(),
        )
        call = StreamedCall(row, request, pipeline=pipeline, budget=self._budget)
        self._calls.append(call)
        return call


def _update_row(row: ModelCall, event: llm.ProviderEvent) -> None:
    """Set the row's tokens, finish reason, and time of the first token, which is also measured."""
    if isinstance(event, llm.Usage | llm.Finished):
        row.input_tokens, row.output_tokens = event.input_tokens, event.output_tokens
    if isinstance(event, llm.Finished):
        row.finish_reason = clean(event.reason)[:_MAX_REASON_CHARS]
    elif row.first_token_at is None and not isinstance(event, llm.Usage):
        row.first_token_at = timezone.now()
        metrics.record_first_token(row.provider_id, row.first_token_at - row.started_at)
