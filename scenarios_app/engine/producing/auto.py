"""Makes an answer that the request can accept: a tool call with valid arguments, JSON that meets
the schema, or lorem; cut at the request's limits."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    ErrorAnswer,
    JsonFormat,
    Tool,
    compact_json,
)
from scenarios_app.engine.parts import (
    Chunk,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    produced_text,
)
from scenarios_app.engine.producing.lorem import lorem_answer, make_lorem
from scenarios_app.engine.producing.usage import CHARACTERS_PER_TOKEN
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice
from scenarios_app.engine.schemas.instance import make_instance
from scenarios_app.engine.schemas.keywords import References, SchemaError

_JSON_CHUNK = 12
_CUSTOM_WORDS = 5
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|[0-9]+|[^\W_]+")
# Common words that do not describe a tool.
_COMMON = frozenset(
    _WORD.findall(
        "a an and are as at be by can do for from get has have how i if in is it me my of on or "
        "please that the this to use using what when where which who with you your"
    )
)


def auto_answer(request: CanonicalRequest) -> ScriptedAnswer | ErrorAnswer:
    """Return an answer for a request, cut at its `max_tokens` and `stop`; a 400 error if its tool
    choice or one of its schemas cannot be met."""
    try:
        choice = _make_choice(request)
    except _InvalidRequest as refused:
        return ErrorAnswer(400, str(refused), param=refused.place)
    return ScriptedAnswer((cut_answer(choice, max_tokens=request.max_tokens, stop=request.stop),))


class _InvalidRequest(Exception):
    """The request cannot be met; `place` is the parameter that causes it."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.place = place


def _make_choice(request: CanonicalRequest) -> ScriptedChoice:
    """Return a tool call, else JSON if the request has a JSON format, else lorem; raises
    _InvalidRequest, also for an unresolvable reference in the schema of any function."""
    for tool in request.tools:
        if tool.kind == "function" and isinstance(tool.schema, dict):
            # Its references are resolved even if it is not called.
            with _refusing_schema(f"function '{tool.name}'", "tools"):
                References(tool.schema).check()
    if (tool_called := _choose_tool(request)) is not None:
        return ScriptedChoice((_make_call(tool_called, request.last_user_text),))
    if request.json is not None:
        text = _make_json(request.json, request.last_user_text)
        pieces = range(0, len(text), _JSON_CHUNK)
        chunks = tuple(Chunk(0, text[at : at + _JSON_CHUNK]) for at in pieces)
        return ScriptedChoice((TextPart(text),), chunks or None)
    (choice,) = lorem_answer(request.last_user_text).choices
    return choice


def _choose_tool(request: CanonicalRequest) -> Tool | None:
    """Return the client's tool to call: of those not called since the last user message, else of
    all, the one that fits it best.

    Returns None without such a tool, if calls are forbidden, or if they are optional and the
    question is not new. Raises _InvalidRequest for a tool choice without its tool.
    """
    choice = request.choice
    if choice.mode == "none":
        return None
    for name in choice.names:
        if all(tool.name != name for tool in request.tools):
            raise _InvalidRequest(
                f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice"
            )
    if choice.mode == "required" and not request.tools:
        raise _InvalidRequest(
            "'tool_choice' is only allowed when 'tools' are specified.", "tool_choice"
        )
    tools = [
        tool
        for tool in request.tools
        if tool.kind != "hosted" and (not choice.names or tool.name in choice.names)
    ]
    if choice.mode == "auto" and not _is_new_question(request):
        return None
    called = _called_tools(request)
    fresh = [tool for tool in tools if tool.name not in called]
    return _find_best_tool(fresh or tools, request.last_user_text)


def _is_new_question(request: CanonicalRequest) -> bool:
    """Return False if the last message is the assistant's, or if tool results came after the last
    assistant message; else True."""
    others = [message.role for message in request.messages if message.role in ("assistant", "tool")]
    last = request.messages[-1].role if request.messages else "user"
    return last != "assistant" and (not others or others[-1] == "assistant")


def _called_tools(request: CanonicalRequest) -> set[str]:
    """Return the names of the tools called since the last user message."""
    names: set[str] = set()
    for message in request.messages:
        if message.role == "user":
            names.clear()
        names |= {part.name for part in message.parts if isinstance(part, ToolCallPart)}
    return names


def _find_best_tool(tools: Sequence[Tool], message: str) -> Tool | None:
    """Return the tool that fits a message best, the first of equals; None without tools."""
    message_words = _singular_words(message)

    def score(tool: Tool) -> tuple[bool, int, int]:
        """Return how well a tool fits: if the message has its full name, the words shared with its
        name (twice) and description, and those shared with its name."""
        named = message_words & _singular_words(tool.name)
        described = message_words & _singular_words(tool.description)
        return tool.name in message, 2 * len(named) + len(described), len(named)

    return max(tools, key=score, default=None)


def _singular_words(text: str) -> set[str]:
    """Return the words of a text or name in lower case, without a plural's "s" and common words."""
    words = {word.casefold() for word in _WORD.findall(text)} - _COMMON
    return {word.removesuffix("s") if len(word) > 3 else word for word in words}


def _make_call(tool: Tool, key: str) -> ToolCallPart:
    """Return a call, without an id, whose arguments fit the tool's schema and derive from `key`.
    Raises _InvalidRequest if nothing fits."""
    if tool.kind == "custom":
        text = _make_custom_input(tool, key)
        return ToolCallPart("", tool.name, text, custom=True, namespace=tool.namespace)
    schema = {} if tool.schema is None else tool.schema
    with _refusing_schema(f"function '{tool.name}'", "tools"):
        arguments = make_instance(schema, key, {"type": "object"})
    return ToolCallPart("", tool.name, compact_json(arguments), namespace=tool.namespace)


def _make_custom_input(tool: Tool, key: str) -> str:
    """Return the input of a custom tool, derived from `key`: a text of its grammar if that is a
    regex, else lorem. Raises _InvalidRequest for a regex that no text can be made for."""
    match tool.schema:
        case {"grammar": {"syntax": "regex", "definition": str(pattern)}} | {
            "syntax": "regex",
            "definition": str(pattern),
        }:
            with _refusing_schema(f"tool '{tool.name}'", "tools"):
                return str(make_instance({"type": "string", "pattern": pattern}, key))
        case _:
            return make_lorem(key, _CUSTOM_WORDS)


def _make_json(wanted: JsonFormat, key: str) -> str:
    """Return JSON, or a bare string, that fits the wanted schema and derives from `key`. Raises
    _InvalidRequest if nothing fits."""
    with _refusing_schema(wanted.place, wanted.place):
        value = make_instance(wanted.schema, key)
    return value if wanted.bare and isinstance(value, str) else compact_json(value)


@contextmanager
def _refusing_schema(schema_name: str, place: str) -> Iterator[None]:
    """Raise _InvalidRequest of `place`, with the schema's name, if the body raises SchemaError."""
    try:
        yield
    except SchemaError as error:
        context = ", ".join(map(repr, error.path)) + ("," if len(error.path) == 1 else "")
        message = f"Invalid schema for {schema_name}: In context=({context}), {error.message}"
        raise _InvalidRequest(message, place) from None


def cut_answer(
    choice: ScriptedChoice, *, max_tokens: int | None, stop: Sequence[str]
) -> ScriptedChoice:
    """Return the choice cut at a stop sequence or after `max_tokens`, if that comes first, with
    the finish reason; unchanged if it reaches neither."""
    stopped = _cut_at_stop(choice, stop)
    return stopped if max_tokens is None else _cut_at_limit(stopped, max(0, max_tokens))


def _cut_at_stop(choice: ScriptedChoice, stop: Sequence[str]) -> ScriptedChoice:
    """Return the choice up to the first stop sequence in its text parts, with finish reason
    `stop_sequence`, else unchanged."""
    wanted = [sequence for sequence in stop if sequence]
    for index, part in enumerate(choice.parts):
        text = part.text if isinstance(part, TextPart) else ""
        if hits := [(text.find(sequence), sequence) for sequence in wanted if sequence in text]:
            at, sequence = min(hits)
            shorter = _keep_up_to(choice, index, at)
            return replace(shorter, finish_reason="stop_sequence", stop_sequence=sequence)
    return choice


def _cut_at_limit(choice: ScriptedChoice, tokens: int) -> ScriptedChoice:
    """Return the choice cut after this many tokens, with finish reason `length`, else unchanged."""
    left = tokens * CHARACTERS_PER_TOKEN
    for index, part in enumerate(choice.parts):
        size = len(produced_text(part))
        if size > left:
            at = left - len(part.name) if isinstance(part, ToolCallPart) else left
            shorter = _keep_up_to(choice, index, at)
            return replace(shorter, finish_reason="length", stop_sequence=None)
        left -= size
    return choice


def _keep_up_to(choice: ScriptedChoice, index: int, size: int) -> ScriptedChoice:
    """Return the choice with the parts before `index` and the first `size` characters of that part,
    a call's arguments; without that part if `size` is below 1. Its chunks are cut likewise."""
    parts, part = choice.parts[:index], choice.parts[index]
    if size > 0 and isinstance(part, ToolCallPart):
        parts = (*parts, replace(part, arguments=part.arguments[:size]))
    elif size > 0:
        assert isinstance(part, TextPart | ReasoningPart)
        parts = (*parts, replace(part, text=part.text[:size]))
    if choice.chunks is None:
        return replace(choice, parts=parts)
    chunks = [chunk for chunk in choice.chunks if chunk.part < index]
    for chunk in choice.chunks:
        if chunk.part == index and size > 0:
            chunks.append(Chunk(index, chunk.text[:size]))
            size -= len(chunk.text)
    return replace(choice, parts=parts, chunks=tuple(chunks))
