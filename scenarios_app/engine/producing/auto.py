"""The answer that keeps what its request asks for: a call whose arguments fit, JSON that validates,
or else lorem; and all of it cut where the request wants it to end."""

import json
import re
from collections.abc import Sequence

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer, Json, JsonFormat, Tool
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    held_text,
)
from scenarios_app.engine.producing.lorem import lorem, lorem_answer
from scenarios_app.engine.producing.usage import CHARACTERS_PER_TOKEN
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice
from scenarios_app.engine.schemas.instance import instance
from scenarios_app.engine.schemas.keywords import References, Schema, SchemaError

_JSON_CHUNK = 12
_CUSTOM_WORDS = 5
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|[0-9]+|[^\W_]+")
# Words that say nothing of what a tool is for.
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be by can do for from get has have how i if in is it me my of on or "
        "please that the this to use using what when where which who with you your"
    )
)


def auto_answer(request: CanonicalRequest) -> ScriptedAnswer | ErrorAnswer:
    """What a request gets, cut as it wants; an error where it can't have what it asks for."""
    try:
        made = _made(request)
    except _Refused as refused:
        return ErrorAnswer(400, str(refused), param=refused.place)
    return ScriptedAnswer((cut(made, max_tokens=request.max_tokens, stop=request.stop),))


class _Refused(Exception):
    """What a request can't have; `place` is where it asks for it."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.place = place


def _made(request: CanonicalRequest) -> ScriptedChoice:
    for tool in request.tools:
        if tool.kind == "function" and isinstance(tool.schema, dict):
            _check(tool)
    if (tool_called := _tool(request)) is not None:
        return ScriptedChoice((_call(tool_called, request.last_user_text),))
    if request.json is not None:
        text = _json(request.json, request.last_user_text)
        pieces = range(0, len(text), _JSON_CHUNK)
        chunks = tuple(Chunk(0, text[at : at + _JSON_CHUNK]) for at in pieces)
        return ScriptedChoice((TextPart(text),), chunks or None)
    (choice,) = lorem_answer(request.last_user_text).choices
    return choice


def _tool(request: CanonicalRequest) -> Tool | None:
    """The tool that is called: the best-named one if it must be, or may be and has no result yet.
    One that must be called again is another one, as long as there is one."""
    choice = request.choice
    if choice.mode == "none":
        return None
    for name in choice.names:
        if all(tool.name != name for tool in request.tools):
            raise _Refused(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")
    if choice.mode == "required" and not request.tools:
        raise _Refused("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    tools = [
        tool
        for tool in request.tools
        if tool.kind != "hosted" and (not choice.names or tool.name in choice.names)
    ]
    if choice.mode == "auto" and not _asks_anew(request):
        return None
    called = _called(request)
    fresh = [tool for tool in tools if tool.name not in called]
    return _best_named(fresh or tools, request.last_user_text)


def _asks_anew(request: CanonicalRequest) -> bool:
    """Whether the user has said something that no tool has had a part in yet. What stands beside
    results or before an answer that has begun does not count."""
    others = [message.role for message in request.messages if message.role in ("assistant", "tool")]
    last = request.messages[-1].role if request.messages else "user"
    return last != "assistant" and (not others or others[-1] == "assistant")


def _called(request: CanonicalRequest) -> set[str]:
    """The tools that have been called since the user last said something."""
    called: set[str] = set()
    for message in request.messages:
        if message.role == "user":
            called.clear()
        called |= {part.name for part in message.parts if isinstance(part, ToolCallPart)}
    return called


def _best_named(tools: Sequence[Tool], message: str) -> Tool | None:
    """The tool whose name has most words of the message in it, and then whose description has; the
    first of several."""
    said = _words(message)

    def score(tool: Tool) -> tuple[bool, int, int]:
        named, described = said & _words(tool.name), said & _words(tool.description)
        return tool.name in message, 2 * len(named) + len(described), len(named)

    return max(tools, key=score, default=None)


def _words(text: str) -> set[str]:
    """The words of a text or a name, in lower case and the singular."""
    words = {word.casefold() for word in _WORD.findall(text)} - _COMMON
    return {word.removesuffix("s") if len(word) > 3 else word for word in words}


def _call(tool: Tool, key: str) -> ToolCallPart:
    if tool.kind == "custom":
        return ToolCallPart("", tool.name, _text_of(tool, key))
    schema = {} if tool.schema is None else tool.schema
    try:
        arguments = instance(schema, key, {"type": "object"})
    except SchemaError as error:
        raise _wrong(f"function '{tool.name}'", error, "tools") from None
    return ToolCallPart("", tool.name, _dumped(arguments))


def _text_of(tool: Tool, key: str) -> str:
    """What a custom tool gets: a text of its grammar where that is a regular expression."""
    match tool.schema:
        case {"grammar": {"syntax": "regex", "definition": str(pattern)}} | {
            "syntax": "regex",
            "definition": str(pattern),
        }:
            try:
                return str(instance({"type": "string", "pattern": pattern}, key))
            except SchemaError as error:
                raise _wrong(f"tool '{tool.name}'", error, "tools") from None
        case _:
            return lorem(key, _CUSTOM_WORDS)


def _json(wanted: JsonFormat, key: str) -> str:
    try:
        value = instance(wanted.schema, key)
    except SchemaError as error:
        raise _wrong(wanted.place, error, wanted.place) from None
    return value if wanted.bare and isinstance(value, str) else _dumped(value)


def _check(tool: Tool) -> None:
    """Refuse a tool whose form points at nothing, also where another one is called."""
    schema: Schema = tool.schema
    try:
        References(schema).check()
    except SchemaError as error:
        raise _wrong(f"function '{tool.name}'", error, "tools") from None


def _wrong(what: str, error: SchemaError, place: str) -> _Refused:
    context = ", ".join(map(repr, error.path)) + ("," if len(error.path) == 1 else "")
    return _Refused(f"Invalid schema for {what}: In context=({context}), {error.message}", place)


def _dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cut(choice: ScriptedChoice, *, max_tokens: int | None, stop: Sequence[str]) -> ScriptedChoice:
    """An answer of text, thinking and calls: its text up to the first of the sequences, all of it
    up to so many tokens. Its finish reason says what it ended at."""
    stopped = _stopped(choice, stop)
    return stopped if max_tokens is None else _limited(stopped, max(0, max_tokens))


def _stopped(choice: ScriptedChoice, stop: Sequence[str]) -> ScriptedChoice:
    wanted = [sequence for sequence in stop if sequence]
    for index, part in enumerate(choice.parts):
        text = part.text if isinstance(part, TextPart) else ""
        if found := [(text.find(sequence), sequence) for sequence in wanted if sequence in text]:
            at, sequence = min(found)
            shorter = _up_to(choice, index, at)
            return replace(shorter, finish_reason="stop_sequence", stop_sequence=sequence)
    return choice


def _limited(choice: ScriptedChoice, tokens: int) -> ScriptedChoice:
    left = tokens * CHARACTERS_PER_TOKEN
    for index, part in enumerate(choice.parts):
        size = len(held_text(part))
        if size > left:
            at = left - len(part.name) if isinstance(part, ToolCallPart) else left
            shorter = _up_to(choice, index, at)
            return replace(shorter, finish_reason="length", stop_sequence=None)
        left -= size
    return choice


def _up_to(choice: ScriptedChoice, index: int, size: int) -> ScriptedChoice:
    """The parts before an index, and so many characters of the one there; nothing of it where there
    would be none."""
    parts, part = choice.parts[:index], choice.parts[index]
    if size > 0:
        parts = (*parts, _shortened(part, size))
    if choice.chunks is None:
        return replace(choice, parts=parts)
    chunks = [chunk for chunk in choice.chunks if chunk.part < index]
    for chunk in choice.chunks:
        if chunk.part == index and size > 0:
            chunks.append(Chunk(index, chunk.text[:size]))
            size -= len(chunk.text)
    return replace(choice, parts=parts, chunks=tuple(chunks))


def _shortened(part: AnswerPart, size: int) -> AnswerPart:
    if isinstance(part, ToolCallPart):
        return replace(part, arguments=part.arguments[:size])
    assert isinstance(part, TextPart | ReasoningPart)
    return replace(part, text=part.text[:size])
