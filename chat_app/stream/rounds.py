"""What one model call of an answer came to, in the form in which the next prompt needs it."""

from dataclasses import dataclass

from chat_app.values.events import ToolCall
from chat_app.values.model_call import AssistantPart, Text, Thinking
from chat_app.values.text import Characters, Edges, clean, clean_json


@dataclass(frozen=True, slots=True)
class Round:
    """One model call's answer: its parts in true order, and the calls among them."""

    parts: tuple[AssistantPart, ...] = ()
    calls: tuple[ToolCall, ...] = ()


class OpenCall:
    """A call whose arguments are still coming."""

    def __init__(self, call_id: str, name: str) -> None:
        self.id = call_id
        self.name = name
        self._characters = Characters()
        self._arguments: list[str] = []

    def extend(self, piece: str) -> str:
        """What of the piece belongs to the arguments."""
        text = clean_json(self._characters.feed(piece))
        self._arguments.append(text)
        return text

    def part(self) -> ToolCall:
        """No arguments at all are an empty object."""
        arguments = "".join(self._arguments)
        return ToolCall(self.id, self.name, arguments if arguments.strip() else "{}")


class OpenText:
    def __init__(self) -> None:
        self.pieces: list[str] = []

    def part(self) -> Text:
        return Text("".join(self.pieces))


class OpenThinking:
    """Thinking; `native` is that of a provider which keeps it apart from the text."""

    def __init__(self, *, native: bool) -> None:
        self.native = native
        self.pieces: list[str] = []
        self.signature = ""
        self.redacted = ""

    @property
    def closed(self) -> bool:
        return bool(self.signature or self.redacted)

    def part(self) -> Thinking:
        """A signed text is left to the letter: its provider checks it against the signature."""
        text = "".join(self.pieces)
        if not self.signature:
            text = clean(text).strip()
        return Thinking(text, self.signature, self.redacted)


class OpenRound:
    """The parts of a round while they come."""

    def __init__(self) -> None:
        self._parts: list[OpenText | OpenThinking | OpenCall] = []
        self._edges = Edges()

    def say(self, text: str) -> None:
        if not (solid := self._edges.feed(text)):
            return
        if not self._parts or not isinstance(last := self._parts[-1], OpenText):
            self._parts.append(last := OpenText())
        last.pieces.append(solid)

    def think(
        self, text: str, *, native: bool = False, signature: str = "", redacted: str = ""
    ) -> None:
        last = self._parts[-1] if self._parts else None
        if (
            not isinstance(last, OpenThinking)
            or last.closed
            or last.native is not native
            or redacted
        ):
            self._parts.append(last := OpenThinking(native=native))
        last.pieces.append(text)
        last.signature, last.redacted = signature, redacted

    def begin_call(self, call: OpenCall) -> None:
        self._parts.append(call)

    def close(self) -> Round:
        """Empty thinking is left out: some models send its tags around nothing."""
        kept: list[OpenText | OpenThinking | OpenCall] = []
        for part in self._parts:
            if isinstance(part, OpenThinking) and part.part() == Thinking():
                continue
            if isinstance(part, OpenText) and kept and isinstance(last := kept[-1], OpenText):
                last.pieces += part.pieces
            else:
                kept.append(part)
        parts = tuple(part.part() for part in kept)
        return Round(parts, tuple(part for part in parts if isinstance(part, ToolCall)))
