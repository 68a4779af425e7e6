"""One answer of a model, from the prompt to the last word: model calls, and the tools they call."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.utils import timezone

from chat_app import figures, mapping
from chat_app.answers import tool_call_row
from chat_app.clients import get_client
from chat_app.clients.base import LlmClient
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.events import StreamEvent, ToolCall, ToolResult
from chat_app.model_calls import ModelCalls
from chat_app.pipeline import StreamPipeline
from chat_app.prompt import build_request
from chat_app.prompting import Prompt, prompt_of
from chat_app.request import AssistantTurn, Result, ToolResults
from chat_app.sending import OpenedRun
from chat_app.stored_rounds import stored_round
from chat_app.tools import toolbox
from traces_app.models import ModelCall


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
        self.pipeline = StreamPipeline()
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
        turns = self.prompt.turns
        for left in reversed(range(settings.CHAT_MAX_ROUNDS)):
            request = build_request(self._profile, turns, tools=tools)
            done = await self.calls.make(client, request, pipeline=self.pipeline, say=self._say)
            # Nobody could be told what the tools of the last round say: they are not called.
            results = await self._run_tools(done.calls) if left else ()
            self.rounds.append(stored_round(done.parts, results))
            if not done.calls:
                return
            turns = (*turns, AssistantTurn(done.parts), ToolResults(results))
        raise ChatError(
            SERVICE_UNAVAILABLE,
            f"The model called tools {settings.CHAT_MAX_ROUNDS} times and did not come to an end",
        )

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
        outcome = await toolbox().call(
            self._profile.mcp_servers, call.name, arguments=call.arguments
        )
        failed = outcome.status != "success"
        result = ToolResult(call.id, outcome.text, is_error=failed, code=outcome.code)
        for told in self.pipeline.tool_result(result):
            if isinstance(told, ToolResult):
                result = told
            self._say(told)
        self.tool_calls[call.id] |= {"result": result.result, "is_error": failed}
        self._end_tool(call.id, outcome.status)
        return Result(call.id, call.name, result.result, is_error=failed)

    def _end_tool(self, call_id: str, status: mapping.ToolEnd) -> None:
        taken = time.monotonic() - self._running.pop(call_id)
        figures.tool_call_ended(status)
        self._log(mapping.tool_end(call_id, status, duration_ms=round(taken * 1000)))
