"""Builders for chunks of Gemini's streams."""

from base64 import b64encode
from typing import Any

# Bytes that the two alphabets of base64 write differently.
SEAL = b64encode(b"\xff\xfe seal").decode()


def chunk_of(*parts: dict[str, Any], index: int = 0, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": index}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate]}


def function_call(name: str = "look", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **fields}}


STOP = chunk_of(finish="STOP")
