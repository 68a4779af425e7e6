"""Families of OpenAI's models, by name prefix: the defaults that their responses report."""

from functools import lru_cache
from hashlib import sha256

import msgspec
from msgspec.structs import replace


class ModelFamily(msgspec.Struct, frozen=True):
    """The traits of a family of models.

    `effort` is the default reasoning effort, None for models without reasoning. With
    `shows_reasoning` a response starts with a reasoning item even without a summary; otherwise only
    if effort or summary are requested. `context` says which earlier reasoning the model sees. The
    messages of `phased` models are marked as comment or answer. `retention` is that of the prompt
    cache. `logprobs` and `fingerprint` say whether chat completions have these fields.
    """

    effort: str | None = None
    shows_reasoning: bool = False
    context: str | None = None
    mode: str | None = None
    phased: bool = False
    retention: str = "in_memory"
    top_p: float = 1.0
    logprobs: bool = True
    fingerprint: bool = True


_PLAIN = ModelFamily()
_REASONING = ModelFamily(
    effort="medium",
    shows_reasoning=True,
    context="current_turn",
    mode="standard",
    logprobs=False,
    fingerprint=False,
)
_NO_DEFAULT_EFFORT = replace(_REASONING, effort="none", shows_reasoning=False, top_p=0.98)
_PHASED = replace(_NO_DEFAULT_EFFORT, phased=True, retention="24h")

# The longest matching prefix wins.
FAMILIES: dict[str, ModelFamily] = {
    "o1": replace(_REASONING, fingerprint=True),
    "o3": replace(_REASONING, fingerprint=True),
    "o4": replace(_REASONING, fingerprint=True),
    "gpt-4.5": replace(_PLAIN, logprobs=False, fingerprint=False),
    "gpt-5": _REASONING,
    "gpt-5-chat": replace(_PLAIN, fingerprint=False),
    "gpt-5.1": _NO_DEFAULT_EFFORT,
    "gpt-5.2": _NO_DEFAULT_EFFORT,
    "gpt-5.3": _NO_DEFAULT_EFFORT,
    "gpt-5.4": _PHASED,
    "gpt-5.4-mini": replace(_PHASED, retention="in_memory"),
    "gpt-5.4-nano": replace(_PHASED, retention="in_memory"),
    "gpt-5.5": replace(_PHASED, effort="medium"),
    "gpt-5.6": replace(_PHASED, effort="medium", context="all_turns"),
    "gpt-6": replace(_PHASED, effort="medium", context="all_turns"),
}


_MAX_PREFIX_CHARS = max(map(len, FAMILIES))


def family_of(model: str) -> ModelFamily:
    """Return the family with the longest matching prefix, or one without reasoning."""
    # Cached by the beginning, because clients may send names of any length.
    return _family_of_beginning(model[:_MAX_PREFIX_CHARS])


@lru_cache(maxsize=256)
def _family_of_beginning(beginning: str) -> ModelFamily:
    fitting = [name for name in FAMILIES if beginning.startswith(name)]
    return FAMILIES[max(fitting, key=len)] if fitting else _PLAIN


def fingerprint_of(model: str) -> str:
    """Return a system fingerprint derived from a model's name."""
    return f"fp_{sha256(model.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"
