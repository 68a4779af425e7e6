"""Answers scripted by an instruction block in the request's last user message."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.engine.instructions import kinds
from scenarios_app.engine.instructions.json_reader import InstructionError, JsonCursor
from scenarios_app.engine.instructions.probes import Received, probe_text
from scenarios_app.engine.parts import AnswerPart, Chunk, ReasoningPart, TextPart, produced_text
from scenarios_app.engine.producing.lorem import hash_message, make_lorem, split_pieces
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice

START, END = "<|instruction_start|>", "<|instruction_end|>"
_COMPLETION = kinds.BlockMessage("", kinds.Verbatim("Chain complete."))
_COMPLETE_BLOCK = kinds.Block("complete", (_COMPLETION,))
_SPACE = re.compile(r"[ \t\n\r]*+")
# Editors and models put JSON into a Markdown fence: "```json".
_FENCE = re.compile(r"(`{3,}+|~{3,}+)[ \t]*+(?:json)?[ \t]*+\r?\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class InstructedAnswer:
    """The answer of a block. `label` is the block's id or its number from 1; the stream breaks off
    after `cancel_after_chunks`, if set."""

    label: str
    answer: ScriptedAnswer
    cancel_after_chunks: int | None = None


def build_instructed_answer(
    request: CanonicalRequest, received: Callable[[], Received], *, max_text_bytes: int
) -> InstructedAnswer | ErrorAnswer | None:
    """Return the answer of `find_block`'s block, or an error for invalid content; else None."""
    message, answer_count = _last_user_text(request)
    root = find_block(message)
    if root is None:
        return None
    try:
        chain = kinds.read_chain(root)
        # Each block of the chain answers once, however long the conversation is.
        block = chain[answer_count] if answer_count < len(chain) else _COMPLETE_BLOCK
        writer = _AnswerWriter(
            block,
            key=f"{hash_message(message)}/{answer_count}",
            probe=lambda probe: probe_text(probe, request, received),
            limit=max_text_bytes,
        )
        return InstructedAnswer(block.label, writer.answer(), block.cancel_after_chunks)
    except InstructionError as error:
        return ErrorAnswer(400, str(error), param="messages")


def may_hold_block(request: CanonicalRequest) -> bool:
    """Return True if the text of the last user message has the start mark of a block."""
    return START in (request.last_user_text or _last_user_text(request)[0])


def find_block(message: str) -> JsonCursor | None:
    """Return the JSON of a message's first block; None if missing, invalid or not closed.

    An end mark inside a JSON string does not close the block, so blocks can be nested in arguments.
    The JSON can be in a Markdown fence.
    """
    _, start, rest = message.partition(START)
    if not start:
        return None
    begin = _skip_space(rest, 0)
    fence = _FENCE.match(rest, begin)
    try:
        value, end = _DECODER.raw_decode(rest, _skip_space(rest, fence.end() if fence else begin))
        # Reject text that is not Unicode and numbers that are not finite: they cannot be sent.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    end = _skip_space(rest, end)
    if fence:
        if not rest.startswith(fence[1], end):
            return None
        end = _skip_space(rest, end + len(fence[1]))
    return JsonCursor(value) if rest.startswith(END, end) else None


def _last_user_text(request: CanonicalRequest) -> tuple[str, int]:
    """Return the last user text, or "", and the number of assistant messages after it, or all."""
    answer_count = 0
    for message in reversed(request.messages):
        if message.role == "assistant":
            answer_count += 1
        elif message.role == "user" and (text := message.text):
            return text, answer_count
    return "", answer_count


@dataclass(slots=True)
class _AnswerWriter:
    """Writes the answer of one block and counts its bytes."""

    block: kinds.Block
    key: str
    probe: Callable[[kinds.Probe], str]
    limit: int
    size: int = 0

    def answer(self) -> ScriptedAnswer:
        """Return the answer: one choice for each message, or one of only reasoning."""
        messages = self.block.messages or (None,)
        choices = (self._choice(i, message) for i, message in enumerate(messages))
        return ScriptedAnswer(tuple(choices), per_choice=True, consecutive=True)

    def _choice(self, number: int, message: kinds.BlockMessage | None) -> ScriptedChoice:
        """Return the choice of a message: reasoning if asked for, then its content."""
        key = f"{self.key}/{number}"
        parts: list[AnswerPart] = []
        content = message.content if message else None
        has_reasoning = isinstance(content, kinds.Lorem) and content.has_reasoning
        if self.block.reasoning is not None and (number == 0 or has_reasoning):
            text = self._wrap_text(make_lorem(f"{key}/reasoning", self.block.reasoning))
            place = JsonCursor(None, self.block.place).at("reasoning.length").place
            parts.append(self._count_bytes(ReasoningPart(text), place))
        if message:
            content_parts = self._content_parts(message.content, key)
            parts += [self._count_bytes(part, message.place) for part in content_parts]
        chunks = tuple(
            Chunk(index, piece)
            for index, part in enumerate(parts)
            if isinstance(part, TextPart | ReasoningPart)
            for piece in split_pieces(f"{key}/{index}", part.text)
        )
        return ScriptedChoice(tuple(parts), chunks or None)

    def _content_parts(self, content: kinds.Content, key: str) -> Sequence[AnswerPart]:
        """Return the parts of a content: calls, generated or given text, or a probe's answer."""
        match content:
            case kinds.Calls(parts=parts):
                return parts
            case kinds.Lorem(words=words, citations=citations):
                return (TextPart(self._wrap_text(make_lorem(f"{key}/text", words)), citations),)
            case kinds.Verbatim(text=text, citations=citations):
                return (TextPart(self._wrap_text(text), citations),)
            case probe:
                return (TextPart(self._wrap_text(self.probe(probe))),)

    def _wrap_text(self, text: str) -> str:
        """Return a text between two copies of `wrap`, which do not count as its words."""
        wrap = self.block.wrap
        return " ".join(piece for piece in (wrap, text, wrap) if piece)

    def _count_bytes(self, part: AnswerPart, place: str) -> AnswerPart:
        """Return the part after counting its bytes; raise InstructionError over the limit."""
        self.size += len(produced_text(part).encode())
        if self.size > self.limit:
            raise InstructionError(place, f"more text than the limit of {self.limit} bytes")
        return part


def _skip_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _reject_constant(constant: str) -> float:
    """Raise ValueError for NaN and Infinity, so that the text is no instruction block."""
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
