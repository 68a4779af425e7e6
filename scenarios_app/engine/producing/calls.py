"""Fits the calls of an answer to the tools that the request offers."""

from collections.abc import Sequence

from msgspec.structs import replace

from scenarios_app.engine.canonical import Choice, Tool, compact_json
from scenarios_app.engine.parts import INPUT, Chunk, ToolCallPart


def fit_calls(choice: Choice, tools: Sequence[Tool], *, custom_tools: bool) -> Choice:
    """Return the choice with each call, and its scripted chunks, fitted to the tool that it names.

    The call gets the tool's namespace, and text or JSON as the tool takes. The text of a call that
    must be JSON becomes its argument `input`; JSON stays as it is. If no such tool is offered, a
    call with text stays so only if the API has `custom_tools`.
    """
    parts, chunks = list(choice.parts), choice.chunks
    for number, part in enumerate(parts):
        if isinstance(part, ToolCallPart):
            parts[number] = call = _fit_call(part, tools, custom_tools=custom_tools)
            if part.custom and not call.custom and chunks is not None:
                chunks = _quote_chunks(chunks, number)
    return replace(choice, parts=tuple(parts), chunks=chunks)


def _fit_call(call: ToolCallPart, tools: Sequence[Tool], *, custom_tools: bool) -> ToolCallPart:
    """Return the call fitted to the first offered tool that it names and that the client runs."""
    own = (tool for tool in tools if tool.name == call.name and tool.kind != "hosted")
    tool = next((tool for tool in own if call.namespace in ("", tool.namespace)), None)
    custom = call.custom and custom_tools
    if tool is not None:
        custom = tool.kind == "custom"
        call = replace(call, namespace=tool.namespace)
    text = call.arguments
    if call.custom and not custom:
        text = compact_json({INPUT: text})
    return replace(call, custom=custom, arguments=text)


def _quote_chunks(chunks: Sequence[Chunk], part: int) -> tuple[Chunk, ...]:
    """Return the chunks with those of one part, a text, turned into JSON: its argument `input`."""
    quoted = list(chunks)
    numbers = [number for number, chunk in enumerate(chunks) if chunk.part == part]
    for number in numbers:
        before = f'{{"{INPUT}":"' if number == numbers[0] else ""
        after = '"}' if number == numbers[-1] else ""
        text = compact_json(chunks[number].text)[1:-1]
        quoted[number] = Chunk(part, f"{before}{text}{after}")
    return tuple(quoted)
