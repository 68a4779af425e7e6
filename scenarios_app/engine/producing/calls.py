"""Fits the calls of an answer to the tools that the request offers."""

from collections.abc import Sequence

from msgspec.structs import replace

from scenarios_app.engine.canonical import Choice, Tool, compact_json
from scenarios_app.engine.parts import INPUT, Chunk, ToolCallPart


def fit_calls(choice: Choice, tools: Sequence[Tool], *, custom_tools: bool) -> Choice:
    """Return a choice whose calls have the kind and the namespace of the offered tools.

    A call of a tool that is not offered keeps its kind if the API has `custom_tools`. An input that
    becomes a function's is its argument `input`.
    """
    parts, chunks = list(choice.parts), choice.chunks
    for number, part in enumerate(parts):
        if isinstance(part, ToolCallPart):
            parts[number] = call = _fit_call(part, tools, custom_tools=custom_tools)
            if part.custom and not call.custom and chunks is not None:
                chunks = _quote_chunks(chunks, number)
    return replace(choice, parts=tuple(parts), chunks=chunks)


def find_tool(call: ToolCallPart, tools: Sequence[Tool]) -> Tool | None:
    """Return the first offered tool that a call names, which the client runs, or None."""
    for tool in tools:
        is_named = tool.name == call.name and call.namespace in ("", tool.namespace)
        if is_named and tool.kind != "hosted":
            return tool
    return None


def _fit_call(call: ToolCallPart, tools: Sequence[Tool], *, custom_tools: bool) -> ToolCallPart:
    """Return the call in the form, JSON or text, that the offered tool of its name takes."""
    tool = find_tool(call, tools)
    custom = call.custom and custom_tools
    if tool is not None:
        custom = tool.kind == "custom"
        call = replace(call, namespace=tool.namespace)
    text = call.arguments
    if call.custom and not custom:
        text = compact_json({INPUT: text})
    return replace(call, custom=custom, arguments=text)


def _quote_chunks(chunks: Sequence[Chunk], part: int) -> tuple[Chunk, ...]:
    """Return chunks in which the input of a part is the text of JSON arguments."""
    quoted = list(chunks)
    numbers = [number for number, chunk in enumerate(chunks) if chunk.part == part]
    for number in numbers:
        before = f'{{"{INPUT}":"' if number == numbers[0] else ""
        after = '"}' if number == numbers[-1] else ""
        text = compact_json(chunks[number].text)[1:-1]
        quoted[number] = Chunk(part, f"{before}{text}{after}")
    return tuple(quoted)
