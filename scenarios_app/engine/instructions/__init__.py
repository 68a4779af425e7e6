"""Answers that a request scripts itself, by an instruction block in its last user message."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.engine.instructions.json_reader import InstructionError, Item
from scenarios_app.engine.instructions.kinds import (
    Block,
    Calls,
    Lorem,
    Probe,
    Told,
    Verbatim,
    read_chain,
)
from scenarios_app.engine.instructions.probes import Received, probe_text
from scenarios_app.engine.parts import AnswerPart, Chunk, ReasoningPart, TextPart, held_text
from scenarios_app.engine.producing.lorem import digest, lorem, pieces
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice

START, END = "<|instruction_start|>", "<|instruction_end|>"
_COMPLETE = Block(
    place="",
    label="complete",
    wrap="",
    reasoning=None,
    messages=(Told("", Verbatim("Chain complete.")),),
    cancel_after_chunks=None,
)
_SPACE = re.compile(r"[ \t\n\r]*+")
# Editors and models write JSON into a fence of Markdown: "```json".
_FENCE = re.compile(r"(`{3,}+|~{3,}+)[ \t]*+(?:json)?[ \t]*+\r?\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Instructed:
    """The answer that a block asks for. `label` is the block's id, or its number from 1;
    `cancel_after_chunks` is where its stream breaks off, if it does."""

    label: str
    answer: ScriptedAnswer
    cancel_after_chunks: int | None = None


def instructed(
    request: CanonicalRequest, received: Callable[[], Received], *, max_text_bytes: int
) -> Instructed | ErrorAnswer | None:
    """The answer to a request that holds a block; an error where something is wrong with it."""
    message, answered = _last_text(request)
    root = find_block(message)
    if root is None:
        return None
    try:
        chain = read_chain(root)
        # However long a conversation goes on, the chain's blocks answer once each.
        block = chain[answered] if answered < len(chain) else _COMPLETE
        writing = _Writing(
            block,
            key=f"{digest(message)}/{answered}",
            probe=lambda probe: probe_text(probe, request, received),
            limit=max_text_bytes,
        )
        return Instructed(block.label, writing.answer(), block.cancel_after_chunks)
    except InstructionError as error:
        return ErrorAnswer(400, str(error), param="messages")


def find_block(message: str) -> Item | None:
    """The JSON of the first block in a message, if it is JSON and its end follows.

    An end mark inside a string ends nothing, so that blocks can be nested in arguments. The JSON
    may stand in a fence of Markdown.
    """
    _, start, rest = message.partition(START)
    if not start:
        return None
    begin = _skip_space(rest, 0)
    fence = _FENCE.match(rest, begin)
    try:
        value, end = _DECODER.raw_decode(rest, _skip_space(rest, fence.end() if fence else begin))
        # What is no Unicode text, or no finite number, is no JSON that could be sent on.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    end = _skip_space(rest, end)
    if fence:
        if not rest.startswith(fence[1], end):
            return None
        end = _skip_space(rest, end + len(fence[1]))
    return Item(value) if rest.startswith(END, end) else None


def _last_text(request: CanonicalRequest) -> tuple[str, int]:
    """The last user message that holds text, and how many assistant messages follow it."""
    answered = 0
    for message in reversed(request.messages):
        if message.role == "assistant":
            answered += 1
        elif message.role == "user" and (text := message.text):
            return text, answered
    return "", answered


@dataclass(slots=True)
class _Writing:
    """One block on its way to an answer, counting the text that it makes."""

    block: Block
    key: str
    probe: Callable[[Probe], str]
    limit: int
    size: int = 0

    def answer(self) -> ScriptedAnswer:
        """Each message is a choice of its own; a block of reasoning alone is one choice."""
        messages = self.block.messages or (None,)
        choices = (self._choice(i, told) for i, told in enumerate(messages))
        return ScriptedAnswer(tuple(choices), per_choice=True, consecutive=True)

    def _choice(self, number: int, told: Told | None) -> ScriptedChoice:
        key = f"{self.key}/{number}"
        parts = (*self._thoughts(number, told, key), *(self._content(told, key) if told else ()))
        chunks = tuple(
            Chunk(index, piece)
            for index, part in enumerate(parts)
            if isinstance(part, TextPart | ReasoningPart)
            for piece in pieces(f"{key}/{index}", part.text)
        )
        return ScriptedChoice(parts, chunks or None)

    def _thoughts(self, number: int, told: Told | None, key: str) -> Iterator[AnswerPart]:
        thinks = told is not None and isinstance(told.content, Lorem) and told.content.thinks
        if self.block.reasoning is not None and (number == 0 or thinks):
            text = self._wrapped(lorem(f"{key}/reasoning", self.block.reasoning))
            place = Item(None, self.block.place).at("reasoning.length").place
            yield self._counted(ReasoningPart(text), place)

    def _content(self, told: Told, key: str) -> Iterator[AnswerPart]:
        match told.content:
            case Calls(parts=parts):
                for part in parts:
                    yield self._counted(part, told.place)
            case Lorem(words=words, citations=citations):
                text = self._wrapped(lorem(f"{key}/text", words))
                yield self._counted(TextPart(text, citations), told.place)
            case Verbatim(text=text, citations=citations):
                yield self._counted(TextPart(self._wrapped(text), citations), told.place)
            case probe:
                yield self._counted(TextPart(self._wrapped(self.probe(probe))), told.place)

    def _wrapped(self, text: str) -> str:
        """A text between the block's marks, which do not count as its words."""
        wrap = self.block.wrap
        return " ".join(piece for piece in (wrap, text, wrap) if piece)

    def _counted(self, part: AnswerPart, place: str) -> AnswerPart:
        self.size += len(held_text(part).encode())
        if self.size > self.limit:
            raise InstructionError(place, f"more text than the limit of {self.limit} bytes")
        return part


def _skip_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _refuse(constant: str) -> float:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
