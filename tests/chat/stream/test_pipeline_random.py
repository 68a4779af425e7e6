"""Whatever the borders of its pieces, an answer comes to what its whole texts come to."""

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
from tests.chat.whole_answers import joined, whole
from tests.support.hypothesis_profiles import often

Rounds = list[list[ProviderEvent]]

SCRAPS = (
    *("<think>", "</think>", "<think>", "</think>", "␄", "<", "</", "<th", "ink>", "hink>"),
    *(" ", "\n", "\n\n", "\t", "\r\n", "\xa0", "\u2028", "`", "``", "```", "\n```\n", "~~~"),
    *("\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9f", "\ud83d", "\ude00", "\ud83d\ude00", "😀"),
    *("é", "日本", "a", "Hello", "world.", "2 < 3", "👩‍👩‍👧", "▌"),
)

EMPTY = (TextDelta(""), ThinkingDelta(""))


def text(draw: random.Random) -> str:
    # ␄ ends a round, so not every text may contain it.
    scraps = SCRAPS if draw.random() < 0.3 else [one for one in SCRAPS if one != "␄"]
    return "".join(draw.choices(scraps, k=draw.randint(0, 12)))


def written(draw: random.Random) -> Rounds:
    """An answer in whole pieces, of one to three rounds."""
    rounds: Rounds = []
    for _ in range(draw.randint(1, 3)):
        events: list[ProviderEvent] = []
        for _ in range(draw.randint(0, 6)):
            events += something(draw)
        rounds.append([*merged(events), Finished("stop")])
    return rounds


def something(draw: random.Random) -> list[ProviderEvent]:
    match draw.randrange(8):
        case 0:
            return [ThinkingPart(text(draw), signature=draw.choice(["", "sig\x00␄ "]))]
        case 1:
            return [ThinkingPart(redacted="c2VjcmV0")]
        case 2 | 3:
            call_id = draw.choice(["a", "b", "c", "a-2"])
            arguments = draw.choice(["", " ", '{"x": "␄\\n"}', '{"x": "\ud83d\ude00\x00é"}\n'])
            return [CallStarted(call_id, "f"), CallArguments(call_id, arguments)]
        case 4:
            return [CallArguments(draw.choice("abc"), "{}")]
    return [TextPart(text(draw))]


def merged(events: list[ProviderEvent]) -> list[ProviderEvent]:
    """Neighbours that a provider could as well have sent as one; empty pieces say nothing."""
    found: list[ProviderEvent] = []
    for event in events:
        match event, found[-1] if found else None:
            case TextPart("") | ThinkingPart("", "", ""), _:
                pass
            case TextPart(new), TextPart(old):
                found[-1] = TextPart(old + new)
            case ThinkingPart(new, signature, ""), ThinkingPart(old, "", ""):
                found[-1] = ThinkingPart(old + new, signature)
            case CallArguments(call_id, new), CallArguments(other, old) if call_id == other:
                found[-1] = CallArguments(call_id, old + new)
            case _:
                found.append(event)
    return found


def cut(draw: random.Random, string: str) -> list[str]:
    if not string:
        return [""]
    borders = sorted(draw.randint(0, len(string)) for _ in range(draw.randint(0, len(string))))
    return [string[start:end] for start, end in zip([0, *borders], [*borders, None], strict=True)]


def chunked(draw: random.Random, events: list[ProviderEvent]) -> list[ProviderEvent]:
    found: list[ProviderEvent] = []
    for event in events:
        match event:
            case TextPart(string):
                found += map(TextPart, cut(draw, string))
            case ThinkingPart(string, signature, ""):
                *pieces, last = cut(draw, string)
                found += [*map(ThinkingPart, pieces), ThinkingPart(last, signature)]
            case CallArguments(call_id, string):
                found += [CallArguments(call_id, piece) for piece in cut(draw, string)]
            case _:
                found.append(event)
    return found


def check(rounds: Rounds, chunks: Rounds) -> None:
    expected = whole(rounds)
    pipeline = StreamPipeline()
    events: list[StreamEvent] = []
    for number, pieces in enumerate(chunks):
        said = list(chain.from_iterable(map(pipeline.feed, pieces)))
        assert not any(event in EMPTY for event in said)
        events += said
        assert pipeline.ended is expected.ended[number]
        done = pipeline.end_round()
        assert done.parts == expected.rounds[number]
        assert done.calls == tuple(part for part in done.parts if isinstance(part, ToolCall))
    assert joined(events) == expected.events
    complete = pipeline.complete()
    assert (complete.text, complete.thinking) == (expected.text, expected.thinking)
    assert complete.tool_calls == tuple(
        part for parts in expected.rounds for part in parts if isinstance(part, ToolCall)
    )


@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand_chunkings_come_to_the_whole_text(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(50):
        rounds = written(draw)
        for _ in range(10):
            check(rounds, [chunked(draw, events) for events in rounds])


@given(st.randoms(use_true_random=False))
@settings(max_examples=often(200))
def test_any_chunking_comes_to_the_whole_text(draw: random.Random) -> None:
    rounds = written(draw)
    check(rounds, [chunked(draw, events) for events in rounds])


@given(st.text(max_size=40), st.data())
def test_any_text_cut_anywhere_comes_to_itself(string: str, data: st.DataObject) -> None:
    border = data.draw(st.integers(0, len(string)))
    rounds: Rounds = [[TextPart(string), Finished("stop")]]
    check(rounds, [[TextPart(string[:border]), TextPart(string[border:]), Finished("stop")]])
