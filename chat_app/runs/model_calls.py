"""A run's requests to models: each is streamed through a pipeline within the run's budget, and has
a row that is recorded as it begins and as it ends."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, cast
from uuid import UUID

from django.utils import timezone

from chat_app.clients.base import Finished, LlmClient, ProviderEvent
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.models import ModelProfile
from chat_app.prompt.stored_rounds import stored_parts
from chat_app.prompt.tokens import estimate, texts_of
from chat_app.runs import metrics as figures
from chat_app.runs.budget import Budget
from chat_app.stream.pipeline import StreamPipeline
from chat_app.stream.rounds import Round
from chat_app.values.cleaning import clean
from chat_app.values.events import StreamEvent
from chat_app.values.request import ModelRequest
from traces_app.models import ModelCall

ANSWER: Final = "answer"
SUMMARY: Final = "summary"
_REASON_LENGTH: Final = 32


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
            self._end()
            raise
        yield self._ended()

    async def _said(self, client: LlmClient) -> AsyncGenerator[StreamEvent, None]:
        finished = False
        # What a client streams with is a generator: closing it closes the provider's socket.
        stream = cast(AsyncGenerator[ProviderEvent], client.stream(self._request))
        async with aclosing(stream) as events:
            async for event in events:
                _note(self.row, event)
                finished = isinstance(event, Finished)
                for said in self._pipeline.feed(self._budget.take(event)):
                    yield said
                self._budget.check()
                if self._pipeline.ended:
                    finished = True
                    break
        if not finished:
            raise ChatError(SERVICE_UNAVAILABLE, "Failed to parse response")

    def _ended(self) -> ModelCall:
        self._end()
        self.recorded = True
        return self.row

    def _end(self) -> None:
        self.round = self._pipeline.end_round()
        self.row.parts = stored_parts(self.round.parts)
        self.row.finished_at = timezone.now()


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
    if isinstance(event, Finished):
        row.finish_reason = clean(event.reason)[:_REASON_LENGTH]
        row.input_tokens, row.output_tokens = event.input_tokens, event.output_tokens
    elif row.first_token_at is None:
        row.first_token_at = timezone.now()
        figures.first_token_came(row.provider_id, row.first_token_at - row.started_at)
