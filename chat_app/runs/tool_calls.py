"""Runs the tool calls of an answer, those of one round concurrently, and finds the final report. A
final report ends the answer; later prompts have its text in place of the call."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import Any, Final

from django.utils import timezone

from chat_app.errors import VALIDATION_ERROR
from chat_app.runs import metrics
from chat_app.runs.store import tool_call_row
from chat_app.stream import StreamPipeline
from chat_app.tools import ToolOutcome, failed_outcome
from chat_app.tools.toolbox import McpToolbox
from chat_app.values import events as run_events
from chat_app.values.model_call import AssistantPart, TextPart, ToolOutput
from chat_app.values.text import BLANK_LINE, clean
from traces_app.reports import REPORT_TOOL, FinalReport, load_storable, parse_report

INVALID_REPORT: Final = "the report has no report_content, which is a text"


class ToolCalls:
    """Runs the tool calls of one answer. `rows` are the started ones by id, as a message stores
    them; `servers` are the names of the profile's MCP servers."""

    def __init__(self, pipeline: StreamPipeline, servers: Sequence[str]) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self._pipeline = pipeline
        self._servers = servers
        # The start of each running call, in seconds of the monotonic clock.
        self._running: dict[str, float] = {}
        # Events that were not yielded yet; the asyncio.Event wakes their reader.
        self._queued: deque[run_events.RunEvent] = deque()
        self._wakeup = asyncio.Event()

    async def events(
        self, calls: Sequence[run_events.ToolCall], toolbox: McpToolbox
    ) -> AsyncGenerator[run_events.RunEvent, None]:
        """Run the calls of one round concurrently and yield their events in the order of time."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run_and_record(call, toolbox)) for call in calls]
            for task in tasks:
                task.add_done_callback(lambda _: self._wakeup.set())
            while not all(task.done() for task in tasks):
                await self._wakeup.wait()
                self._wakeup.clear()
                for event in self._pop_queued():
                    yield event
        for event in self._pop_queued():
            yield event

    def results(self, calls: Sequence[run_events.ToolCall]) -> tuple[ToolOutput, ...]:
        """Return the results of finished calls, in the order of the calls."""
        rows = [(call, self.rows[call.id]) for call in calls]
        return tuple(
            ToolOutput(call.id, call.name, row["result"], is_error=row["is_error"])
            for call, row in rows
        )

    def remaining_events(self) -> Iterator[run_events.RunEvent]:
        """Yield the queued events of a stopped answer, and the ends of its running calls."""
        for call_id in tuple(self._running):
            self._end_call(call_id, "cancelled")
        yield from self._pop_queued()

    def _pop_queued(self) -> Iterator[run_events.RunEvent]:
        """Yield the queued events and remove them from the queue."""
        while self._queued:
            yield self._queued.popleft()

    def _queue_event(self, event: run_events.RunEvent) -> None:
        self._queued.append(event)
        self._wakeup.set()

    async def _run_and_record(self, call: run_events.ToolCall, toolbox: McpToolbox) -> None:
        """Run a call, queue its events in their order, and store its result in its row."""
        arguments = display_arguments(call.arguments)
        self.rows[call.id] = tool_call_row(call.id, call.name, arguments)
        self._running[call.id] = time.monotonic()
        self._queue_event(run_events.ToolStarted(call, arguments, timezone.now()))
        outcome = await self._call_tool(call, toolbox)
        is_error = outcome.status != "success"
        text = clean(outcome.text)
        self._queue_event(
            run_events.ToolResult(call.id, text, is_error=is_error, code=outcome.code)
        )
        self.rows[call.id] |= {"result": text, "is_error": is_error}
        self._end_call(call.id, outcome.status)

    async def _call_tool(self, call: run_events.ToolCall, toolbox: McpToolbox) -> ToolOutcome:
        """Call a tool; a final report that gets here is an invalid one, so its call fails."""
        if call.name == REPORT_TOOL:
            for event in self._pipeline.announce_call(call):
                self._queue_event(event)
            return failed_outcome(INVALID_REPORT, VALIDATION_ERROR)
        return await toolbox.call(self._servers, call.name, arguments=call.arguments)

    def _end_call(self, call_id: str, status: run_events.ToolStatus) -> None:
        """Queue the end of a running call and count it; ignore a call that has ended."""
        started = self._running.pop(call_id, None)
        if started is None:
            # `remaining_events` has ended it as cancelled.
            return
        metrics.count_tool_call_end(status)
        self._queue_event(
            run_events.ToolEnded(call_id, status, round((time.monotonic() - started) * 1000))
        )


def display_arguments(arguments: str) -> dict[str, Any] | str:
    """Return the arguments as an object, or as their text if they are no storable object."""
    try:
        value = load_storable(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments


def find_final_report(calls: Iterable[run_events.ToolCall]) -> FinalReport | None:
    """Return the first valid report among the calls, which ends the answer, or None. An invalid one
    is a failed tool call, so that the model can try again."""
    reports = (parse_report(call.name, call.arguments) for call in calls)
    return next((report for report in reports if report is not None), None)


def replace_report_calls(
    parts: Sequence[AssistantPart], report_parts: Sequence[AssistantPart]
) -> tuple[AssistantPart, ...]:
    """Return an answer's parts with the report's text in place of its call. Later prompts cannot
    contain the call, because the tool is never offered."""
    merged: list[AssistantPart] = []
    for part in _substitute_report(parts, report_parts):
        match part, merged[-1] if merged else None:
            case TextPart(text), TextPart(before):
                merged[-1] = TextPart(before + BLANK_LINE + text)
            case _:
                merged.append(part)
    return tuple(merged)


def _substitute_report(
    parts: Sequence[AssistantPart], report_parts: Sequence[AssistantPart]
) -> Iterator[AssistantPart]:
    """Yield the parts with the first valid report call replaced, and without further report
    calls."""
    is_replaced = False
    for part in parts:
        if not isinstance(part, run_events.ToolCall) or part.name != REPORT_TOOL:
            yield part
        elif not is_replaced and parse_report(part.name, part.arguments) is not None:
            is_replaced = True
            yield from report_parts
