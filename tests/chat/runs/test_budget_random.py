"""What a budget takes of any events: the beginning of what was said, in whole characters."""

from collections.abc import Iterator

import pytest
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_app.errors import ChatError
from chat_app.runs.model_calls import Budget
from chat_app.values.model_call import (
    CallArguments,
    CallBegun,
    Finished,
    ProviderEvent,
    TextPiece,
    ThinkingPiece,
)
from tests.support.hypothesis_profiles import often
from traces_app.reports import REPORT_TOOL

PIECES: st.SearchStrategy[ProviderEvent] = st.one_of(
    st.builds(TextPiece, st.text(max_size=9)),
    st.builds(ThinkingPiece, st.text(max_size=9), st.just(""), st.just("")),
    st.builds(CallArguments, st.just("1"), st.text(max_size=9)),
)


def kept(events: list[ProviderEvent]) -> Iterator[str]:
    """What a budget of 20 bytes lets through."""
    with override_settings(CHAT_RUN_TEXT_BYTES=20):
        budget = Budget()
    for event in events:
        taken = budget.take(event)
        assert not isinstance(taken, CallBegun | Finished)
        yield taken.text
        budget.check()


@settings(max_examples=often(200))
@given(st.lists(PIECES, max_size=9))
def test_what_is_taken_is_the_beginning_of_what_was_said(events: list[ProviderEvent]) -> None:
    whole = "".join(e.text for e in events if not isinstance(e, CallBegun | Finished))
    taken: list[str] = []
    try:
        for text in kept(events):
            taken.append(text)
    except ChatError:
        assert len(whole.encode()) > 20
        # As much of it as can be had of whole characters.
        assert 17 <= len("".join(taken).encode()) <= 20
    else:
        assert len(whole.encode()) <= 20
        assert "".join(taken) == whole
    assert whole.startswith("".join(taken))


def test_a_final_report_is_no_tool_call() -> None:
    with override_settings(CHAT_RUN_TOOL_CALLS=1):
        budget = Budget()
    for name in ("add", REPORT_TOOL, REPORT_TOOL):
        budget.take(CallBegun("1", name))
    with pytest.raises(ChatError, match="more than 1 tools"):
        budget.take(CallBegun("2", "add"))
