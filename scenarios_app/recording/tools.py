"""Replays tools: results beside scripted calls, and those that recorded requests contain."""

import json
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scenarios_app.engine.canonical import CanonicalRequest, Json, Tool, compact_json, text_or_json
from scenarios_app.engine.document import ScenarioDocument, StepDocument
from scenarios_app.engine.document.answer import AnswerDocument, ProduceDocument
from scenarios_app.engine.document.parts import ToolCallDocument, ToolResultDocument
from scenarios_app.engine.parts import INPUT, ToolCallPart, ToolResultPart
from scenarios_app.engine.producing.placeholders import PlaceholderFiller, variable_values
from scenarios_app.recording import RecordedRequest
from scenarios_app.recording.places import place_request

# Calls listed in an error, and characters of each.
_MAX_LISTED_CALLS, _MAX_CALL_CHARS = 3, 200


class NotRecorded(Exception):
    """A call without a recorded result; the message lists the recorded calls."""


class RecordedTools:
    """The tools of some scenarios; equal calls get their recorded results in the recorded order."""

    def __init__(self, documents: Iterable[ScenarioDocument]) -> None:
        self._offered: dict[str, Tool] = {}
        # The results of equal calls, by the call's name and arguments. What was taken goes to the
        # end: after the last one the first is repeated.
        self._results: dict[str, dict[str, deque[ToolResultDocument]]] = {}
        for document in documents:
            self._add_document(document)

    @property
    def offered(self) -> Sequence[Tool]:
        """The tools that were offered or called, as far as they are known."""
        return tuple(self._offered.values())

    def result(self, name: str, arguments: dict[str, Any]) -> ToolResultDocument:
        """Return the next recorded result of equal calls, in rotation; raises NotRecorded."""
        if name not in self._offered:
            raise NotRecorded(f"no tool {_shorten(name)} was recorded")
        results = self._results.get(name, {})
        arguments_text = _canonical_json(arguments)
        if arguments_text not in results:
            calls = [*map(_shorten, list(results)[:_MAX_LISTED_CALLS])]
            if len(results) > _MAX_LISTED_CALLS:
                calls.append(f"{len(results) - _MAX_LISTED_CALLS} more")
            recorded_calls = f"recorded are {', '.join(calls)}" if calls else "no call of it was"
            raise NotRecorded(
                f"{name} with {_shorten(arguments_text)} was not recorded: {recorded_calls}"
            )
        equal_calls = results[arguments_text]
        equal_calls.rotate(-1)
        return equal_calls[-1]

    def _add_document(self, document: ScenarioDocument) -> None:
        """Record a scenario's tools, with results of scripted calls and of calls in recorded
        requests."""
        values = variable_values(document.variables)
        filling = PlaceholderFiller(lambda: values, sys.maxsize)
        scripted: set[tuple[str, str]] = set()
        seen: set[tuple[ToolCallPart, ToolResultPart]] = set()
        for step in document.steps:
            request = _recorded_request(step)
            for tool in request.tools if request else ():
                # The provider runs hosted ones itself.
                if tool.kind == "function":
                    self._offered[tool.name] = tool
            for name in step.expect.tools:
                self._offered.setdefault(name, Tool(name))
            for call in _calls(step.produce):
                if call.result is not None:
                    scripted.add((call.id or "", call.name))
                    text = filling.fill_text(call.result.text)
                    result = call.result.model_copy(update={"text": text})
                    name, arguments = call.name, filling.fill_json(_arguments_text(call))
                    self._add_result(filling.fill_text(name), arguments, result=result)
            for pair in _answered_calls(request) if request else ():
                part, answer = pair
                # Later requests repeat what earlier ones said.
                if pair not in seen and (part.id, part.name) not in scripted:
                    seen.add(pair)
                    custom = compact_json({INPUT: part.arguments})
                    arguments = custom if part.custom else part.arguments
                    result = ToolResultDocument(text=answer.content, is_error=answer.is_error)
                    self._add_result(part.name, arguments, result=result)

    def _add_result(self, name: str, arguments: str, *, result: ToolResultDocument) -> None:
        """Record a tool and the result of one call of it; a call whose arguments are no JSON is
        ignored."""
        try:
            read = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            # Invalid JSON never reached a tool.
            return
        self._offered.setdefault(name, Tool(name))
        results = self._results.setdefault(name, {})
        results.setdefault(_canonical_json(read), deque()).append(result)


def _arguments_text(call: ToolCallDocument) -> str:
    """Return the JSON of a call's arguments; a custom tool's input is named, as MCP needs it."""
    return text_or_json(call.arguments if call.input is None else {INPUT: call.input})


def _canonical_json(arguments: Json) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_CALL_CHARS else f"{text[:_MAX_CALL_CHARS]}…"


def _calls(produce: ProduceDocument) -> Iterator[ToolCallDocument]:
    """Yield the calls of an answer, or of one of its variants for streams and whole answers."""
    answer: AnswerDocument = produce.streaming or produce.non_streaming or produce
    for choice in (answer, *(answer.choices or ())):
        yield from choice.tool_calls
        for part in choice.parts or ():
            if part.tool_call is not None:
                yield part.tool_call


def _recorded_request(step: StepDocument) -> CanonicalRequest | None:
    """Return the parsed request that a step was recorded with, or None."""
    match = step.match.model_dump(by_alias=True, exclude_defaults=True)
    recorded = match.get("recorded")
    if not recorded or not isinstance(match.get("path"), str):
        return None
    body = text_or_json(recorded.get("body")).encode()
    where = place_request(RecordedRequest(recorded.get("method", "POST"), match["path"], body=body))
    return where.request if where else None


def _answered_calls(request: CanonicalRequest) -> Iterator[tuple[ToolCallPart, ToolResultPart]]:
    """Yield the calls in a request's history, each with its result."""
    calls = {call.id: call for call in request.tool_calls}
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, ToolResultPart) and part.tool_call_id in calls:
                yield calls[part.tool_call_id], part
