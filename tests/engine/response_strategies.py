"""Hypothesis strategies for answers, their pacing and faults inside a stream."""

from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.scenario import Fault, Pacing

TEXTS = st.text(st.sampled_from("abc \n{}\"'é💡"), max_size=40)
PARTS: st.SearchStrategy[AnswerPart] = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(ReasoningPart, TEXTS),
    st.builds(RefusalPart, TEXTS),
    st.builds(ToolCallPart, st.just("id"), st.just("name"), TEXTS),
)


@st.composite
def choices(draw: st.DrawFn) -> Choice:
    """Draw a choice; half of them are scripted, with parts cut anywhere and sent in any order."""
    parts = tuple(draw(st.lists(PARTS, max_size=4)))
    if draw(st.booleans()):
        return Choice(parts, "stop")
    chunked = [i for i in range(len(parts)) if draw(st.booleans())]
    remaining_texts = {i: text_of(parts[i]) for i in chunked}
    chunks = []
    while remaining_texts:
        index = draw(st.sampled_from(sorted(remaining_texts)))
        size = draw(st.integers(0, len(remaining_texts[index])))
        chunks.append(Chunk(index, remaining_texts[index][:size]))
        remaining_texts[index] = remaining_texts[index][size:]
        if not remaining_texts[index]:
            del remaining_texts[index]
    return Choice(parts, "stop", chunks=tuple(chunks))


def text_of(part: AnswerPart) -> str:
    return part.arguments if isinstance(part, ToolCallPart) else part.text


def response_of(*choices: Choice) -> CanonicalResponse:
    return CanonicalResponse("ab", 1735689600, "m", choices, Usage(1, 1))


RESPONSES = st.lists(choices(), min_size=1, max_size=3).map(lambda drawn: response_of(*drawn))
PACINGS = st.builds(
    Pacing,
    first_ms=st.integers(0, 1000),
    words_per_second=st.sampled_from([0.0, 3.0, 50.0]),
    chunk_ms=st.sampled_from([0, 7]),
    words_per_chunk=st.integers(1, 6),
    jitter=st.floats(0, 1),
)
STREAM_FAULTS = st.builds(
    Fault,
    kind=st.sampled_from(["disconnect", "truncate", "malformed_chunk", "stall", "error_event"]),
    after_chunks=st.integers(0, 40),
    hold_ms=st.integers(0, 5000),
)
