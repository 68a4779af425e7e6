"""Messages, usage and failures in one form for all wires, to compare a script with a response."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

FailureKind: TypeAlias = Literal["status", "connection", "unreadable", "in the stream"]


@dataclass(frozen=True)
class Reasoning:
    text: str
    signature: str | None = None
    redacted: str | None = None


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Call:
    """A tool call.

    `arguments` is the parsed JSON, or the text if it is not JSON. An `id` of None stands for any
    id that the server generates; an empty one means that there is none.
    """

    name: str
    arguments: Any
    id: str | None = ""


@dataclass(frozen=True)
class Refusal:
    text: str


Part: TypeAlias = Reasoning | Text | Call | Refusal
KINDS: tuple[type[Part], ...] = (Reasoning, Text, Call, Refusal)


@dataclass(frozen=True)
class Message:
    """One message, or one of several choices. `finish` is None if the stream broke off."""

    parts: tuple[Part, ...]
    finish: str | None = "stop"
    stop: str | None = None


@dataclass(frozen=True)
class Usage:
    """Token counts; None if the API does not report one.

    Reasoning tokens are part of the output, cached tokens of the input.
    """

    input: int | None
    output: int | None
    reasoning: int | None = None
    cached: int | None = None


@dataclass(frozen=True)
class Failure:
    """An exception of the client. `retry_ms` is the delay that the response asked for."""

    kind: FailureKind
    status: int | None = None
    message: str | None = None
    retry_ms: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The messages and the failure of a request. `pieces` are the text deltas of a stream."""

    messages: tuple[Message, ...] = ()
    usage: Usage | None = None
    pieces: tuple[str, ...] = ()
    failure: Failure | None = None


@dataclass
class ResponseCollector:
    """Collects a response; consecutive pieces of the same kind are joined into one part."""

    _parts: dict[int, list[Part]] = field(default_factory=dict)
    _calls: dict[tuple[int, object], int] = field(default_factory=dict)
    _ends: dict[int, tuple[str | None, str | None]] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    usage: Usage | None = None

    def add_text(self, piece: str | None, choice: int = 0) -> None:
        if piece:
            self.pieces.append(piece)
            self._append(choice, Text(piece))

    def add_reasoning(
        self,
        piece: str | None,
        choice: int = 0,
        *,
        signature: str | None = None,
        redacted: str | None = None,
    ) -> None:
        if piece or signature or redacted:
            self._append(choice, Reasoning(piece or "", signature, redacted))

    def add_refusal(self, piece: str | None, choice: int = 0) -> None:
        if piece:
            self._append(choice, Refusal(piece))

    def add_call(
        self, key: object, arguments: Any, choice: int = 0, *, name: str = "", id: str = ""
    ) -> None:
        """Add a call, or append to the arguments of the call with this key."""
        parts = self._parts.setdefault(choice, [])
        position = self._calls.get((choice, key))
        if position is None:
            self._calls[choice, key] = len(parts)
            parts.append(Call(name, arguments, id))
            return
        call = parts[position]
        assert isinstance(call, Call)
        parts[position] = replace(call, arguments=call.arguments + arguments)

    def set_finish(self, reason: str | None, choice: int = 0, *, stop: str | None = None) -> None:
        self._parts.setdefault(choice, [])
        if reason:
            self._ends[choice] = reason, stop

    def messages(self) -> tuple[Message, ...]:
        return tuple(
            Message(tuple(map(_decode_part, parts)), *self._ends.get(choice, (None, None)))
            for choice, parts in sorted(self._parts.items())
        )

    def _append(self, choice: int, piece: Part) -> None:
        parts = self._parts.setdefault(choice, [])
        parts[:] = merge_parts([*parts, piece])


def merge_parts(parts: Iterable[Part]) -> list[Part]:
    """Join consecutive parts of the same kind, except calls."""
    merged_parts: list[Part] = []
    for part in parts:
        last = merged_parts[-1] if merged_parts else None
        match last, part:
            case Reasoning(), Reasoning():
                merged_parts[-1] = Reasoning(
                    last.text + part.text,
                    part.signature or last.signature,
                    part.redacted or last.redacted,
                )
            case (Text(), Text()) | (Refusal(), Refusal()):
                merged_parts[-1] = replace(last, text=last.text + part.text)
            case _:
                merged_parts.append(part)
    return merged_parts


def sort_by_kind(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return reasoning, texts, calls and refusals in this order, each kind joined."""
    return tuple(merge_parts(sorted(parts, key=lambda part: KINDS.index(type(part)))))


def _decode_part(part: Part) -> Part:
    """Parse the arguments of a call; make reasoning that has only a signature encrypted."""
    if isinstance(part, Reasoning) and not part.text:
        return Reasoning("", redacted=part.redacted or part.signature)
    if not isinstance(part, Call) or not isinstance(part.arguments, str):
        return part
    try:
        return replace(part, arguments=json.loads(part.arguments))
    except json.JSONDecodeError:
        return part
