"""Test mode's answers to the byte, for each wire, streamed and whole.

`WRITE_GOLDEN=1 pytest tests/serving/test_mode/test_test_mode_golden.py` rewrites the files. A
change in them affects all users who compare answers.
"""

import os
from pathlib import Path

import pytest

from tests.serving.modes import WIRES, WireName, harness_in_test_mode, sample_call, with_marks

GOLDEN = Path(__file__).parents[1] / "golden"
TEXTS = {
    "lorem": "How?\nReason: to be polite",
    "block": with_marks(
        {
            "id": "golden",
            "id_message": "Größe:",
            "reasoning": {"length": 6},
            "messages": [
                {"text_message": {"length": 11}},
                {"tool_call": [{"name": "get_weather", "args": {"city": "Zürich", "days": [1]}}]},
                {"tools_list": {}},
                {"server_tool_use": {"name": "web_search", "input": {"query": "“q”"}}},
                {"server_tool_result": {"name": "web_search", "result": [{"url": "u"}]}},
                {
                    "text_with_citations": {
                        "text": "Cited words.",
                        "citations": [{"url": "u", "title": "T", "cited_text": "words"}],
                    }
                },
            ],
        }
    ),
    "cancelled": with_marks(
        {"messages": [{"text_message": {"length": 30}}], "cancel_after_chunks": 2}
    ),
    "wrong": with_marks({"messages": [{"text_message": {"length": "ten"}}]}),
}
CASES = [(wire, name, stream) for wire in WIRES for name in TEXTS for stream in (True, False)]


async def fetch_answer(wire: WireName, name: str, *, stream: bool) -> bytes:
    harness = harness_in_test_mode(words_per_second=0)
    _, _, body = await harness.ask(sample_call(wire, TEXTS[name], stream=stream))
    return body


@pytest.mark.parametrize(("wire", "name", "stream"), CASES)
async def test_answers_equal_the_golden_files(wire: WireName, name: str, stream: bool) -> None:
    path = GOLDEN / f"{wire}-{name}-{'stream' if stream else 'whole'}.txt"
    body = await fetch_answer(wire, name, stream=stream)
    if os.environ.get("WRITE_GOLDEN"):
        path.write_bytes(body)
    assert body == path.read_bytes()
