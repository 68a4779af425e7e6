"""A pipeline in test mode: the catch-all alone, and calls that hold instruction blocks."""

import json
from typing import Any, TypeAlias

from mockllm_site.paths import SCENARIOS
from scenarios_app.engine.instructions import END, START
from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.pipelines import Playing

WireName: TypeAlias = str
WIRES: tuple[WireName, ...] = tuple(DIALECTS)
CATCH_ALL: dict[str, Any] = json.loads((SCENARIOS / "test_mode.json").read_text())


def in_test_mode(*documents: dict[str, Any], **options: Any) -> Playing:
    return Playing(CATCH_ALL, *documents, **options)


def asking(wire: WireName, text: str = "Hello", *, stream: bool, **fields: Any) -> Call:
    return DIALECTS[wire].call(text, stream=stream, **fields)


def marked(block: Any) -> str:
    return f"Do it. {START}{json.dumps(block)}{END} Thank you."


async def body_of(playing: Playing, call: Call) -> bytes:
    status, _, body = await playing.ask(call)
    assert status == 200, body
    return body
