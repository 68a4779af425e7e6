"""Responses, completions, embeddings and moderations to the byte, streamed and whole.

`WRITE_GOLDEN=1 pytest tests/serving/test_openai_golden.py` writes the files anew. What changes in
them changes for everyone who compares answers.
"""

import os
from pathlib import Path

import pytest

from tests.serving.openai_others import SCENARIOS, calls
from tests.serving.pipelines import Playing

GOLDEN = Path(__file__).with_name("golden")
CALLS = calls()


@pytest.mark.parametrize("name", CALLS)
async def test_answers_are_these_bytes(name: str) -> None:
    path = GOLDEN / f"openai-{name}.txt"
    _, _, body = await Playing(*SCENARIOS).ask(CALLS[name])
    if os.environ.get("WRITE_GOLDEN"):
        path.write_bytes(body)
    assert body == path.read_bytes()


async def test_each_kind_of_answer_is_among_them() -> None:
    asked = [(name, await Playing(*SCENARIOS).ask(call)) for name, call in CALLS.items()]
    wrong = {name: status for name, (status, _, _) in asked if status != 200}
    expected = {"embeddings-wrong-whole": 400, "moderations-wrong-whole": 400}
    for name in ("responses-limited", "completions-limited"):
        expected |= {f"{name}-whole": 429, f"{name}-stream": 429}
    assert wrong == expected
