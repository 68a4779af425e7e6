"""Rules on what clients make of a conversation: tool calls and their results, and its beginning."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest, Message, Tool
from scenarios_app.engine.parts import ReasoningPart, ToolCallPart, ToolResultPart
from scenarios_app.engine.scenario import ScriptedAnswer
from scenarios_app.verdict.schema import outside
from scenarios_app.verdict.session import Exchange, Rule, Session, Sighting, said

_SHOWN = 40
# Ids that a wire counts up by itself are no longer than this, and say nothing.
_COUNTED = len("call-9999")
# Of requests that end with the same message so many are looked at.
_REMEMBERED = 100

_Asked: TypeAlias = tuple[str, str, str, int, Message]


def _missing(session: Session) -> Iterator[Sighting]:
    yield from _unpaired(session, missing=True)


def _unknown(session: Session) -> Iterator[Sighting]:
    yield from _unpaired(session, missing=False)


def _unpaired(session: Session, *, missing: bool) -> Iterator[Sighting]:
    """Calls without a result, or results without a call, each where it shows first."""
    told: set[Hashable] = set()
    for one in session.exchanges:
        messages = one.request.messages if one.request else ()
        for place, part in _open(messages) if missing else _orphans(messages):
            # The same conversation has it again in every later turn.
            seen = (messages[: place + 1], part)
            if seen in told:
                continue
            told.add(seen)
            if isinstance(part, ToolCallPart):
                message = f"no result for the call of {part.name} ({part.id})"
            else:
                what = f"id {part.tool_call_id!r}" if part.tool_call_id else "a result without id"
                message = f"a tool's result for {what}, which no call before it has"
            yield Sighting(message, one)


def _open(messages: Sequence[Message]) -> Iterator[tuple[int, ToolCallPart]]:
    """Calls that have no result before the next answer, each with the place of its message."""
    waiting: dict[str, tuple[int, ToolCallPart]] = {}
    before = ""
    for place, message in enumerate(messages):
        if message.role == "assistant" and before != "assistant":
            yield from waiting.values()
            waiting = {}
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting[part.id] = (place, part)
            elif isinstance(part, ToolResultPart):
                waiting.pop(part.tool_call_id, None)
        before = message.role
    yield from waiting.values()


def _orphans(messages: Sequence[Message]) -> Iterator[tuple[int, ToolResultPart]]:
    """Results of calls that are not there, each with the place of its message."""
    calls: set[str] = set()
    for place, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls.add(part.id)
            elif isinstance(part, ToolResultPart) and part.tool_call_id not in calls:
                yield place, part


def _outside_schema(session: Session) -> Iterator[Sighting]:
    judged: dict[str, tuple[Tool, set[str]]] = {}
    for one in session.exchanges:
        if one.request is None:
            continue
        offered = {tool.name: tool for tool in one.request.tools}
        made = (("the client", call) for call in one.request.tool_calls)
        scripted = (("the script", call) for call in _scripted(session, one))
        for whose, call in (*made, *scripted):
            tool = offered.get(call.name)
            if tool is None:
                continue
            if call.name not in judged or judged[call.name][0] != tool:
                judged[call.name] = (tool, set())
            known = judged[call.name][1]
            if call.arguments in known:
                continue
            known.add(call.arguments)
            if problem := outside(tool.schema, call.arguments):
                yield Sighting(f"{whose} calls {call.name} with arguments where {problem}", one)


def _scripted(session: Session, one: Exchange) -> Iterator[ToolCallPart]:
    """The calls that a step's answer holds, as far as they are the same every time."""
    step = session.step_of(one)
    if step is None or one.failed or one.fault:
        return
    produce = step.produce
    answer = produce.streaming if one.streamed else produce.non_streaming
    for choice in answer.choices if isinstance(answer, ScriptedAnswer) else ():
        for part in choice.parts:
            if isinstance(part, ToolCallPart) and "{{" not in part.arguments:
                yield part


def _prefix_broken(session: Session) -> Iterator[Sighting]:
    earlier: defaultdict[_Asked, deque[Exchange]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))
    for one in session.exchanges:
        request = one.request
        if request is None or not request.messages:
            continue
        before = _turn_before(earlier, request)
        change = _change(before.request, request) if before and before.request else ""
        if before and change:
            yield Sighting(f"{change} since the turn before", one, (before,))
        earlier[_asked(request, len(request.messages))].append(one)


def _asked(request: CanonicalRequest, count: int) -> _Asked:
    """What says which question it is that the first messages of a request end with."""
    return request.provider, request.route, request.model, count, request.messages[count - 1]


def _turn_before(
    earlier: Mapping[_Asked, Sequence[Exchange]], request: CanonicalRequest
) -> Exchange | None:
    """The request whose answer this one holds, followed by something new; of several one that it
    changes nothing of."""
    for count in range(len(request.messages) - 2, 0, -1):
        if request.messages[count].role != "assistant":
            continue
        possible = earlier.get(_asked(request, count), ())
        found = [one for one in possible if _is_answer(request.messages[count], one)]
        if found:
            same = (one for one in found if one.request and not _change(one.request, request))
            return next(same, found[-1])
    return None


def _is_answer(message: Message, before: Exchange) -> bool:
    """Whether an assistant's message is what a request was answered with."""
    if message.role != "assistant" or before.failed:
        return False
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    if any(len(call.id) > _COUNTED and call.id in before.response_body for call in calls):
        return True
    text = message.text.strip()
    return bool(text) and text == said(before.response_body).strip()


def _change(before: CanonicalRequest, now: CanonicalRequest) -> str:
    """What a later turn has changed of the beginning that it has in common with the earlier one."""
    if before.tools != now.tools:
        return _change_of_tools(before.tools, now.tools)
    for number, (old, new) in enumerate(zip(before.messages, now.messages, strict=False)):
        if _cached(old) != _cached(new):
            was, is_ = _around(old.text, new.text)
            return f"message {number} ({old.role}) changed from “{was}” to “{is_}”"
    return ""


def _change_of_tools(before: Sequence[Tool], now: Sequence[Tool]) -> str:
    old, new = ([tool.name for tool in tools] for tools in (before, now))
    if old != new:
        same = sorted(old) == sorted(new)
        what = "the order of the tools changed" if same else "the tools changed"
        return f"{what} from {', '.join(old) or 'none'} to {', '.join(new) or 'none'}"
    changed = next(a.name for a, b in zip(before, now, strict=True) if a != b)
    return f"the description or schema of the tool {changed} changed"


def _cached(message: Message) -> tuple[str, tuple[object, ...]]:
    """What of a message has to stay; providers leave out earlier thinking by themselves."""
    kept = (part for part in message.parts if not isinstance(part, ReasoningPart))
    return message.role, tuple(kept)


def _around(old: str, new: str) -> tuple[str, str]:
    """Two texts from a little before where they part."""
    place = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    place = min(len(old), len(new)) if place is None else place
    start = max(0, place - _SHOWN // 2)
    was, is_ = (text[start : start + _SHOWN] for text in (old, new))
    return was, is_


TOOL_RESULT_MISSING = Rule(
    "tool-result-missing",
    "A client went on without the result of a tool call.",
    "Tool calls in a request's messages that have no result before the next answer, or at all.",
    "Of two calls that the model made in parallel only one is run, and its result alone is sent.",
    "error",
    _missing,
)
TOOL_RESULT_UNKNOWN = Rule(
    "tool-result-unknown",
    "A client sent the result of a tool call that nobody made.",
    "Tool results in a request's messages whose id no call before them has.",
    "A history that is cut to its last ten messages begins with the result of a call that fell "
    "out of it.",
    "error",
    _unknown,
)
TOOL_ARGUMENTS_OUTSIDE_SCHEMA = Rule(
    "tool-arguments-outside-schema",
    "A tool was called with arguments that its schema does not allow.",
    "Calls in a request's messages, and those that the step scripts as they stand, held against "
    "the JSON Schema that the request offers the tool with. Where a schema cannot be applied (a "
    "reference to elsewhere, `patternProperties`) nothing is claimed.",
    "The script calls `get_weather` with `city`, the tool has been renamed to take `location`.",
    "error",
    _outside_schema,
)
PROMPT_CACHE_BROKEN = Rule(
    "prompt-cache-broken",
    "A client changed the beginning of a conversation between two turns, which no cache survives.",
    "Two requests for one model, of which the later holds the answer to the earlier after the same "
    "last message: system prompt, tools with their order, and messages up to there. Thinking is "
    "left out, and who shortens a conversation begins a new one.",
    "A system prompt that tells the time of day.",
    "warning",
    _prefix_broken,
)
