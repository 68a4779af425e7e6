r"""The answer of test mode: lorem ipsum whose length, words and chunks are hashed from the message.

Requirement 000, R2-R6: 5-500 words, then the user message verbatim; text after "\nReason:" is sent
as reasoning first, and echoed too.
"""

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache

from scenarios_app.engine.parts import AnswerPart, Chunk, ReasoningPart, TextPart
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice
from scenarios_app.engine.schemas.scalars import WORDS

REASON_MARK = "\nReason:"


def hash_message(message: str) -> str:
    """Return the SHA-256 of a message in hexadecimal, for the keys of generated texts."""
    return hashlib.sha256(message.encode()).hexdigest()


def word_count(message: str) -> int:
    """Return the number of lorem words for a user message: 5 to 500, from its SHA-256."""
    return 5 + int.from_bytes(hashlib.sha256(message.encode()).digest()[:4], "little") % 496


def make_lorem(key: str, words: int) -> str:
    """Return `words` words, the same for the same key in every process."""
    draws = _hashed_bytes(f"words\0{key}")
    return " ".join(WORDS[next(draws) % len(WORDS)] for _ in range(words))


def split_pieces(key: str, text: str) -> Iterator[str]:
    """Yield the text in pieces of 3-10 words, as many as the key decides; the last can be shorter.
    An empty text has none."""
    sizes = _hashed_bytes(f"sizes\0{key}")
    at, end = 0, len(text)
    while at < end:
        match = words_pattern(3 + next(sizes) % 8).match(text, at)
        # Without a match the text has no word.
        piece = match[0] if match else text
        yield piece
        at += len(piece)


@lru_cache(maxsize=64)
def words_pattern(max_words: int) -> re.Pattern[str]:
    """Return a pattern for up to `max_words` words, each with the space before it; the last also
    with the rest."""
    # Possessive throughout: one pass over any text.
    return re.compile(rf"(?:\s*+\S++){{1,{max_words}}}+(?:\s++\Z)?+")


def lorem_answer(message: str) -> ScriptedAnswer:
    """Return lorem ipsum followed by the user message, in chunks. A message with REASON_MARK first
    gets reasoning: its text after the mark, followed by the message too."""
    texts: list[tuple[type[ReasoningPart | TextPart], str]] = []
    if REASON_MARK in message:
        texts.append((ReasoningPart, message.partition(REASON_MARK)[2].strip()))
    texts.append((TextPart, make_lorem(message, word_count(message))))
    parts: list[AnswerPart] = []
    chunks: list[Chunk] = []
    for kind, text in texts:
        echo = f" {message}" if text and message else message
        for piece in (*split_pieces(message, text), *split_pieces(message, echo)):
            chunks.append(Chunk(len(parts), piece))
        parts.append(kind(text + echo))
    return ScriptedAnswer((ScriptedChoice(tuple(parts), tuple(chunks)),))


def _hashed_bytes(key: str) -> Iterator[int]:
    """Yield endless bytes hashed from a key, the same at each call."""
    seed = hashlib.sha256(key.encode()).digest()
    block = 0
    while True:
        yield from hashlib.sha256(seed + block.to_bytes(8, "big")).digest()
        block += 1
