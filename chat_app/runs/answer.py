"""One answer of a model, from the prompt to the last word: model calls, and the tools they call."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

from django.conf import settings

from chat_app.clients.registry import get_client
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.prompt.messages import build_request, stored_round
from chat_app.runs.begin import OpenedRun
from chat_app.runs.model_calls import ModelCalls
from chat_app.runs.prompt import Prompt, prompt_events
from chat_app.runs.tool_calls import ToolCalls, handed_in, is_report, with_report
from chat_app.stream import StreamPipeline
from chat_app.tools.toolbox import toolbox
from chat_app.values.events import RunEvent, StreamEvent
from chat_app.values.model_call import (
    AssistantTurn,
    Finished,
    LlmClient,
    TextPiece,
    Tool,
    ToolResults,
    Turn,
)
from traces_app.models import ModelCall
from traces_app.reports import REPORT_TOOL, FinalReport

# What an answer says, and the rows of its model calls, each as it begins and as it ends.
AnswerEvent: TypeAlias = RunEvent | ModelCall


class Answer:
    """One answer. What it has come to can be asked at any moment, also after it was cut short."""

    def __init__(self, opened: OpenedRun) -> None:
        self.pipeline = StreamPipeline(untold=(REPORT_TOOL,))
        self.calls = ModelCalls(opened.trace_id, opened.profile)
        self.tools = ToolCalls(self.pipeline, opened.profile.mcp_servers)
        self.prompt: Prompt | None = None
        self.rounds: list[dict[str, Any]] = []
        self._opened = opened
        self._profile = opened.profile

    async def events(self) -> AsyncGenerator[AnswerEvent, None]:
        """The answer as it comes; raises ChatError for what a run can end with. To cancel the task
        that reads it cuts the answer short; `rest` has what is still to be told then."""
        client = get_client(self._profile, session=self._opened.session)
        try:
            async with aclosing(self._events(client)) as events:
                async for event in events:
                    yield event
        finally:
            await client.aclose()

    def rest(self) -> Iterator[AnswerEvent]:
        """What `events` did not come to tell: the ends of the calls that were cut short."""
        yield from self.calls.unrecorded()
        yield from self.tools.rest()

    async def _events(self, client: LlmClient) -> AsyncGenerator[AnswerEvent, None]:
        tools = await toolbox().available(self._profile.mcp_servers)
        async with aclosing(prompt_events(self._opened, tools=tools, calls=self.calls)) as made:
            async for one in made:
                if isinstance(one, Prompt):
                    self.prompt = one
                else:
                    yield one
        assert self.prompt is not None
        async with aclosing(self._said(client, self.prompt, tools=tools)) as events:
            async for event in events:
                yield event

    async def _said(
        self, client: LlmClient, prompt: Prompt, *, tools: Sequence[Tool]
    ) -> AsyncGenerator[AnswerEvent, None]:
        own: tuple[Turn, ...] = ()
        for left in reversed(range(settings.CHAT_MAX_ROUNDS)):
            request = build_request(self._profile, prompt.going_on(own), tools=tools)
            call = self.calls.begin(request, pipeline=self.pipeline)
            async with aclosing(call.events(client)) as said:
                async for event in said:
                    yield event
            parts, wanted = call.round.parts, call.round.calls
            report = handed_in(wanted)
            if report is not None:
                wanted = tuple(one for one in wanted if not is_report(one))
            elif not left:
                # Nobody could be told what the tools of the last round say: they are not called.
                wanted = ()
            async with aclosing(self.tools.events(wanted, toolbox())) as ran:
                async for told in ran:
                    yield told
            results = self.tools.results(wanted)
            if report is not None:
                for reported in self._reported(report):
                    yield reported
                parts = with_report(parts, self.pipeline.end_round().parts)
            self.rounds.append(stored_round(parts, results))
            if report is not None or not call.round.calls:
                return
            own = (*own, AssistantTurn(parts), ToolResults(results))
        raise ChatError(
            SERVICE_UNAVAILABLE,
            f"The model called tools {settings.CHAT_MAX_ROUNDS} times and did not come to an end",
        )

    def _reported(self, report: FinalReport) -> Iterator[StreamEvent]:
        """A report as if the model had said it in a round of its own."""
        for event in (TextPiece(report.report_content), Finished("stop")):
            yield from self.pipeline.feed(event)
