"""A pipeline in test mode, and calls with instruction blocks."""

import json
from typing import Any, TypeAlias

from mockllm_site.paths import SCENARIOS
from scenarios_app.engine.instructions import END, START
from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.pipelines import Harness

WireName: TypeAlias = str
WIRES: tuple[WireName, ...] = tuple(DIALECTS)
CATCH_ALL: dict[str, Any] = json.loads((SCENARIOS / "test_mode.json").read_text())


def harness_in_test_mode(*documents: dict[str, Any], **options: Any) -> Harness:
    return Harness(CATCH_ALL, *documents, **options)


def sample_call(wire: WireName, text: str = "Hello", *, stream: bool, **fields: Any) -> Call:
    return DIALECTS[wire].call(text, stream=stream, **fields)


def with_marks(block: Any) -> str:
    return f"Do it. {START}{json.dumps(block)}{END} Thank you."


async def fetch_body(harness: Harness, call: Call) -> bytes:
    status, _, body = await harness.ask(call)
    assert status == 200, body
    return body
