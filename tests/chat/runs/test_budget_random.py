"""Properties of the text budget: it keeps the beginning of the text, in whole characters."""

from collections.abc import Iterator

import pytest
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_app.errors import ChatError
from chat_app.runs.model_calls import RunBudget
from chat_app.values.model_call import (
    CallArguments,
    CallStarted,
    Finished,
    ProviderEvent,
    TextPart,
    ThinkingPart,
)
from tests.support.hypothesis_profiles import example_count
from traces_app.reports import REPORT_TOOL

PIECES: st.SearchStrategy[ProviderEvent] = st.one_of(
    st.builds(TextPart, st.text(max_size=9)),
    st.builds(ThinkingPart, st.text(max_size=9), st.just(""), st.just("")),
    st.builds(CallArguments, st.just("1"), st.text(max_size=9)),
)


def cut_texts(events: list[ProviderEvent]) -> Iterator[str]:
    """Yield the texts that a budget of 20 bytes lets through."""
    with override_settings(CHAT_RUN_TEXT_BYTES=20):
        budget = RunBudget()
    for event in events:
        charged_event = budget.charge(event)
        assert not isinstance(charged_event, CallStarted | Finished)
        yield charged_event.text
        budget.check_text_length()


@settings(max_examples=example_count(200))
@given(st.lists(PIECES, max_size=9))
def test_budget_takes_the_beginning_of_the_text(events: list[ProviderEvent]) -> None:
    full_text = "".join(e.text for e in events if not isinstance(e, CallStarted | Finished))
    cut_text: list[str] = []
    try:
        for text in cut_texts(events):
            cut_text.append(text)
    except ChatError:
        assert len(full_text.encode()) > 20
        # The cut keeps whole characters.
        assert 17 <= len("".join(cut_text).encode()) <= 20
    else:
        assert len(full_text.encode()) <= 20
        assert "".join(cut_text) == full_text
    assert full_text.startswith("".join(cut_text))


def test_final_report_does_not_count_as_tool_call() -> None:
    with override_settings(CHAT_RUN_TOOL_CALLS=1):
        budget = RunBudget()
    for name in ("add", REPORT_TOOL, REPORT_TOOL):
        budget.charge(CallStarted("1", name))
    with pytest.raises(ChatError, match="more than 1 tools"):
        budget.charge(CallStarted("2", "add"))
