"""A run's requests to models: each is streamed through a pipeline, and recorded as it begins and
as it ends."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final, cast
from uuid import UUID

from django.utils import timezone

from chat_app.clients.base import Finished, LlmClient, ProviderEvent
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.models import ModelProfile
from chat_app.prompt.stored_rounds import stored_parts
from chat_app.prompt.tokens import counter, texts_of
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


class ModelCalls:
    """The calls of one run, in order, out of one budget. `record` is told of each row when it
    changes."""

    def __init__(
        self, trace_id: UUID, profile: ModelProfile, *, record: Callable[[ModelCall], None]
    ) -> None:
        self.rows: list[ModelCall] = []
        self._trace_id = trace_id
        self._profile = profile
        self._budget = Budget()
        self._record = record

    async def make(
        self,
        client: LlmClient,
        request: ModelRequest,
        *,
        pipeline: StreamPipeline,
        say: Callable[[StreamEvent], None],
        purpose: str = ANSWER,
    ) -> Round:
        """One call up to its end; raises ChatError. The pipeline has what came before that."""
        row = self._begin(request, purpose)
        done, finished = Round(), False
        try:
            # What a client streams with is a generator: closing it closes the provider's socket.
            stream = cast(AsyncGenerator[ProviderEvent], client.stream(request))
            async with aclosing(stream) as events:
                async for event in events:
                    _note(row, event)
                    finished = isinstance(event, Finished)
                    for said in pipeline.feed(self._budget.take(event)):
                        say(said)
                    self._budget.check()
                    if pipeline.ended:
                        finished = True
                        break
            if not finished:
                raise ChatError(SERVICE_UNAVAILABLE, "Failed to parse response")
        except ChatError as error:
            row.code = error.code
            raise
        finally:
            done = pipeline.end_round()
            row.parts = stored_parts(done.parts)
            row.finished_at = timezone.now()
            self._record(row)
        return done

    def _begin(self, request: ModelRequest, purpose: str) -> ModelCall:
        texts = texts_of(request.system_prompt, request.tools, request.turns)
        row = ModelCall(
            trace_id=self._trace_id,
            number=len(self.rows) + 1,
            purpose=purpose,
            provider_id=self._profile.provider_id,
            model_id=self._profile.model_id,
            request={
                "turns": len(request.turns),
                "estimated_tokens": counter(request.model)(texts),
            },
            tools=[tool.name for tool in request.tools],
            started_at=timezone.now(),
        )
        self.rows.append(row)
        self._record(row)
        return row


def _note(row: ModelCall, event: ProviderEvent) -> None:
    if isinstance(event, Finished):
        row.finish_reason = clean(event.reason)[:_REASON_LENGTH]
        row.input_tokens, row.output_tokens = event.input_tokens, event.output_tokens
    elif row.first_token_at is None:
        row.first_token_at = timezone.now()
        figures.first_token_came(row.provider_id, row.first_token_at - row.started_at)
