"""Client rules on conversations: tool calls and their results, and stable prompt prefixes."""

import json
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest, Message, Tool
from scenarios_app.engine.parts import ReasoningPart, ToolCallPart, ToolResultPart
from scenarios_app.engine.producing.produce import REPORT_TOOL
from scenarios_app.engine.scenario import ScriptedAnswer
from scenarios_app.verdict.schema import find_schema_error
from scenarios_app.verdict.session import JudgedExchange, JudgedSession, Rule, Sighting

_EXCERPT_CHARS = 40
# Hosted tools whose functions the model calls although the request does not list them (Gemini).
_OPEN_TOOLSETS = frozenset({"computer_use"})
# Ids of this length may be counters ("call-1"), which do not identify a call.
_MAX_COUNTER_CHARS = len("call-9999")
# Candidates for the previous turn per last message.
_MAX_CANDIDATES = 100

# Provider, route, model, number of messages and last message.
_TurnKey: TypeAlias = tuple[str, str, str, int, Message]


def _find_unpaired_calls(session: JudgedSession, *, missing: bool) -> Iterator[Sighting]:
    """Yield sightings of calls without a result (`missing`) or results without a call, each
    once."""
    reported: set[Hashable] = set()
    for exchange in session.exchanges:
        messages = exchange.request.messages if exchange.request else ()
        for index, part in _unanswered_calls(messages) if missing else _orphan_results(messages):
            # Every later turn of the conversation contains it too.
            key = (messages[: index + 1], part)
            if key in reported:
                continue
            reported.add(key)
            if isinstance(part, ToolCallPart):
                message = f"no result for the call of {part.name} ({part.id})"
            else:
                call = f"id {part.tool_call_id!r}" if part.tool_call_id else "a result without id"
                message = f"a tool's result for {call}, which no call before it has"
            yield Sighting(message, exchange)


def _unanswered_calls(messages: Sequence[Message]) -> Iterator[tuple[int, ToolCallPart]]:
    """Yield calls without a result before the next assistant message, with the message's index."""
    waiting: dict[str, tuple[int, ToolCallPart]] = {}
    previous_role = ""
    for index, message in enumerate(messages):
        if message.role == "assistant" and previous_role != "assistant":
            yield from waiting.values()
            waiting = {}
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting[part.id] = (index, part)
            elif isinstance(part, ToolResultPart):
                waiting.pop(part.tool_call_id, None)
        previous_role = message.role
    yield from waiting.values()


def _orphan_results(messages: Sequence[Message]) -> Iterator[tuple[int, ToolResultPart]]:
    """Yield results whose call is in no earlier message, with the message's index."""
    calls: set[str] = set()
    for index, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls.add(part.id)
            elif isinstance(part, ToolResultPart) and part.tool_call_id not in calls:
                yield index, part


def _find_invalid_arguments(session: JudgedSession) -> Iterator[Sighting]:
    """Yield sightings of calls, in a request or scripted without templates, whose arguments break
    the schema of the offered tool."""
    checked: dict[str, tuple[Tool, set[str]]] = {}
    for exchange in session.exchanges:
        if exchange.request is None:
            continue
        tools = _functions_by_name(exchange.request.tools)
        client_calls = (("the client", call) for call in exchange.request.tool_calls)
        scripted_calls = (
            ("the script", call)
            for call in _scripted_calls(session, exchange)
            if "{{" not in call.arguments
        )
        for caller, call in (*client_calls, *scripted_calls):
            tool = tools.get((call.namespace, call.name))
            if tool is None or call.custom:
                continue
            if call.name not in checked or checked[call.name][0] != tool:
                checked[call.name] = (tool, set())
            checked_arguments = checked[call.name][1]
            if call.arguments in checked_arguments:
                continue
            checked_arguments.add(call.arguments)
            if error := find_schema_error(tool.schema, call.arguments):
                yield Sighting(f"{caller} calls {call.name} with arguments where {error}", exchange)


def _functions_by_name(tools: Iterable[Tool]) -> dict[tuple[str, str], Tool]:
    """Return functions by namespace and name; the first of a name also without its namespace."""
    functions: dict[tuple[str, str], Tool] = {}
    for tool in tools:
        if tool.kind == "function":
            functions[tool.namespace, tool.name] = tool
            functions.setdefault(("", tool.name), tool)
    return functions


def _scripted_calls(session: JudgedSession, exchange: JudgedExchange) -> Iterator[ToolCallPart]:
    """Yield the tool calls of the step that answered as they are scripted, templates included; none
    of a failed answer or of one with a fault."""
    step = session.step_of(exchange)
    if step is None or exchange.failed or exchange.fault:
        return
    produce = step.produce
    answer = produce.streaming if exchange.streamed else produce.non_streaming
    for choice in answer.choices if isinstance(answer, ScriptedAnswer) else ():
        for part in choice.parts:
            if isinstance(part, ToolCallPart):
                yield part


def _find_unoffered_calls(session: JudgedSession) -> Iterator[Sighting]:
    """Yield sightings of calls of tools that the request does not offer, once per step and
    tools."""
    reported: set[Hashable] = set()
    for exchange in session.exchanges:
        step = session.step_of(exchange)
        if (
            exchange.request is None
            or step is None
            or step.produce.unoffered
            or step.produce.recorded
        ):
            continue
        offered = sorted({tool.name for tool in exchange.request.tools})
        if not _OPEN_TOOLSETS.isdisjoint(offered):
            continue
        for call in _scripted_calls(session, exchange):
            key = (exchange.scenario, exchange.step_key, call.name, *offered)
            # Some APIs have no tool calls, and a final report is a call that no client offers.
            is_sent = (
                f'"name":{json.dumps(call.name, ensure_ascii=False)}' in exchange.response_body
            )
            if call.name in (*offered, REPORT_TOOL) or key in reported or not is_sent:
                continue
            reported.add(key)
            offer = f"offers {', '.join(offered)}" if offered else "offers no tools"
            yield Sighting(
                f"{exchange.scenario}, step {exchange.step} calls {call.name}; the request {offer}",
                exchange,
            )


def _find_changed_prompt_prefixes(session: JudgedSession) -> Iterator[Sighting]:
    """Yield sightings of requests that change the beginning of the conversation they continue."""
    earlier: defaultdict[_TurnKey, deque[JudgedExchange]] = defaultdict(
        lambda: deque(maxlen=_MAX_CANDIDATES)
    )
    for exchange in session.exchanges:
        request = exchange.request
        if request is None or not request.messages:
            continue
        previous = _previous_turn(earlier, request)
        change = _describe_change(previous.request, request) if previous else ""
        if previous and change:
            yield Sighting(f"{change} since the turn before", exchange, (previous,))
        earlier[_turn_key(request, len(request.messages))].append(exchange)


def _turn_key(request: CanonicalRequest, count: int) -> _TurnKey:
    """Return the key of the turn that ends with the request's message number `count`."""
    return request.provider, request.route, request.model, count, request.messages[count - 1]


def _previous_turn(
    earlier: Mapping[_TurnKey, Sequence[JudgedExchange]], request: CanonicalRequest
) -> JudgedExchange | None:
    """Return the exchange whose response is the latest assistant message of the request. Of
    several, one whose prefix the request leaves unchanged is preferred. None if there is none."""
    for count in range(len(request.messages) - 2, 0, -1):
        if request.messages[count].role != "assistant":
            continue
        candidates = earlier.get(_turn_key(request, count), ())
        matches = [
            candidate
            for candidate in candidates
            if _is_response(request.messages[count], candidate)
        ]
        if matches:
            unchanged = (match for match in matches if not _describe_change(match.request, request))
            return next(unchanged, matches[-1])
    return None


def _is_response(message: Message, exchange: JudgedExchange) -> bool:
    """Return whether an assistant message is the response of an exchange, by call ids or text."""
    if exchange.failed:
        return False
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    ids = (call.id for call in calls if len(call.id) > _MAX_COUNTER_CHARS)
    if any(call_id in exchange.response_body for call_id in ids):
        return True
    text = message.text.strip()
    return bool(text) and text == exchange.text.strip()


def _describe_change(earlier: CanonicalRequest | None, later: CanonicalRequest) -> str:
    """Describe how a later turn changed the prefix of the earlier one; empty if it did not."""
    if earlier is None:
        return ""
    if earlier.tools != later.tools:
        return _describe_tool_change(earlier.tools, later.tools)
    for number, (old, new) in enumerate(zip(earlier.messages, later.messages, strict=False)):
        if _cached_content(old) != _cached_content(new):
            old_text, new_text = _excerpts(old.text, new.text)
            return f"message {number} ({old.role}) changed from “{old_text}” to “{new_text}”"
    return ""


def _describe_tool_change(earlier: Sequence[Tool], later: Sequence[Tool]) -> str:
    """Describe the change between two lists of tools, which must differ."""
    old, new = ([tool.name for tool in tools] for tools in (earlier, later))
    if old != new:
        reordered = sorted(old) == sorted(new)
        subject = "the order of the tools changed" if reordered else "the tools changed"
        return f"{subject} from {', '.join(old) or 'none'} to {', '.join(new) or 'none'}"
    changed = next(a.name for a, b in zip(earlier, later, strict=True) if a != b)
    return f"the description or schema of the tool {changed} changed"


def _cached_content(message: Message) -> tuple[str, tuple[object, ...]]:
    """Return role and parts without reasoning, which providers drop from earlier turns."""
    parts = (part for part in message.parts if not isinstance(part, ReasoningPart))
    return message.role, tuple(parts)


def _excerpts(old: str, new: str) -> tuple[str, str]:
    """Return an excerpt of both texts around their first difference."""
    pairs = enumerate(zip(old, new, strict=False))
    difference = next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))
    start = max(0, difference - _EXCERPT_CHARS // 2)
    old_excerpt, new_excerpt = (text[start : start + _EXCERPT_CHARS] for text in (old, new))
    return old_excerpt, new_excerpt


RULES = (
    Rule(
        "tool-result-missing",
        "A client went on without the result of a tool call.",
        "Tool calls in a request's messages that have no result before the next answer, or at all.",
        "Of two parallel calls only one is run.",
        "error",
        partial(_find_unpaired_calls, missing=True),
    ),
    Rule(
        "tool-result-unknown",
        "A client sent the result of an unknown tool call.",
        "Tool results in a request's messages whose id no call before them has.",
        "A history that is cut to its last ten messages begins with a result.",
        "error",
        partial(_find_unpaired_calls, missing=False),
    ),
    Rule(
        "tool-arguments-outside-schema",
        "A tool was called with arguments that its schema does not allow.",
        "Calls in a request's messages, and those that the step scripts, compared with the JSON "
        "Schema of the offered tool. A schema that cannot be applied (an external reference, "
        "`patternProperties`) gives no finding.",
        "The script calls `get_weather` with `city`, the tool takes `location` now.",
        "error",
        _find_invalid_arguments,
    ),
    Rule(
        "tool-not-offered",
        "A step called a tool that the request does not offer.",
        "Tool calls that a step scripts and that were sent. Recordings, instruction blocks and "
        "final reports are left out, and steps with "
        '`unoffered: "allow"`.',
        "An agent asks for a title without tools, and a too broad step answers.",
        "warning",
        _find_unoffered_calls,
    ),
    Rule(
        "prompt-cache-broken",
        "A client changed the beginning of a conversation between two turns, which no cache "
        "survives.",
        "Two requests for one model, of which the later continues the earlier: system prompt, "
        "tools with their order, and messages. Thinking is left out. A shortened conversation is a "
        "new one.",
        "A system prompt that tells the time of day.",
        "warning",
        _find_changed_prompt_prefixes,
    ),
)
