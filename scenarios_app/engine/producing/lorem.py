"""The answer of test mode: lorem ipsum whose length, words and chunks are hashed from the message.

Requirement 000, R2-R6: 5-500 words, then the user message verbatim; what follows "\nReason:" is
thought first, and echoed after too.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import cache

from scenarios_app.engine.parts import AnswerPart, Chunk, ReasoningPart, TextPart
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice
from scenarios_app.engine.schemas.scalars import WORDS

MARK = "\nReason:"


def digest(message: str) -> str:
    """What the choices that are drawn for a message are hashed from."""
    return hashlib.sha256(message.encode()).hexdigest()


def word_count(message: str) -> int:
    """Words of lorem for a user message: 5 to 500, from its SHA-256."""
    return 5 + int.from_bytes(hashlib.sha256(message.encode()).digest()[:4], "little") % 496


def lorem(key: str, words: int) -> str:
    """`words` words, the same for the same key in every process."""
    draws = _bytes(f"words\0{key}")
    return " ".join(WORDS[next(draws) % len(WORDS)] for _ in range(words))


def pieces(key: str, text: str) -> Iterator[str]:
    """The text in pieces of 3-10 words, the last perhaps shorter; joined they are the text."""
    sizes = _bytes(f"sizes\0{key}")
    at, end = 0, len(text)
    while at < end:
        found = _words(3 + next(sizes) % 8).match(text, at)
        # Without a match there is not one word in the text.
        piece = found[0] if found else text
        yield piece
        at += len(piece)


@cache
def _words(most: int) -> re.Pattern[str]:
    """So many words, each with the space before it, the last of a text also with the rest."""
    # Possessive throughout: one pass over any text.
    return re.compile(rf"(?:\s*+\S++){{1,{most}}}+(?:\s++\Z)?+")


def lorem_answer(message: str) -> ScriptedAnswer:
    """The whole answer to a user message, its stream chunks given."""
    thought = [message.partition(MARK)[2].strip()] if MARK in message else []
    said = [lorem(message, word_count(message))]
    parts: list[AnswerPart] = []
    chunks: list[Chunk] = []
    for kind, spoken in ((ReasoningPart, thought), (TextPart, said)):
        if spoken:
            runs = [run for run in (*spoken, message) if run]
            cut = [
                piece
                for i, run in enumerate(runs)
                for piece in pieces(message, run if i == 0 else f" {run}")
            ]
            chunks.extend(Chunk(len(parts), piece) for piece in cut)
            parts.append(kind("".join(cut)))
    return ScriptedAnswer((ScriptedChoice(tuple(parts), tuple(chunks)),))


def _bytes(key: str) -> Iterator[int]:
    """An endless stream of bytes hashed from a key."""
    seed = hashlib.sha256(key.encode()).digest()
    block = 0
    while True:
        yield from hashlib.sha256(seed + block.to_bytes(8, "big")).digest()
        block += 1
