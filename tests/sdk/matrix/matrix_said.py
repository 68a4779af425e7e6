"""What was scripted and what a client was told, in one form for all wires, so that the two can be
compared."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

FailureKind: TypeAlias = Literal["status", "connection", "unreadable", "in the stream"]


@dataclass(frozen=True)
class Thought:
    text: str
    signature: str | None = None
    redacted: str | None = None


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Call:
    """`arguments` is the value that their JSON has, or the text itself where it is no JSON. An `id`
    of None is one that the server gives, whichever; an empty one is none."""

    name: str
    arguments: Any
    id: str | None = ""


@dataclass(frozen=True)
class Refusal:
    text: str


Part: TypeAlias = Thought | Text | Call | Refusal
KINDS: tuple[type[Part], ...] = (Thought, Text, Call, Refusal)


@dataclass(frozen=True)
class Said:
    """One message, or one of several choices. Without `finish` it is not known to be over."""

    parts: tuple[Part, ...]
    finish: str | None = "stop"
    stop: str | None = None


@dataclass(frozen=True)
class Usage:
    """Token counts; thoughts are part of the output and what was cached of the input. `None` is a
    count that is not told."""

    input: int | None
    output: int | None
    reasoning: int | None = None
    cached: int | None = None


@dataclass(frozen=True)
class Failure:
    """What the client raised. `retry_ms` is how long it was told to wait."""

    kind: FailureKind
    status: int | None = None
    message: str | None = None
    retry_ms: int | None = None


@dataclass(frozen=True)
class Outcome:
    """All that a client got. `pieces` are the texts of a stream as they came."""

    messages: tuple[Said, ...] = ()
    usage: Usage | None = None
    pieces: tuple[str, ...] = ()
    failure: Failure | None = None


@dataclass
class Hearing:
    """An answer on its way in. Pieces of the same kind that follow each other are one part."""

    _parts: dict[int, list[Part]] = field(default_factory=dict)
    _calls: dict[tuple[int, object], int] = field(default_factory=dict)
    _ends: dict[int, tuple[str | None, str | None]] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    usage: Usage | None = None

    def text(self, piece: str | None, choice: int = 0) -> None:
        if piece:
            self.pieces.append(piece)
            self._more(choice, Text(piece))

    def thought(
        self,
        piece: str | None,
        choice: int = 0,
        *,
        signature: str | None = None,
        redacted: str | None = None,
    ) -> None:
        if piece or signature or redacted:
            self._more(choice, Thought(piece or "", signature, redacted))

    def refusal(self, piece: str | None, choice: int = 0) -> None:
        if piece:
            self._more(choice, Refusal(piece))

    def call(
        self, key: object, arguments: Any, choice: int = 0, *, name: str = "", id: str = ""
    ) -> None:
        """A call, or more of the arguments of the one that has this key."""
        parts = self._parts.setdefault(choice, [])
        at = self._calls.get((choice, key))
        if at is None:
            self._calls[choice, key] = len(parts)
            parts.append(Call(name, arguments, id))
            return
        begun = parts[at]
        assert isinstance(begun, Call)
        parts[at] = replace(begun, arguments=begun.arguments + arguments)

    def end(self, reason: str | None, choice: int = 0, *, stop: str | None = None) -> None:
        self._parts.setdefault(choice, [])
        if reason:
            self._ends[choice] = reason, stop

    def said(self) -> tuple[Said, ...]:
        return tuple(
            Said(tuple(map(_decoded, parts)), *self._ends.get(choice, (None, None)))
            for choice, parts in sorted(self._parts.items())
        )

    def _more(self, choice: int, piece: Part) -> None:
        parts = self._parts.setdefault(choice, [])
        parts[:] = merged([*parts, piece])


def merged(parts: Iterable[Part]) -> list[Part]:
    """Parts with those joined that follow each other and are of one kind, calls excepted."""
    found: list[Part] = []
    for part in parts:
        last = found[-1] if found else None
        match last, part:
            case Thought(), Thought():
                found[-1] = Thought(
                    last.text + part.text,
                    part.signature or last.signature,
                    part.redacted or last.redacted,
                )
            case (Text(), Text()) | (Refusal(), Refusal()):
                found[-1] = replace(last, text=last.text + part.text)
            case _:
                found.append(part)
    return found


def by_kind(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Thoughts, texts, calls and refusals, each kind together."""
    return tuple(merged(sorted(parts, key=lambda part: KINDS.index(type(part)))))


def _decoded(part: Part) -> Part:
    """A part as it is meant: a thought that is nothing but its signature is an encrypted one."""
    if isinstance(part, Thought) and not part.text:
        return Thought("", redacted=part.redacted or part.signature)
    if not isinstance(part, Call) or not isinstance(part.arguments, str):
        return part
    try:
        return replace(part, arguments=json.loads(part.arguments))
    except json.JSONDecodeError:
        return part
