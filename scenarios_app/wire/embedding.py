"""Texts as unit vectors: the same text always gives the same one, and texts that have words and
letters in common lie near each other."""

import hashlib
import math
import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from struct import Struct
from typing import TypeAlias

# Eight thousand tokens: what is beyond them, the models that are mocked here do not take either.
READ = 32_768
_WORD, _LETTERS, _NEIGHBOURS = 1.0, 0.5, 0.25
_TOKEN = re.compile(r"\w+|[^\w\s]")
_SPREAD = Struct("<4I")

Places: TypeAlias = tuple[int, ...]


def unit_vector(text: str, dimensions: int) -> tuple[float, ...]:
    """A vector of length 1 made of the first `READ` characters of a text in lower case.

    Words count most, then the triples of letters in them, then which word follows which. Each of
    these has a few places of the vector to add to, chosen by its hash.
    """
    words = _TOKEN.findall(text[:READ].casefold()) or [""]
    vector = [0.0] * dimensions
    for word, count in Counter(words).items():
        often = math.sqrt(count)
        _add(vector, _places(word), _WORD * often)
        padded = f" {word} "
        for i in range(len(word)):
            _add(vector, _letters(padded[i : i + 3]), _LETTERS * often)
    for pair, count in Counter(pairwise(words)).items():
        _add(vector, _places(" ".join(pair)), _NEIGHBOURS * math.sqrt(count))
    # `sum` rounds differently from one version of Python to the next.
    length = math.sqrt(math.fsum(value * value for value in vector))
    if not length:
        return (1.0, *vector[1:])
    return tuple(value / length for value in vector)


def _add(vector: list[float], places: Places, weight: float) -> None:
    for place in places:
        vector[(place >> 1) % len(vector)] += weight if place & 1 else -weight


@lru_cache(maxsize=16_384)
def _letters(triple: str) -> Places:
    return _places(triple)


def _places(feature: str) -> Places:
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return _SPREAD.unpack(digest)
