"""Collects the parts of one model call, as the next prompt needs them."""

from dataclasses import dataclass

from chat_app.values.events import ToolCall
from chat_app.values.model_call import AssistantPart, TextPart, ThinkingPart
from chat_app.values.text import SurrogateJoiner, WhitespaceTrimmer, clean, clean_json


@dataclass(frozen=True, slots=True)
class Round:
    """The answer of one model call: its parts in order, and the tool calls among them."""

    parts: tuple[AssistantPart, ...] = ()
    calls: tuple[ToolCall, ...] = ()


class OpenCall:
    """A tool call whose arguments are being streamed."""

    def __init__(self, call_id: str, name: str) -> None:
        self.id = call_id
        self.name = name
        self._characters = SurrogateJoiner()
        self._arguments: list[str] = []

    def extend(self, piece: str) -> str:
        """Append a piece of the arguments; return it cleaned."""
        text = clean_json(self._characters.feed(piece))
        self._arguments.append(text)
        return text

    def to_part(self) -> ToolCall:
        """Return the call; missing arguments become an empty object."""
        arguments = "".join(self._arguments)
        return ToolCall(self.id, self.name, arguments if arguments.strip() else "{}")


class OpenText:
    """Text that is being streamed."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def to_part(self) -> TextPart:
        return TextPart("".join(self.pieces))


class OpenThinking:
    """Thinking that is being streamed; `native` if the provider sends it apart from the text."""

    def __init__(self, *, native: bool) -> None:
        self.native = native
        self.pieces: list[str] = []
        self.signature = ""
        self.redacted = ""

    @property
    def is_closed(self) -> bool:
        """True if its signature or its redacted form is known: more thinking is a new part."""
        return bool(self.signature or self.redacted)

    def to_part(self) -> ThinkingPart:
        """Return the thinking; a signed one unchanged, since its provider checks the signature."""
        text = "".join(self.pieces)
        if not self.signature:
            text = clean(text).strip()
        return ThinkingPart(text, self.signature, self.redacted)


class OpenRound:
    """The parts of a round that is being streamed."""

    def __init__(self) -> None:
        self._parts: list[OpenText | OpenThinking | OpenCall] = []
        self._edges = WhitespaceTrimmer()

    def add_text(self, text: str) -> None:
        if not (solid := self._edges.feed(text)):
            return
        if not self._parts or not isinstance(last := self._parts[-1], OpenText):
            self._parts.append(last := OpenText())
        last.pieces.append(solid)

    def add_thinking(
        self, text: str, *, native: bool = False, signature: str = "", redacted: str = ""
    ) -> None:
        """Append thinking to the last part; begin a new one if that is closed or differs."""
        last = self._parts[-1] if self._parts else None
        if (
            not isinstance(last, OpenThinking)
            or last.is_closed
            or last.native is not native
            or redacted
        ):
            self._parts.append(last := OpenThinking(native=native))
        last.pieces.append(text)
        last.signature, last.redacted = signature, redacted

    def begin_call(self, call: OpenCall) -> None:
        self._parts.append(call)

    def close(self) -> Round:
        """Return the round, without empty thinking, whose tags some models send."""
        parts: list[AssistantPart] = []
        for part in (opened.to_part() for opened in self._parts):
            match part, parts[-1:]:
                case ThinkingPart("", "", ""), _:
                    continue
                case TextPart(text), [TextPart(before)]:
                    parts[-1] = TextPart(before + text)
                case _:
                    parts.append(part)
        return Round(tuple(parts), tuple(part for part in parts if isinstance(part, ToolCall)))
