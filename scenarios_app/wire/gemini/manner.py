"""What of a Gemini answer depends on the model's generation and on the options of its request."""

import re
from functools import lru_cache

import msgspec

_VERSION = re.compile(r"gemini-(\d)(?:\.(\d))?")
_LATEST = re.compile(r"gemini-(?:flash|pro)(?:-lite)?-latest")
_GENERATION_2_5, _GENERATION_3 = (2, 5), (3, 0)
# Of the models that could think, these do so only if asked, or not at all.
_LITE = "-lite"
_NEVER_THINKING = re.compile(r"-(?:image|tts|audio|live|computer-use)")


class GeminiFormat(msgspec.Struct, frozen=True):
    """How a model says its answers.

    `indexed`: the first candidate has an index too. `call_ids`: calls have ids. `explains`: an
    answer that calls functions says so in a message. `joined`: a stream of nothing but calls is one
    chunk. `detailed`: candidates have a probability, and their tokens are told apart by modality.
    `signs`: what comes of thinking is signed, also where no thinking is shown. `top_logprobs`: how
    many likely tokens are told at the place of each; None if none is told.
    """

    indexed: bool = True
    call_ids: bool = True
    explains: bool = False
    joined: bool = False
    detailed: bool = False
    signs: bool = False
    top_logprobs: int | None = None


@lru_cache(maxsize=256)
def format_of(model: str, *, thinks: bool, functions: bool) -> GeminiFormat:
    """The manner of a model that thinks, or does not, of a request that offers functions, or not.
    What has no known generation says what is neither new nor gone."""
    version = _version(model)
    if version is None:
        return GeminiFormat()
    if version < _GENERATION_2_5:
        return GeminiFormat(indexed=False, call_ids=False, joined=True, detailed=True)
    if version < _GENERATION_3:
        return GeminiFormat(call_ids=False, explains=True, joined=True, signs=thinks and functions)
    return GeminiFormat(explains=True, signs=thinks)


@lru_cache(maxsize=256)
def thinks(model: str, budget: int | None) -> bool:
    """Whether a model thinks before it answers, given how much it may."""
    version = _version(model)
    if version is None or version < _GENERATION_2_5 or budget == 0:
        return False
    if version >= _GENERATION_3:
        return True
    by_default = budget is not None or _LITE not in model
    return by_default and _NEVER_THINKING.search(model) is None


def _version(model: str) -> tuple[int, int] | None:
    if match := _VERSION.search(model):
        return int(match[1]), int(match[2] or 0)
    return _GENERATION_3 if _LATEST.search(model) else None
