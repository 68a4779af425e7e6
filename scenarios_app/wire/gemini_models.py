"""Gemini's models list: what is known of a model, and pages of them."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Mapping
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError

_DEFAULT_SIZE = 50
_MAX_SIZE = 1000
_DIMENSIONS: Mapping[str, int] = {"text-embedding-004": 768, "embedding-001": 768}
_MOST_DIMENSIONS = 3072
_GENERATE = ("generateContent", "countTokens")
_EMBED = ("embedContent", "countTokens")


def dimensions_of(model: str) -> int:
    """How long a model's vectors are where nobody asks for shorter ones."""
    return _DIMENSIONS.get(model, _MOST_DIMENSIONS)


def model_info(model: str) -> dict[str, Any]:
    """A model that can do everything of its kind."""
    embeds = "embedding" in model
    info: dict[str, Any] = {
        "name": model if "/" in model else f"models/{model}",
        "version": "001",
        "displayName": model,
        "description": "A model of the mock server.",
        "inputTokenLimit": 2048 if embeds else 1_048_576,
        "outputTokenLimit": 1 if embeds else 65_536,
        "supportedGenerationMethods": list(_EMBED if embeds else _GENERATE),
    }
    if not embeds:
        info |= {"temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2, "thinking": True}
    return info


def read_page(call: Call) -> Mapping[str, Json]:
    """The part of a models list that a call asks for."""
    given = _query(call, "pageSize") or "0"
    if not (given.isascii() and given.isdigit()):
        raise WireError(
            400, f"pageSize: expected a whole number, but got {given}", param="pageSize"
        )
    size = min(int(given[:9]) or _DEFAULT_SIZE, _MAX_SIZE)
    return {"size": size, "token": _query(call, "pageToken")}


def models_page(models: list[str], wanted: Mapping[str, Json]) -> dict[str, Any]:
    """One page, and the token of the next if there is one."""
    size, token = wanted["size"], wanted["token"]
    assert isinstance(size, int)
    start = _start(token) if isinstance(token, str) and token else 0
    page: dict[str, Any] = {"models": [model_info(m) for m in models[start : start + size]]}
    if start + size < len(models):
        page["nextPageToken"] = urlsafe_b64encode(str(start + size).encode()).decode()
    return page


def _start(token: str) -> int:
    try:
        start = urlsafe_b64decode(token.encode())
    except (Error, ValueError):
        start = b""
    if not start.isdigit():
        raise WireError(400, "Page token is invalid.", param="pageToken")
    return int(start[:9])


def _query(call: Call, name: str) -> str:
    snake = name.replace("S", "_s").replace("T", "_t")
    return call.query.get(name) or call.query.get(snake) or ""
