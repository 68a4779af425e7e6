"""The registry of tools: their shapes, hints and texts, and how a call is checked and its result
cut."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rest_framework.renderers import JSONRenderer

from mockllm_site.kit.api.shapes import Shape
from scenarios_app.control.kit import SessionQuery, answer_error

Fields: TypeAlias = Mapping[str, Any]
Hints: TypeAlias = Mapping[str, bool]

# Longer texts in results are cut; bodies are read on by `offset`.
MAX_TEXT_CHARS: Final = 2_000


class ToolFailed(Exception):
    """A call that failed; the message says what to correct."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call: JSON of the tool's output schema, and a text that says what is next."""

    data: Any
    text: str


Run: TypeAlias = Callable[[Fields], ToolResult]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool: its texts, shapes, function and hints."""

    name: str
    description: str
    arguments: type[Shape]
    result: type[Shape]
    run: Run
    hints: Hints


def tool_of(
    tools: dict[str, ToolSpec],
    name: str,
    hints: Hints,
    result: type[Shape] | Mapping[str, Any],
    base: type[Shape] = SessionQuery,
    /,
    **arguments: Any,
) -> Callable[[Run], Run]:
    """Return a decorator that adds a function to `tools`, with its docstring as the description.
    `arguments` are fields beside those of `base`; `result` is a shape or its fields."""

    def register(run: Run) -> Run:
        """Add a tool; return its function unchanged."""
        shape = type(f"{name}_arguments", (base,), arguments)
        output = (
            type(f"{name}_result", (Shape,), {**result}) if isinstance(result, Mapping) else result
        )
        text = " ".join((run.__doc__ or "").split())
        tools[name] = ToolSpec(name, text, shape, output, run, hints)
        return run

    return register


def call_tool(spec: ToolSpec, arguments: Fields) -> ToolResult:
    """Validate the arguments and run a tool; raises ToolFailed with the REST API's message."""
    # Some clients send null for what they leave out.
    shape = spec.arguments(
        data={key: value for key, value in arguments.items() if value is not None}
    )
    try:
        shape.is_valid(raise_exception=True)
        result = spec.run(shape.validated_data)
    except Exception as error:
        raise ToolFailed(json.loads(answer_error(error, {}).content)["message"]) from None
    # Through the API's renderer, which knows dates and ids.
    return ToolResult(json.loads(JSONRenderer().render(result.data)), result.text)


def cut(value: Any) -> Any:
    """Return a JSON value with its long texts cut."""
    match value:
        case str() if len(value) > MAX_TEXT_CHARS:
            return f"{value[:MAX_TEXT_CHARS]}… [cut, {len(value):,} characters]"
        case dict():
            return {key: cut(inner) for key, inner in value.items()}
        case list() | tuple():
            return [cut(inner) for inner in value]
    return value


def cut_lists(body: Mapping[str, Any], entries: int, *names: str) -> dict[str, Any]:
    """Return a body with the first entries of these lists, its long texts cut, and `left_out`."""
    left_out = sum(max(0, len(body[name]) - entries) for name in names)
    shorter = {name: body[name][:entries] for name in names}
    return {**cut({**body, **shorter}), "left_out": left_out}
