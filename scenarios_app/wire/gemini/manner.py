"""What depends on the model's generation and the request's options in a Gemini response."""

import re
from functools import lru_cache

import msgspec

_VERSION = re.compile(r"gemini-(\d)(?:\.(\d))?")
_LATEST = re.compile(r"gemini-(?:flash|pro)(?:-lite)?-latest")
_GENERATION_2_5, _GENERATION_3 = (2, 5), (3, 0)
# Models that think only on request, and those that never do.
_LITE = "-lite"
_NEVER_THINKING = re.compile(r"-(?:image|tts|audio|live|computer-use)")


class GeminiFormat(msgspec.Struct, frozen=True):
    """How a model's responses look.

    `indexed`: the first candidate has an index too. `call_ids`: calls have ids. `explains`: a
    response with calls has a finish message. `joined`: a stream of calls only is one chunk.
    `detailed`: candidates have an average log probability and token counts by modality. `signs`:
    parts that follow reasoning are signed, even if the reasoning is hidden. `top_logprobs`: the
    number of alternatives per token, None for no log probabilities.
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
    """Return the response format of a model.

    It depends on whether the model thinks and whether the request offers functions. For a model of
    unknown generation only fields that all generations have are sent.
    """
    version = _model_version(model)
    if version is None:
        return GeminiFormat()
    if version < _GENERATION_2_5:
        return GeminiFormat(indexed=False, call_ids=False, joined=True, detailed=True)
    if version < _GENERATION_3:
        return GeminiFormat(call_ids=False, explains=True, joined=True, signs=thinks and functions)
    return GeminiFormat(explains=True, signs=thinks)


@lru_cache(maxsize=256)
def thinks(model: str, budget: int | None) -> bool:
    """Return whether a model thinks before it answers, given its budget."""
    version = _model_version(model)
    if version is None or version < _GENERATION_2_5 or budget == 0:
        return False
    if version >= _GENERATION_3:
        return True
    by_default = budget is not None or _LITE not in model
    return by_default and _NEVER_THINKING.search(model) is None


def _model_version(model: str) -> tuple[int, int] | None:
    """Return the generation that a model's name has, or None; that of `latest` is 3.0."""
    if match := _VERSION.search(model):
        return int(match[1]), int(match[2] or 0)
    return _GENERATION_3 if _LATEST.search(model) else None
