"""Slots in the bytes of sample responses, and their fillers."""

import json

import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.producing.produce import Seed
from scenarios_app.engine.producing.slots import (
    SAMPLE_CREATED,
    SAMPLE_PART,
    SAMPLE_SEED,
    SAMPLE_TOKENS,
    SAMPLE_UID,
    SamplesDiffer,
    SlotFinder,
    Values,
    join_slotted,
)
from scenarios_app.engine.producing.usage import with_input_tokens

REQUEST = with_input_tokens(CanonicalRequest("openai", "/", "/", "m"), 42)
VALUES = Values(REQUEST, Seed("another"), 1_800_000_000, "11111111-2222-4333-8444-555555555555")


def fill_sample(sample: str, sample_with_more_tokens: str | None = None) -> str:
    """Return a sample with the values of an answer in its slots."""
    finder = SlotFinder(None)
    slotted = finder.find(sample.encode(), (sample_with_more_tokens or sample).encode())
    values = [filler(VALUES) for filler in finder.fillers]
    assert slotted.length(values) == len(slotted.fill(values))
    return slotted.fill_text(values)


def test_ids_of_the_sample_are_those_of_the_answer() -> None:
    sample = f"{SAMPLE_SEED.response_id}00 req_{SAMPLE_SEED.request_id} {SAMPLE_UID}"
    seed = VALUES.seed
    assert fill_sample(sample) == f"{seed.response_id}00 req_{seed.request_id} {VALUES.uid}"


@pytest.mark.parametrize("number", [1, 2, 32])
def test_id_of_a_tool_call_is_that_of_the_answer(number: int) -> None:
    sample = f"call_{SAMPLE_SEED.tool_call_id(number)}"
    assert fill_sample(sample) == f"call_{VALUES.seed.tool_call_id(number)}"


@pytest.mark.parametrize(("growth", "offset"), [(1, 0), (1, 77), (1, -5), (50_000, 0), (3, 1_000)])
def test_number_that_grows_with_the_tokens_is_computed(growth: int, offset: int) -> None:
    sample, sample_with_more_tokens = (
        growth * (SAMPLE_TOKENS + extra) + offset for extra in (0, 1)
    )
    assert fill_sample(f"[{sample}]", f"[{sample_with_more_tokens}]") == f"[{growth * 42 + offset}]"


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
        "2025-01-01T00:00:00Z",
        "2096-99-99T99:99:99Z",
        "f" * 32,
        "a-word-with-dashes-that-is-quite-long",
        "",
    ],
)
def test_text_without_samples_is_unchanged(text: str) -> None:
    assert fill_sample(text) == text


@pytest.mark.parametrize(
    "other_sample", ["tokens: 3", "token: 33333333333", "tokens: 33333333333 x"]
)
def test_samples_that_differ_in_more_than_numbers_are_no_template(other_sample: str) -> None:
    with pytest.raises(SamplesDiffer):
        SlotFinder(None).find(b"tokens: 22222222222", other_sample.encode())


def test_part_of_the_request_is_made_for_each_answer() -> None:
    finder = SlotFinder(lambda request, response_id: f"{request.model} {response_id}".encode())
    slotted = finder.find_text(f"[{SAMPLE_PART.decode()}]")
    values = [filler(VALUES) for filler in finder.fillers]
    assert slotted.fill_text(values) == f"[m {VALUES.seed.response_id}]"


def test_no_json_contains_the_sample_of_a_part() -> None:
    assert SAMPLE_PART not in json.dumps(SAMPLE_PART.decode()).encode()


def test_joined_slots_are_filled_like_separate_ones() -> None:
    finder = SlotFinder(None)
    pieces = [finder.find_text(text) for text in (SAMPLE_UID, "-", f"<{SAMPLE_CREATED}>", "")]
    values = [filler(VALUES) for filler in finder.fillers]
    assert join_slotted(pieces).fill(values) == b"".join(piece.fill(values) for piece in pieces)
    assert join_slotted([]).fill(()) == b""
    assert join_slotted(pieces).size == 3


def test_slots_of_one_value_share_their_filler() -> None:
    finder = SlotFinder(None)
    slotted = finder.find_text(f"{SAMPLE_UID} {SAMPLE_UID}")
    assert len(finder.fillers) == 1
    values = [filler(VALUES) for filler in finder.fillers]
    assert slotted.fill_text(values) == f"{VALUES.uid} {VALUES.uid}"
