"""One answer of a model, from the prompt to the last word: model calls, and the tools they call."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.utils import timezone

from chat_app.clients import get_client
from chat_app.clients.base import Finished, LlmClient, TextPiece
from chat_app.errors import SERVICE_UNAVAILABLE, VALIDATION_ERROR, ChatError
from chat_app.prompt.messages import build_request
from chat_app.prompt.stored_rounds import stored_round
from chat_app.runs import log_entries as mapping
from chat_app.runs import metrics as figures
from chat_app.runs.begin import OpenedRun
from chat_app.runs.final_reports import NO_REPORT, handed_in, is_report, with_report
from chat_app.runs.model_calls import ModelCalls
from chat_app.runs.prompt import Prompt, prompt_of
from chat_app.runs.store import tool_call_row
from chat_app.stream.pipeline import StreamPipeline
from chat_app.tools import toolbox
from chat_app.tools.calls import Outcome, failed
from chat_app.values.events import StreamEvent, ToolCall, ToolResult
from chat_app.values.request import AssistantPart, AssistantTurn, Result, ToolResults, Turn
from traces_app.models import ModelCall
from traces_app.reports import REPORT_TOOL, Report


class Answering:
    """One answer. What it came to so far can be asked at any moment, also after it was cut short.

    `say` is told requirement 002's events, `log` those of requirement 004 that are none of 002's,
    `record` a model call as it is now.
    """

    def __init__(
        self,
        opened: OpenedRun,
        *,
        say: Callable[[StreamEvent], None],
        log: Callable[[mapping.Entry], None],
        record: Callable[[ModelCall], None],
    ) -> None:
        self.pipeline = StreamPipeline(untold=(REPORT_TOOL,))
        self.calls = ModelCalls(opened.trace_id, opened.profile, record=record)
        self.prompt: Prompt | None = None
        self.rounds: list[dict[str, Any]] = []
        # By id, in the order in which they were started.
        self.tool_calls: dict[str, dict[str, Any]] = {}
        self._running: dict[str, float] = {}
        self._opened = opened
        self._profile = opened.profile
        self._say = say
        self._log = log

    async def answer(self) -> None:
        """Raises ChatError for what a run can end with."""
        client = get_client(self._profile, session=self._opened.session)
        try:
            await self._answer(client)
        finally:
            await client.aclose()

    def cut_short(self) -> None:
        """End the tool calls that are still running."""
        for call_id in tuple(self._running):
            self._end_tool(call_id, "cancelled")

    async def _answer(self, client: LlmClient) -> None:
        tools = await toolbox().available(self._profile.mcp_servers)
        self.prompt = await prompt_of(self._opened, tools=tools, calls=self.calls)
        own: tuple[Turn, ...] = ()
        for left in reversed(range(settings.CHAT_MAX_ROUNDS)):
            request = build_request(self._profile, self.prompt.going_on(own), tools=tools)
            done = await self.calls.make(client, request, pipeline=self.pipeline, say=self._say)
            report = handed_in(done.calls)
            if report is not None:
                results = await self._run_tools([c for c in done.calls if not is_report(c)])
                told = self._hand_in(report)
                self.rounds.append(stored_round(with_report(done.parts, told), results))
                return
            # Nobody could be told what the tools of the last round say: they are not called.
            results = await self._run_tools(done.calls) if left else ()
            self.rounds.append(stored_round(done.parts, results))
            if not done.calls:
                return
            own = (*own, AssistantTurn(done.parts), ToolResults(results))
        raise ChatError(
            SERVICE_UNAVAILABLE,
            f"The model called tools {settings.CHAT_MAX_ROUNDS} times and did not come to an end",
        )

    def _hand_in(self, report: Report) -> Sequence[AssistantPart]:
        """Say a report as if the model had said it in another round: what that came to."""
        for event in (TextPiece(report.report_content), Finished("stop")):
            for said in self.pipeline.feed(event):
                self._say(said)
        return self.pipeline.end_round().parts

    async def _run_tools(self, calls: Sequence[ToolCall]) -> tuple[Result, ...]:
        """All at once; the results in the order of the calls."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run_tool(call)) for call in calls]
        return tuple(task.result() for task in tasks)

    async def _run_tool(self, call: ToolCall) -> Result:
        start = mapping.tool_start(call, timezone.now())
        self.tool_calls[call.id] = tool_call_row(call.id, call.name, start[1]["tool_args"])
        self._running[call.id] = time.monotonic()
        self._log(start)
        outcome = await self._outcome(call)
        is_error = outcome.status != "success"
        result = ToolResult(call.id, outcome.text, is_error=is_error, code=outcome.code)
        for told in self.pipeline.tool_result(result):
            if isinstance(told, ToolResult):
                result = told
            self._say(told)
        self.tool_calls[call.id] |= {"result": result.result, "is_error": is_error}
        self._end_tool(call.id, outcome.status)
        return Result(call.id, call.name, result.result, is_error=is_error)

    async def _outcome(self, call: ToolCall) -> Outcome:
        if is_report(call):
            for said in self.pipeline.tell_call(call):
                self._say(said)
            return failed(NO_REPORT, VALIDATION_ERROR)
        return await toolbox().call(self._profile.mcp_servers, call.name, arguments=call.arguments)

    def _end_tool(self, call_id: str, status: mapping.ToolEnd) -> None:
        taken = time.monotonic() - self._running.pop(call_id)
        figures.tool_call_ended(status)
        self._log(mapping.tool_end(call_id, status, duration_ms=round(taken * 1000)))
