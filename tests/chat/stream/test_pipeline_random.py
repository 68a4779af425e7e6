"""However its pieces are cut, an answer equals the oracle's for the complete texts."""

import random
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_app.stream import StreamPipeline
from chat_app.values.events import StreamEvent, TextDelta, ThinkingDelta, ToolCall
from chat_app.values.model_call import (
    CallArguments,
    CallStarted,
    Finished,
    ProviderEvent,
    TextPart,
    ThinkingPart,
)
from tests.chat.stream_oracle import expected_answer, merge_events
from tests.support.hypothesis_profiles import example_count

Rounds = list[list[ProviderEvent]]

SCRAPS = (
    *("<think>", "</think>", "<think>", "</think>", "␄", "<", "</", "<th", "ink>", "hink>"),
    *(" ", "\n", "\n\n", "\t", "\r\n", "\xa0", "\u2028", "`", "``", "```", "\n```\n", "~~~"),
    *("\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9f", "\ud83d", "\ude00", "\ud83d\ude00", "😀"),
    *("é", "日本", "a", "Hello", "world.", "2 < 3", "👩‍👩‍👧", "▌"),
)

EMPTY = (TextDelta(""), ThinkingDelta(""))


def draw_text(draw: random.Random) -> str:
    # ␄ ends a round, so not every text may contain it.
    scraps = SCRAPS if draw.random() < 0.3 else [scrap for scrap in SCRAPS if scrap != "␄"]
    return "".join(draw.choices(scraps, k=draw.randint(0, 12)))


def draw_rounds(draw: random.Random) -> Rounds:
    """Draw an answer of one to three rounds, in merged pieces."""
    rounds: Rounds = []
    for _ in range(draw.randint(1, 3)):
        events: list[ProviderEvent] = []
        for _ in range(draw.randint(0, 6)):
            events += draw_events(draw)
        rounds.append([*merge_pieces(events), Finished("stop")])
    return rounds


def draw_events(draw: random.Random) -> list[ProviderEvent]:
    match draw.randrange(8):
        case 0:
            return [ThinkingPart(draw_text(draw), signature=draw.choice(["", "sig\x00␄ "]))]
        case 1:
            return [ThinkingPart(redacted="c2VjcmV0")]
        case 2 | 3:
            call_id = draw.choice(["a", "b", "c", "a-2"])
            arguments = draw.choice(["", " ", '{"x": "␄\\n"}', '{"x": "\ud83d\ude00\x00é"}\n'])
            return [CallStarted(call_id, "f"), CallArguments(call_id, arguments)]
        case 4:
            return [CallArguments(draw.choice("abc"), "{}")]
    return [TextPart(draw_text(draw))]


def merge_pieces(events: list[ProviderEvent]) -> list[ProviderEvent]:
    """Merge neighbouring pieces that a provider could send as one and drop empty ones."""
    result: list[ProviderEvent] = []
    for event in events:
        match event, result[-1] if result else None:
            case TextPart("") | ThinkingPart("", "", ""), _:
                pass
            case TextPart(new), TextPart(old):
                result[-1] = TextPart(old + new)
            case ThinkingPart(new, signature, ""), ThinkingPart(old, "", ""):
                result[-1] = ThinkingPart(old + new, signature)
            case CallArguments(call_id, new), CallArguments(other, old) if call_id == other:
                result[-1] = CallArguments(call_id, old + new)
            case _:
                result.append(event)
    return result


def cut_string(draw: random.Random, string: str) -> list[str]:
    if not string:
        return [""]
    borders = sorted(draw.randint(0, len(string)) for _ in range(draw.randint(0, len(string))))
    return [string[start:end] for start, end in zip([0, *borders], [*borders, None], strict=True)]


def cut_pieces(draw: random.Random, events: list[ProviderEvent]) -> list[ProviderEvent]:
    chunks: list[ProviderEvent] = []
    for event in events:
        match event:
            case TextPart(string):
                chunks += map(TextPart, cut_string(draw, string))
            case ThinkingPart(string, signature, ""):
                *pieces, last = cut_string(draw, string)
                chunks += [*map(ThinkingPart, pieces), ThinkingPart(last, signature)]
            case CallArguments(call_id, string):
                chunks += [CallArguments(call_id, piece) for piece in cut_string(draw, string)]
            case _:
                chunks.append(event)
    return chunks


def assert_matches_oracle(rounds: Rounds, chunks: Rounds) -> None:
    expected = expected_answer(rounds)
    pipeline = StreamPipeline()
    events: list[StreamEvent] = []
    for number, pieces in enumerate(chunks):
        new_events = list(chain.from_iterable(map(pipeline.feed, pieces)))
        assert not any(event in EMPTY for event in new_events)
        events += new_events
        assert pipeline.ended is expected.end_marks[number]
        completed_round = pipeline.end_round()
        assert completed_round.parts == expected.rounds[number]
        assert completed_round.calls == tuple(
            part for part in completed_round.parts if isinstance(part, ToolCall)
        )
    assert merge_events(events) == expected.events
    complete = pipeline.complete()
    assert (complete.text, complete.thinking) == (expected.text, expected.thinking)
    assert complete.tool_calls == tuple(
        part for parts in expected.rounds for part in parts if isinstance(part, ToolCall)
    )


@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand_chunkings_match_the_oracle(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        rounds = draw_rounds(draw)
        for _ in range(10):
            assert_matches_oracle(rounds, [cut_pieces(draw, events) for events in rounds])


@given(st.randoms(use_true_random=False))
@settings(max_examples=example_count(200))
def test_any_chunking_matches_the_oracle(draw: random.Random) -> None:
    rounds = draw_rounds(draw)
    assert_matches_oracle(rounds, [cut_pieces(draw, events) for events in rounds])


@given(st.text(max_size=40), st.data())
def test_text_cut_anywhere_matches_the_oracle(string: str, data: st.DataObject) -> None:
    border = data.draw(st.integers(0, len(string)))
    rounds: Rounds = [[TextPart(string), Finished("stop")]]
    assert_matches_oracle(
        rounds, [[TextPart(string[:border]), TextPart(string[border:]), Finished("stop")]]
    )
