"""Deterministic embeddings: texts with common words and letters get similar unit vectors."""

import hashlib
import math
import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from struct import Struct
from typing import TypeAlias

# About 8,000 tokens, the input limit of the mocked embedding models.
MAX_EMBEDDED_CHARS = 32_768
_WORD_WEIGHT, _TRIPLE_WEIGHT, _PAIR_WEIGHT = 1.0, 0.5, 0.25
_TOKEN = re.compile(r"\w+|[^\w\s]")
_FOUR_INTS = Struct("<4I")

Components: TypeAlias = tuple[int, ...]


def unit_vector(text: str, dimensions: int) -> tuple[float, ...]:
    """Return a vector of length 1 for the first `MAX_EMBEDDED_CHARS` characters of a text.

    The features are words (which weigh most), their letter triples and word pairs, in lower case.
    Each adds to four components of the vector, chosen by its hash.
    """
    words = _TOKEN.findall(text[:MAX_EMBEDDED_CHARS].casefold()) or [""]
    vector = [0.0] * dimensions
    for word, count in Counter(words).items():
        scale = math.sqrt(count)
        _add_feature(vector, _hash_components(word), _WORD_WEIGHT * scale)
        padded = f" {word} "
        for i in range(len(word)):
            _add_feature(vector, _triple_components(padded[i : i + 3]), _TRIPLE_WEIGHT * scale)
    for pair, count in Counter(pairwise(words)).items():
        _add_feature(vector, _hash_components(" ".join(pair)), _PAIR_WEIGHT * math.sqrt(count))
    # `sum` rounds differently from one version of Python to the next.
    length = math.sqrt(math.fsum(value * value for value in vector))
    if not length:
        return (1.0, *vector[1:])
    return tuple(value / length for value in vector)


def _add_feature(vector: list[float], components: Components, weight: float) -> None:
    """Add a weight at each component of a feature, positive or negative by its last bit."""
    for component in components:
        vector[(component >> 1) % len(vector)] += weight if component & 1 else -weight


def _hash_components(feature: str) -> Components:
    """Return four integers from a feature's hash, each an index and, as its last bit, a sign."""
    digest = hashlib.blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return _FOUR_INTS.unpack(digest)


_triple_components = lru_cache(maxsize=16_384)(_hash_components)
