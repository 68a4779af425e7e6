"""Slots in the bytes of sample responses, and their fillers."""

import pytest

from scenarios_app.engine.producing.produce import Seed
from scenarios_app.serving.fast.slots import (
    SAMPLE_CREATED,
    SAMPLE_SEED,
    SAMPLE_TOKENS,
    SAMPLE_UID,
    SlotFinder,
    Values,
    join_slotted,
)

UID = "11111111-2222-4333-8444-555555555555"
VALUES = Values(Seed("another"), 1_800_000_000, UID, 42, b'[{"a": 1}]')


def fill_sample(sample: str) -> str:
    """Return a sample with the values of an answer in its slots."""
    finder = SlotFinder()
    slotted = finder.find_text(sample)
    values = [filler(VALUES) for filler in finder.fillers]
    return slotted.fill_text(values)


def test_ids_of_the_sample_are_those_of_the_answer() -> None:
    sample = f"{SAMPLE_SEED.response_id}00 req_{SAMPLE_SEED.request_id} {SAMPLE_UID}"
    seed = VALUES.seed
    assert fill_sample(sample) == f"{seed.response_id}00 req_{seed.request_id} {VALUES.uid}"


@pytest.mark.parametrize("number", [1, 2, 32])
def test_id_of_a_tool_call_is_that_of_the_answer(number: int) -> None:
    sample = f"call_{SAMPLE_SEED.tool_call_id(number)}"
    assert fill_sample(sample) == f"call_{VALUES.seed.tool_call_id(number)}"


@pytest.mark.parametrize(
    ("growth", "added"),
    [(1, 0), (1, 77), (1, -5), (1_000_000, 0), (1_000_000, 5_000_000), (1_000_000, 10**11)],
)
def test_number_that_grows_with_the_tokens_is_computed(growth: int, added: int) -> None:
    sample = growth * SAMPLE_TOKENS + added
    assert fill_sample(f"[{sample}]") == f"[{growth * 42 + added}]"


def test_finder_knows_whether_a_slot_counts_input() -> None:
    finder = SlotFinder()
    finder.find_text(f"{SAMPLE_UID} {SAMPLE_CREATED}")
    assert not finder.counts_input
    finder.find_text(f"{SAMPLE_TOKENS + 9}")
    assert finder.counts_input


def test_time_of_the_response_is_replaced_in_seconds_and_as_text() -> None:
    text = "2096-10-02T07:06:40.000Z until 2096-10-02T07:07:40Z"
    sample = f"{SAMPLE_CREATED} {SAMPLE_CREATED + 60} {text}"
    assert fill_sample(sample) == (
        "1800000000 1800000060 2027-01-15T08:00:00.000Z until 2027-01-15T08:01:00Z"
    )


@pytest.mark.parametrize(
    "text",
    [
        "12 words, 1234567890 and 98765432109876",
        f"{2 * SAMPLE_TOKENS} {SAMPLE_TOKENS + 10**12}",
        "1764000000000 ms, 1764000000000000 µs",
        "2025-01-01T00:00:00Z",
        "2096-99-99T99:99:99Z",
        "f" * 32,
        "a-word-with-dashes-that-is-quite-long",
        "",
    ],
)
def test_text_without_samples_is_unchanged(text: str) -> None:
    assert fill_sample(text) == text


def test_part_of_the_request_is_that_of_each_answer() -> None:
    part = b'[{"id": "' + SAMPLE_SEED.response_id.encode() + b'.*"}]'
    finder = SlotFinder(part)
    slotted = finder.find(b'{"items": %b, "id": "%b"}' % (part, SAMPLE_SEED.response_id.encode()))
    values = [filler(VALUES) for filler in finder.fillers]
    expected = f'{{"items": [{{"a": 1}}], "id": "{VALUES.seed.response_id}"}}'
    assert slotted.fill_text(values) == expected


def test_joined_slots_are_filled_like_separate_ones() -> None:
    finder = SlotFinder()
    pieces = [finder.find_text(text) for text in (SAMPLE_UID, "-", f"<{SAMPLE_CREATED}>", "")]
    values = [filler(VALUES) for filler in finder.fillers]
    assert join_slotted(pieces).fill(values) == b"".join(piece.fill(values) for piece in pieces)
    assert join_slotted([]).fill(()) == b""
    assert join_slotted(pieces).size == 3


def test_slots_of_one_value_share_their_filler() -> None:
    finder = SlotFinder()
    slotted = finder.find_text(f"{SAMPLE_UID} {SAMPLE_UID}")
    assert len(finder.fillers) == 1
    values = [filler(VALUES) for filler in finder.fillers]
    assert slotted.fill_text(values) == f"{VALUES.uid} {VALUES.uid}"
