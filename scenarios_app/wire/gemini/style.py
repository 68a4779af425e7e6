"""The style of Gemini's responses, by the model's generation and the request's options."""

import re
from functools import lru_cache

import msgspec

_VERSION = re.compile(r"gemini-(\d)(?:\.(\d))?")
_LATEST = re.compile(r"gemini-(?:flash|pro)(?:-lite)?-latest")
_GENERATION_2_5, _GENERATION_3 = (2, 5), (3, 0)
# Models that think only on request, and those that never do.
_LITE = "-lite"
_NEVER_THINKING = re.compile(r"-(?:image|tts|audio|live|computer-use)")


class GeminiStyle(msgspec.Struct, frozen=True):
    """The ways in which the responses of models differ.

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
def style_of(model: str, *, thinks: bool, functions: bool) -> GeminiStyle:
    """Return the style of a model's responses.

    It depends on whether the model thinks and whether the request offers functions. A model of
    unknown generation has the default style.
    """
    version = _model_version(model)
    if version is None:
        return GeminiStyle()
    if version < _GENERATION_2_5:
        return GeminiStyle(indexed=False, call_ids=False, joined=True, detailed=True)
    if version < _GENERATION_3:
        return GeminiStyle(call_ids=False, explains=True, joined=True, signs=thinks and functions)
    return GeminiStyle(explains=True, signs=thinks)


@lru_cache(maxsize=256)
def thinks(model: str, budget: int | None) -> bool:
    """Return whether a model thinks before it answers, by its generation and the requested budget
    of thinking tokens: 0 turns it off, None is no budget. False for an unknown generation."""
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
