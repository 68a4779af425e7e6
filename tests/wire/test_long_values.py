"""Parsing time is linear in the length of values, and long values are released afterwards."""

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from scenarios_app.wire.anthropic.request import with_described_keywords
from scenarios_app.wire.gemini.request import json_schema
from tests.wire.anthropic import anthropic_cases
from tests.wire.gemini import gemini_cases
from tests.wire.ollama import ollama_cases

CALL = {"function": {"name": "f", "arguments": {}}}


def read_description(count: int) -> None:
    with_described_keywords({"description": "\n{a: " * count})


def read_keep_alive(count: int) -> None:
    ollama_cases.catch_error(keep_alive="1" * count)


def answer_after_context(count: int) -> None:
    data = b"[%b]" % b",".join([b'["user",""]'] * count)
    data += b" " * (len(data) % 2)
    numbers = [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]
    ollama_cases.render(ollama_cases.parse_generate(context=numbers), ollama_cases.answer([]))


def match_results(count: int) -> None:
    results = [{"role": "tool", "tool_call_id": "x", "tool_name": "g"}] * count
    ollama_cases.parse({"role": "assistant", "tool_calls": [CALL] * count}, *results)


@pytest.mark.parametrize(
    "parse_value", [read_description, read_keep_alive, answer_after_context, match_results]
)
def test_parsing_time_is_linear_in_the_length_of_a_value(
    parse_value: Callable[[int], None],
) -> None:
    def measure_seconds(count: int) -> float:
        start = time.process_time()
        parse_value(count)
        return time.process_time() - start

    measure_seconds(10)
    # Sixteen times the length took 256 times the time when each position searched the rest.
    assert measure_seconds(8_000) < 60 * max(measure_seconds(500), 0.002)


def read_anthropic_model(name: str) -> None:
    anthropic_cases.parse({**anthropic_cases.MINIMAL_BODY, "model": name})


def read_gemini_tool(name: str) -> None:
    gemini_cases.parse({**gemini_cases.MINIMAL_BODY, "tools": [{name: {}}]})


def read_gemini_part(name: str) -> None:
    gemini_cases.parse_contents({"parts": [{name: {}}]})


@pytest.mark.parametrize("parse_name", [read_anthropic_model, read_gemini_tool, read_gemini_part])
def test_long_name_is_released_after_its_request(parse_name: Callable[[str], None]) -> None:
    parse_name("warm")
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(4):
            parse_name(f"{parse_name.__name__} {number}" * 20_000)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 250_000
    finally:
        tracemalloc.stop()


def test_size_with_too_many_digits_stays_text() -> None:
    schema: dict[str, Any] = {"minLength": "1" * 5_000, "maxLength": "9" * 18}
    assert json_schema(schema) == {**schema, "maxLength": int("9" * 18)}
    config = {"responseSchema": schema}
    assert (
        gemini_cases.parse({**gemini_cases.MINIMAL_BODY, "generationConfig": config}).json
        is not None
    )
