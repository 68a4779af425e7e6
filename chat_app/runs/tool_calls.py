"""The calls of tools in an answer: those of one round at once, each told as it starts and ends; and
the call that ends the answer with a final report, whose text takes its place."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import Any, Final

from django.utils import timezone

from chat_app.errors import VALIDATION_ERROR
from chat_app.runs import metrics as figures
from chat_app.runs.log_entries import shown_arguments
from chat_app.runs.store import tool_call_row
from chat_app.stream import StreamPipeline
from chat_app.tools import Outcome, Toolbox, failed
from chat_app.values.events import (
    RunEvent,
    ToolCall,
    ToolEnded,
    ToolResult,
    ToolStarted,
    ToolStatus,
)
from chat_app.values.model_call import AssistantPart, Result, Text
from chat_app.values.text import BLANK_LINE
from traces_app.reports import REPORT_TOOL, FinalReport, parse_report

NO_REPORT: Final = "the report has no report_content, which is a text"


class ToolCalls:
    """The tool calls of one answer. `rows` are those that were started, by id and in that order,
    as a message keeps them; `servers` are the names of the profile's MCP servers."""

    def __init__(self, pipeline: StreamPipeline, servers: Sequence[str]) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self._pipeline = pipeline
        self._servers = servers
        # When each call that still runs was started, in seconds.
        self._running: dict[str, float] = {}
        # What happened and was not told yet, and whether there is any of it.
        self._untold: deque[RunEvent] = deque()
        self._news = asyncio.Event()

    async def events(
        self, calls: Sequence[ToolCall], toolbox: Toolbox
    ) -> AsyncGenerator[RunEvent, None]:
        """Make the calls of one round, and tell what happens in the order in which it does."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(call, toolbox)) for call in calls]
            for task in tasks:
                task.add_done_callback(lambda _: self._news.set())
            while not all(task.done() for task in tasks):
                await self._news.wait()
                self._news.clear()
                for event in self._taken():
                    yield event
        for event in self._taken():
            yield event

    def results(self, calls: Sequence[ToolCall]) -> tuple[Result, ...]:
        """The results of calls that have ended, in the order of the calls."""
        rows = [(call, self.rows[call.id]) for call in calls]
        return tuple(
            Result(call.id, call.name, row["result"], is_error=row["is_error"])
            for call, row in rows
        )

    def rest(self) -> Iterator[RunEvent]:
        """What was not told yet when the answer was cut short, and the ends of the calls that were
        still running."""
        for call_id in tuple(self._running):
            self._end(call_id, "cancelled")
        yield from self._taken()

    def _taken(self) -> Iterator[RunEvent]:
        while self._untold:
            yield self._untold.popleft()

    def _tell(self, event: RunEvent) -> None:
        self._untold.append(event)
        self._news.set()

    async def _run(self, call: ToolCall, toolbox: Toolbox) -> None:
        arguments = shown_arguments(call.arguments)
        self.rows[call.id] = tool_call_row(call.id, call.name, arguments)
        self._running[call.id] = time.monotonic()
        self._tell(ToolStarted(call, timezone.now()))
        outcome = await self._outcome(call, toolbox)
        is_error = outcome.status != "success"
        result = ToolResult(call.id, outcome.text, is_error=is_error, code=outcome.code)
        result = self._pipeline.tool_result(result)
        self._tell(result)
        self.rows[call.id] |= {"result": result.result, "is_error": is_error}
        self._end(call.id, outcome.status)

    async def _outcome(self, call: ToolCall, toolbox: Toolbox) -> Outcome:
        if is_report(call):
            for said in self._pipeline.tell_call(call):
                self._tell(said)
            return failed(NO_REPORT, VALIDATION_ERROR)
        return await toolbox.call(self._servers, call.name, arguments=call.arguments)

    def _end(self, call_id: str, status: ToolStatus) -> None:
        started = self._running.pop(call_id, None)
        if started is None:
            # It was cut short before it ended, and that was told.
            return
        figures.tool_call_ended(status)
        self._tell(ToolEnded(call_id, status, round((time.monotonic() - started) * 1000)))


def is_report(call: ToolCall) -> bool:
    return call.name == REPORT_TOOL


def handed_in(calls: Iterable[ToolCall]) -> FinalReport | None:
    """The report that ends the answer: the first one, of several. A call without a report in it
    is a tool call that fails, so that the model may try again."""
    reports = (parse_report(call.name, call.arguments) for call in calls)
    return next((report for report in reports if report is not None), None)


def with_report(
    parts: Sequence[AssistantPart], told: Sequence[AssistantPart]
) -> tuple[AssistantPart, ...]:
    """An answer's parts as later prompts have them: what was told of the report stands where it
    was handed in, since the tool is none that is offered to anyone."""
    found: list[AssistantPart] = []
    for part in _replaced(parts, told):
        match part, found[-1] if found else None:
            case Text(text), Text(before):
                found[-1] = Text(before + BLANK_LINE + text)
            case _:
                found.append(part)
    return tuple(found)


def _replaced(
    parts: Sequence[AssistantPart], told: Sequence[AssistantPart]
) -> Iterator[AssistantPart]:
    taken = False
    for part in parts:
        if not isinstance(part, ToolCall) or not is_report(part):
            yield part
        elif not taken and parse_report(part.name, part.arguments) is not None:
            taken = True
            yield from told
