"""Generates one answer: the prompt, the model calls and the tool calls in between."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

from django.conf import settings

from chat_app.clients.registry import get_client
from chat_app.clients.sdk import SdkClient
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.prompt.context import ContextPlan
from chat_app.prompt.messages import build_request, to_stored_round
from chat_app.runs.accept import OpenedRun
from chat_app.runs.model_calls import ModelCalls
from chat_app.runs.prompt import RunPrompt, prompt_events
from chat_app.runs.tool_calls import ToolCalls, find_final_report, replace_report_calls
from chat_app.stream import StreamPipeline
from chat_app.tools.toolbox import toolbox
from chat_app.values import model_call as llm
from chat_app.values.events import RunEvent
from traces_app.models import ModelCall
from traces_app.reports import REPORT_TOOL

# A run's event, or the row of a model call, once when it starts and once when it ends.
AnswerEvent: TypeAlias = RunEvent | ModelCall


class AnswerGenerator:
    """Generates one answer. Its attributes hold the answer so far, also after it was stopped."""

    def __init__(self, opened: OpenedRun) -> None:
        self.pipeline = StreamPipeline(hidden_tools=(REPORT_TOOL,))
        self.calls = ModelCalls(opened.trace.pk, opened.profile)
        self.tools = ToolCalls(self.pipeline, opened.profile.mcp_servers)
        self.prompt: RunPrompt | None = None
        self.rounds: list[dict[str, Any]] = []
        self._opened = opened
        self._profile = opened.profile

    async def events(self) -> AsyncGenerator[AnswerEvent, None]:
        """Yield the answer as it comes; raises ChatError if it fails. To stop it, cancel the task
        that reads it; then read `remaining_events`."""
        client = get_client(self._profile, session=self._opened.session)
        try:
            tools = await toolbox().available_tools(self._profile.mcp_servers)
            prompt_parts = prompt_events(self._opened, tools=tools, calls=self.calls)
            async with aclosing(prompt_parts):
                async for part in prompt_parts:
                    if isinstance(part, RunPrompt):
                        self.prompt = part
                    else:
                        yield part
            assert self.prompt is not None
            async with aclosing(self._run_rounds(client, self.prompt.plan, tools=tools)) as events:
                async for event in events:
                    yield event
        finally:
            await client.aclose()

    def remaining_events(self) -> Iterator[AnswerEvent]:
        """Yield the ends of the calls that were running when the answer was stopped."""
        yield from self.calls.unrecorded_rows()
        yield from self.tools.remaining_events()

    async def _run_rounds(
        self, client: SdkClient, plan: ContextPlan, *, tools: Sequence[llm.Tool]
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Yield the events of model calls and their tools, up to an answer without calls or a final
        report. Raises ChatError if CHAT_MAX_ROUNDS are not enough."""
        new_turns: tuple[llm.Turn, ...] = ()
        for rounds_left in reversed(range(settings.CHAT_MAX_ROUNDS)):
            request = build_request(self._profile, plan.turns_with(new_turns), tools=tools)
            call = self.calls.begin(request, pipeline=self.pipeline)
            async with aclosing(call.events(client)) as call_events:
                async for event in call_events:
                    yield event
            parts, called = call.round.parts, call.round.calls
            report = find_final_report(called)
            if report is not None:
                called = tuple(call for call in called if call.name != REPORT_TOOL)
            elif not rounds_left:
                # No model call follows that could read the results of the last round's tools.
                called = ()
            async with aclosing(self.tools.events(called, toolbox())) as tool_events:
                async for tool_event in tool_events:
                    yield tool_event
            results = self.tools.results(called)
            if report is not None:
                # As if the model had written the report's text in one more round.
                for written in (llm.TextPart(report.report_content), llm.Finished("stop")):
                    for reported in self.pipeline.feed(written):
                        yield reported
                parts = replace_report_calls(parts, self.pipeline.end_round().parts)
            self.rounds.append(to_stored_round(parts, results))
            if report is not None or not call.round.calls:
                return
            new_turns = (*new_turns, llm.AssistantTurn(parts), llm.ToolResults(results))
        raise ChatError(
            SERVICE_UNAVAILABLE,
            f"The model did not finish within {settings.CHAT_MAX_ROUNDS} rounds (CHAT_MAX_ROUNDS)",
        )
