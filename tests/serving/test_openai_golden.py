"""Responses, completions, embeddings and moderations to the byte, streamed and whole.

`WRITE_GOLDEN=1 pytest tests/serving/test_openai_golden.py` rewrites the files. A change in them
affects all users who compare answers.
"""

import os
from pathlib import Path

import pytest

from tests.serving.openai_endpoints import SCENARIOS, calls
from tests.serving.pipelines import Harness

GOLDEN = Path(__file__).with_name("golden")
CALLS = calls()


@pytest.mark.parametrize("name", CALLS)
async def test_answers_equal_the_golden_files(name: str) -> None:
    path = GOLDEN / f"openai-{name}.txt"
    _, _, body = await Harness(*SCENARIOS).ask(CALLS[name])
    if os.environ.get("WRITE_GOLDEN"):
        path.write_bytes(body)
    assert body == path.read_bytes()


async def test_golden_files_include_the_expected_errors() -> None:
    answers = [(name, await Harness(*SCENARIOS).ask(call)) for name, call in CALLS.items()]
    error_statuses = {name: status for name, (status, _, _) in answers if status != 200}
    expected = {"embeddings-wrong-whole": 400, "moderations-wrong-whole": 400}
    for name in ("responses-limited", "completions-limited"):
        expected |= {f"{name}-whole": 429, f"{name}-stream": 429}
    assert error_statuses == expected
