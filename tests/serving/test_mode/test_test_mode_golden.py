"""Test mode's answers to the byte, for each wire, streamed and whole.

`WRITE_GOLDEN=1 pytest tests/serving/test_mode/test_test_mode_golden.py` writes the files anew.
What changes in them changes for everyone who compares answers.
"""

import os
from pathlib import Path

import pytest

from tests.serving.modes import WIRES, WireName, asking, in_test_mode, marked

GOLDEN = Path(__file__).parents[1] / "golden"
TEXTS = {
    "lorem": "How?\nReason: to be polite",
    "block": marked(
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
    "cancelled": marked({"messages": [{"text_message": {"length": 30}}], "cancel_after_chunks": 2}),
    "wrong": marked({"messages": [{"text_message": {"length": "ten"}}]}),
}
CASES = [(wire, name, stream) for wire in WIRES for name in TEXTS for stream in (True, False)]


async def answer(wire: WireName, name: str, *, stream: bool) -> bytes:
    playing = in_test_mode(words_per_second=0)
    _, _, body = await playing.ask(asking(wire, TEXTS[name], stream=stream))
    return body


@pytest.mark.parametrize(("wire", "name", "stream"), CASES)
async def test_answers_are_these_bytes(wire: WireName, name: str, stream: bool) -> None:
    path = GOLDEN / f"{wire}-{name}-{'stream' if stream else 'whole'}.txt"
    answered = await answer(wire, name, stream=stream)
    if os.environ.get("WRITE_GOLDEN"):
        path.write_bytes(answered)
    assert answered == path.read_bytes()
