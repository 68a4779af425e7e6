"""Anthropic's model objects and cursor pages."""

from collections.abc import Iterable
from typing import Any

import msgspec

from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError

_DEFAULT_LIMIT = 20
_MAX_LIMIT = 1000


def model_info(model: str) -> dict[str, Any]:
    """Return a model with every capability. Its release date is the epoch, which means unknown."""
    return {
        "type": "model",
        "id": model,
        "display_name": model,
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "deprecated_at": None,
        "retires_at": None,
        "line": None,
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
        "allowed_fallback_models": [],
        "capabilities": {
            "batch": _capability(),
            "citations": _capability(),
            "code_execution": _capability(),
            "compaction": _capability("summarize"),
            "context_management": _capability(
                "clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112"
            ),
            "effort": _capability("low", "medium", "high", "xhigh", "max"),
            "image_input": _capability(),
            "pdf_input": _capability(),
            "server_tools": _capability("code_execution", "web_search"),
            "structured_outputs": _capability(),
            "thinking": {
                "supported": True,
                "types": {
                    kind: _capability()
                    for kind in ("adaptive", "between_tools", "disabled", "enabled")
                },
            },
        },
    }


class CursorPage(msgspec.Struct, frozen=True):
    """The requested part of a list: at most `limit` entries between the ids of two; empty ids are
    no bounds."""

    after: str
    before: str
    limit: int


def read_page(call: Call) -> CursorPage:
    """Return the page that a call's query asks for; raise the 400 for an invalid limit."""
    limit = call.query.get("limit") or str(_DEFAULT_LIMIT)
    digits = limit.isascii() and limit.isdigit() and len(limit) <= len(str(_MAX_LIMIT))
    if not digits or not 1 <= int(limit) <= _MAX_LIMIT:
        raise WireError(400, f"limit: Input should be a whole number from 1 to {_MAX_LIMIT}")
    return CursorPage(call.query.get("after_id", ""), call.query.get("before_id", ""), int(limit))


def render_page(listed: Iterable[dict[str, Any]], wanted: CursorPage) -> dict[str, Any]:
    """Return the list object of a page: the first entries after a cursor, or the last ones before
    one. An unknown cursor is ignored."""
    entries = {entry["id"]: entry for entry in listed}
    page = list(entries)
    if wanted.after in entries:
        page = page[page.index(wanted.after) + 1 :]
    if wanted.before in page:
        page = page[: page.index(wanted.before)]
        ids = page[-wanted.limit :]
    else:
        ids = page[: wanted.limit]
    return {
        "data": [entries[each] for each in ids],
        "has_more": len(ids) < len(page),
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
    }


def _capability(*abilities: str) -> dict[str, Any]:
    """Return a supported capability with its supported abilities."""
    return {"supported": True, **{ability: {"supported": True} for ability in abilities}}
