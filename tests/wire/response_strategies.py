"""Hypothesis strategies for responses, choices and their texts."""

import json
from typing import Any

from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import FinishReason

REASONS: tuple[FinishReason, ...] = ("stop", "length", "tool_calls", "content_filter")
TEXTS = st.text(max_size=30)
ARGUMENTS = st.dictionaries(
    TEXTS, st.recursive(st.integers(-99, 99) | TEXTS | st.none(), st.lists, max_leaves=4)
).map(json.dumps)
COUNTS = st.integers(0, 2**40)


def choice_strategy(
    parts: st.SearchStrategy[Any], reasons: tuple[FinishReason, ...] = REASONS
) -> st.SearchStrategy[Choice]:
    return st.builds(Choice, st.lists(parts, max_size=5).map(tuple), st.sampled_from(reasons))


def response_strategy(
    parts: st.SearchStrategy[Any], *, id: str, metadata: st.SearchStrategy[dict[str, Any]]
) -> st.SearchStrategy[CanonicalResponse]:
    """Return a strategy for responses of up to three choices; `id` is a regular expression."""
    choices = choice_strategy(parts, (*REASONS, "stop_sequence"))
    return st.builds(
        CanonicalResponse,
        id=st.from_regex(id, fullmatch=True),
        created=st.integers(0, 2**33),
        model=st.text(min_size=1),
        choices=st.lists(choices, min_size=1, max_size=3).map(tuple),
        usage=st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS),
        metadata=metadata,
    )
