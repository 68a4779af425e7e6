"""Recorded responses decoded into the parts of a step's `produce`, which people can edit."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.problems import DocumentError

_ORDER: Final = ("reasoning", "text", "tool_call", "refusal", "hosted_tool")
_PRODUCE: Final = ("scenarios", 0, "steps", 0, "produce")
# Only lists of parts have these.
_NEEDS_PARTS: Final = frozenset({"citations", "hosted_tool"})


@dataclass(slots=True)
class DecodedChoice:
    """One choice. `parts` are those of a document; `lost` names fields that documents lack."""

    parts: list[dict[str, Json]] = field(default_factory=list)
    finish: str = ""
    stop_sequence: str | None = None
    lost: set[str] = field(default_factory=set)

    def add_text(self, text: object, citations: Sequence[Json] = ()) -> None:
        """Append text to a last part of text if both are uncited, else as a new part; ignore if
        empty."""
        if citations and isinstance(text, str) and text:
            self.parts.append({"text": text, "citations": list(citations)})
        else:
            self._append_text("text", text)

    def add_refusal(self, text: object) -> None:
        self._append_text("refusal", text)

    def add_reasoning(
        self, text: object, *, signature: object = None, redacted: object = None
    ) -> None:
        """Append a reasoning block, unless it is empty."""
        part = _nonempty_texts(reasoning=text, signature=signature)
        if "signature" in part:
            part.setdefault("reasoning", "")
        if part := part | _nonempty_texts(redacted=redacted):
            self.parts.append(part)

    def append_reasoning_text(self, text: object) -> None:
        """Append text to the last part if that is reasoning, else as a new block."""
        self._append_text("reasoning", text)

    def add_call(
        self,
        name: object,
        arguments: object,
        *,
        id: object = None,
        result: Json = None,
        custom: bool = False,
        namespace: object = None,
    ) -> None:
        """Append a tool call; arguments may be JSON text, and are the input if the tool is
        `custom`. `result` is that of the document."""
        call = _nonempty_texts(id=id) | {"name": str(name or "unnamed")}
        if custom:
            call["input"] = arguments if isinstance(arguments, str) else ""
        elif (read := _parse_arguments(arguments)) != {}:
            call["arguments"] = read
        call |= _nonempty_texts(namespace=namespace)
        if result is not None:
            call["result"] = result
        self.parts.append({"tool_call": call})

    def add_hosted(self, tool: str, input: Json, **keys: Json) -> None:
        """Append the use of a provider's tool; keys without a value are left out."""
        used = {key: value for key, value in keys.items() if value is not None}
        self.parts.append({"hosted_tool": {"tool": tool, "input": input, **used}})

    def _append_text(self, kind: str, text: object) -> None:
        """Append text to a last part of this kind without citations, else as a new part; ignore any
        other value and empty text."""
        if not isinstance(text, str) or not text:
            return
        last = self.parts[-1] if self.parts else {}
        if kind in last and "citations" not in last:
            last[kind] = f"{last[kind]}{text}"
        else:
            self.parts.append({kind: text})

    def to_produce(self) -> dict[str, Any]:
        """Return the choice as `produce`: parts by kind, or a list if their order is unusual."""
        kinds = [next(kind for kind in _ORDER if _is_of_kind(part, kind)) for part in self.parts]
        alone = kinds.count("text") <= 1 and kinds.count("refusal") <= 1
        alone = alone and not any(_NEEDS_PARTS & part.keys() for part in self.parts)
        produce: dict[str, Any] = {"parts": self.parts}
        if not self.parts:
            produce = {"text": ""}
        elif kinds == sorted(kinds, key=_ORDER.index) and alone:
            produce = _group_by_kind(self.parts, kinds)
        usual = "tool_calls" if "tool_call" in kinds else "stop"
        if self.finish and self.finish != usual:
            produce["finish_reason"] = self.finish
        if self.finish == "stop_sequence" and self.stop_sequence:
            produce["stop_sequence"] = self.stop_sequence
        return produce


@dataclass(frozen=True, slots=True)
class DecodedResponse:
    """A complete response: its choices, and its usage by the keys of documents. Usage that is no
    count is left out of the document."""

    choices: tuple[DecodedChoice, ...]
    usage: Mapping[str, Json] = field(default_factory=dict)

    @property
    def lost(self) -> tuple[str, ...]:
        """The names of fields that documents lack, from all choices, sorted."""
        return tuple(sorted({name for choice in self.choices for name in choice.lost}))

    def to_produce(self) -> dict[str, Any]:
        """Return the `produce` of a step."""
        choices = [choice.to_produce() for choice in self.choices]
        produce: dict[str, Any] = choices[0] if len(choices) == 1 else {"choices": choices}
        usage = {name: count for name, count in self.usage.items() if _is_count(count)}
        return {**produce, "usage": usage} if usage else produce


@dataclass(frozen=True, slots=True)
class ResponseDecoder:
    """Decodes the successful responses of an endpoint: a JSON body, or the values of a stream.

    Both return None for another format; they may raise for values that no provider sends.
    """

    body: Callable[[Any], DecodedResponse | None]
    stream: Callable[[list[Any]], DecodedResponse | None]

    def decode(self, body: bytes) -> DecodedResponse | None:
        """Return the decoded response. None for a format other than this endpoint's, and for values
        that documents cannot contain, such as NaN, half of a surrogate pair, or over 64 levels."""
        from scenarios_app.engine.document.json_text import to_plain_json

        value = parse_json(body)
        try:
            is_object = isinstance(value, dict)
            decoded = self.body(value) if is_object else self.stream(parse_events(body))
            if decoded is not None:
                to_plain_json(decoded.to_produce(), loc=_PRODUCE)
            return decoded
        except (AttributeError, KeyError, TypeError, ValueError, DocumentError):
            return None


def parse_events(body: bytes) -> list[dict[str, Any]]:
    """Return the JSON objects of a stream: SSE data, lines, or the items of one list. Anything else
    is left out."""
    text = body.decode("utf-8", "replace")
    if text.lstrip().startswith("["):
        return dict_items(parse_json(text))
    # `splitlines` would also split at characters that JSON strings may contain.
    lines = text.replace("\r\n", "\n").split("\n")
    values = (parse_json(line.removeprefix("data:")) for line in lines)
    return [value for value in values if isinstance(value, dict)]


def parse_json(text: str | bytes) -> Any:
    """Return the JSON value, or None if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def dict_items(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; an empty list if `value` is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def get_nested(value: Any, *keys: str) -> Any:
    """Return the value at these keys of nested objects, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _nonempty_texts(**values: object) -> dict[str, Json]:
    """Return those of the values that are texts and not empty."""
    return {key: value for key, value in values.items() if isinstance(value, str) and value}


def _parse_arguments(arguments: object) -> Json:
    """Return a call's arguments: parsed if they are the text of a JSON object, unchanged if they
    are another text, an object or a list, else empty."""
    if isinstance(arguments, str):
        value = parse_json(arguments) if arguments.strip() else {}
        return value if isinstance(value, dict) else arguments
    return arguments if isinstance(arguments, dict | list) else {}


def _is_of_kind(part: Mapping[str, Json], kind: str) -> bool:
    """Return whether a part is of this kind; redacted reasoning is reasoning."""
    return kind in part or (kind == "reasoning" and "redacted" in part)


def _group_by_kind(parts: list[dict[str, Json]], kinds: list[str]) -> dict[str, Any]:
    """Return parts under keys of `produce`: lists of reasoning and tool calls, and texts."""
    produce: dict[str, Any] = {}
    for part, kind in zip(parts, kinds, strict=True):
        if kind == "reasoning":
            block = {"text" if key == kind else key: value for key, value in part.items()}
            produce.setdefault("reasoning", []).append(block)
        elif kind == "tool_call":
            produce.setdefault("tool_calls", []).append(part[kind])
        else:
            produce[kind] = part[kind]
    return produce


def _is_count(value: object) -> bool:
    """Return whether a value is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
