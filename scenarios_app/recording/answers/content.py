"""What an answer said, whichever provider's it was: its parts in order, why it ended, its tokens;
and that as the `produce` of a step."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scenarios_app.engine.canonical import Json

_ORDER: Final = ("reasoning", "text", "tool_call", "refusal")


@dataclass(slots=True)
class Content:
    """One choice. `parts` are as a document lists them; `lost` names what a document cannot say."""

    parts: list[dict[str, Json]] = field(default_factory=list)
    finish: str = ""
    stop_sequence: str | None = None
    lost: set[str] = field(default_factory=set)

    def text(self, text: object) -> None:
        """More text; it goes on with the text before it."""
        self._prose("text", text)

    def refusal(self, text: object) -> None:
        self._prose("refusal", text)

    def reasoning(self, text: object, *, signature: object = None, redacted: object = None) -> None:
        """A block of thinking."""
        part: dict[str, Json] = {}
        if isinstance(text, str) and text:
            part["reasoning"] = text
        if isinstance(signature, str) and signature:
            part["signature"] = signature
            part.setdefault("reasoning", "")
        if isinstance(redacted, str) and redacted:
            part["redacted"] = redacted
        if part:
            self.parts.append(part)

    def call(
        self, name: object, arguments: object, *, id: object = None, result: Json = None
    ) -> None:
        """A tool call; arguments that are text are read where they are an object. `result` is what
        the tool gave back, as a document has it."""
        call: dict[str, Json] = {}
        if isinstance(id, str) and id:
            call["id"] = id
        call["name"] = str(name or "unnamed")
        if (read := _arguments(arguments)) != {}:
            call["arguments"] = read
        if result is not None:
            call["result"] = result
        self.parts.append({"tool_call": call})

    def _prose(self, kind: str, text: object) -> None:
        if not isinstance(text, str) or not text:
            return
        last = self.parts[-1] if self.parts else {}
        if kind in last:
            last[kind] = f"{last[kind]}{text}"
        else:
            self.parts.append({kind: text})

    def document(self) -> dict[str, Any]:
        """The answer as a choice of a document holds it: each kind under its key, or where they
        come in another order as a list of parts."""
        kinds = [next(kind for kind in _ORDER if _has(part, kind)) for part in self.parts]
        places = [_ORDER.index(kind) for kind in kinds]
        alone = kinds.count("text") <= 1 and kinds.count("refusal") <= 1
        said: dict[str, Any] = {}
        if not self.parts:
            said["text"] = ""
        elif places == sorted(places) and alone:
            said |= _listed(self.parts, kinds)
        else:
            said["parts"] = self.parts
        usual = "tool_calls" if "tool_call" in kinds else "stop"
        if self.finish and self.finish != usual:
            said["finish_reason"] = self.finish
        if self.finish == "stop_sequence" and self.stop_sequence:
            said["stop_sequence"] = self.stop_sequence
        return said


@dataclass(frozen=True, slots=True)
class Said:
    """A whole answer: its choices, and what it counted under the names of documents."""

    choices: tuple[Content, ...]
    usage: Mapping[str, Json] = field(default_factory=dict)

    @property
    def lost(self) -> tuple[str, ...]:
        return tuple(sorted({name for choice in self.choices for name in choice.lost}))

    def document(self) -> dict[str, Any]:
        """The answer as a step produces it."""
        written = [choice.document() for choice in self.choices]
        said: dict[str, Any] = written[0] if len(written) == 1 else {"choices": written}
        usage = {name: count for name, count in self.usage.items() if _is_count(count)}
        return {**said, "usage": usage} if usage else said


def events_of(body: bytes) -> list[Any]:
    """The JSON values of a stream: of its `data:` lines, of its lines, or of the list it is."""
    text = body.decode("utf-8", "replace")
    if text.lstrip().startswith("["):
        value = loaded(text)
        return value if isinstance(value, list) else []
    # Python would also take other characters for line ends that may stand within JSON.
    lines = text.replace("\r\n", "\n").split("\n")
    found = (loaded(line.removeprefix("data:")) for line in lines)
    return [value for value in found if isinstance(value, dict)]


def loaded(text: str | bytes) -> Any:
    """JSON, None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def objects(value: Any) -> Iterable[dict[str, Any]]:
    """The objects of a list, nothing of what is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def within(value: Any, *keys: str) -> Any:
    """What stands in objects within objects, None where something is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _arguments(arguments: object) -> Json:
    if isinstance(arguments, str):
        value = loaded(arguments) if arguments.strip() else {}
        return value if isinstance(value, dict) else arguments
    return arguments if isinstance(arguments, dict | list) else {}


def _has(part: Mapping[str, Json], kind: str) -> bool:
    return kind in part or (kind == "reasoning" and "redacted" in part)


def _listed(parts: list[dict[str, Json]], kinds: list[str]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    thoughts = [
        {"text" if key == "reasoning" else key: value for key, value in part.items()}
        for part, kind in zip(parts, kinds, strict=True)
        if kind == "reasoning"
    ]
    if thoughts:
        said["reasoning"] = thoughts
    for part, kind in zip(parts, kinds, strict=True):
        if kind in ("text", "refusal"):
            said[kind] = part[kind]
        elif kind == "tool_call":
            said.setdefault("tool_calls", []).append(part[kind])
    return said


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
