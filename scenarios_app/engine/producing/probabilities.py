"""How likely the tokens of a text were, for who asks: made up of each token alone, so that a text
has the same ones whole and streamed, in every process."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

# A word with the space before it, in pieces of so many characters at the most.
_TOKEN = re.compile(r"\s?\S{1,12}|\s")
_OTHERS = (
    *(" the", " a", " of", " and", " to", " in", " is", " it", " that", " for"),
    *(".", ",", "The", "It", " this", " you", " as", " with", " on", " be", "\n"),
)
_LEAST, _STEP = 1e-6, 0.75
_NUMBERS = 262_144


@dataclass(frozen=True, slots=True)
class Token:
    """`logprob` is a natural logarithm, `number` what the model knows the token by."""

    text: str
    logprob: float

    @property
    def number(self) -> int:
        return crc32(self.text.encode()) % _NUMBERS


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, which joined are the text."""
    return [_token(piece) for piece in _TOKEN.findall(text)]


def likeliest(token: Token, count: int) -> tuple[Token, ...]:
    """So many tokens for the place of one, the likeliest first, which is that one."""
    return (token, *_others(token, count))[:count]


@lru_cache(maxsize=4096)
def _token(text: str) -> Token:
    # Half of them are as good as certain, as with a real model.
    share = crc32(text.encode()) % 10_000 / 10_000
    return Token(text, -round(_LEAST + max(0.0, share - 0.5), 6))


def _others(token: Token, count: int) -> Iterator[Token]:
    start = crc32(token.text.encode()) % len(_OTHERS)
    others = (*_OTHERS[start:], *_OTHERS[:start])
    likely = token.logprob
    for text in [other for other in others if other != token.text][: max(0, count - 1)]:
        likely -= _STEP
        yield Token(text, round(likely, 6))
