"""How far a text is from meeting a condition, so that near misses can be ranked.

0 is as good as met, 1 has nothing in common. Texts are compared by the pairs of neighbouring
letters they share, case aside, in their beginnings; that is cheap, and the same everywhere.
"""

import re

from scenarios_app.engine.matching.conditions import CompiledText, words_of
from scenarios_app.engine.matching.request_view import Text, pairs_of

_LITERAL_BEGINNING = 200
_TESTED = 20_000
# Not met is never 0, however alike the texts are.
_LEAST = 0.02
_SPACE = re.compile(r"\s+")


def text_distance(text: Text, condition: CompiledText) -> float:
    """The mean distance of the condition's parts, 0 only where all of them hold. A long text is not
    tested, which would take long for many conditions: it is near at best."""
    if len(text.plain) <= _TESTED and text.meets(condition):
        return 0.0
    parts = []
    if condition.equals is not None:
        parts.append(_unlike(pairs_of(_beginning(condition.equals)), text.pairs, whole=True))
    if condition.contains is not None:
        parts.append(_unlike(pairs_of(_beginning(condition.contains)), text.pairs, whole=False))
    if condition.startswith is not None:
        wanted = _beginning(condition.startswith)
        start = pairs_of(text.folded[: len(wanted)])
        parts.append(_unlike(pairs_of(wanted), start, whole=True))
    if condition.pattern is not None:
        wanted = _beginning(" ".join(words_of(condition)))
        parts.append(_unlike(pairs_of(wanted), text.pairs, whole=False) if wanted else 1.0)
    return max(_LEAST, sum(parts) / len(parts)) if parts else 0.0


def _beginning(literal: str) -> str:
    return _SPACE.sub(" ", literal[:_LITERAL_BEGINNING].casefold())


def _unlike(wanted: frozenset[str], there: frozenset[str], *, whole: bool) -> float:
    shared = len(wanted & there)
    most = (len(wanted) + len(there)) / 2 if whole else len(wanted)
    return 1.0 - shared / most
