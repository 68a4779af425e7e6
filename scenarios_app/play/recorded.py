"""The conversation that a session of the journal had, to be played again."""

import json
from collections.abc import Iterable

from scenarios_app.engine.canonical import Json
from scenarios_app.models import ServedRequest
from scenarios_app.play.calls import raw
from scenarios_app.wire.registry import find

# Headers that a client makes by itself, and keys, which are masked: a new request brings its own.
_OWN = {"host", "content-length", "connection", "accept-encoding", "transfer-encoding"}
_OWN |= {"x-mockllm-session", "user-agent", "accept"}


def recorded(name: str, rows: Iterable[ServedRequest]) -> tuple[dict[str, Json], int]:
    """The conversation, and how many requests it lacks because the journal kept only the beginning
    of their bodies. What was answered is what should come; where no step answered, one should."""
    turns: list[Json] = []
    cut = 0
    for row in rows:
        query = "&".join(f"{key}={value}" for key, value in row.query.items())
        path = f"{row.path}?{query}" if query else row.path
        if row.method != "POST" or not _is_asked(row, path):
            continue
        if row.request_cut:
            cut += 1
            continue
        headers = {k: v for k, v in row.request_headers.items() if k not in _OWN}
        request: Json = {"path": path, "headers": headers, "body": _body(row.request_body)}
        turns.append({"request": request, "expect": _expected(row)})
    return {"name": (name.strip() or "session")[:200], "turns": turns}, cut


def _is_asked(row: ServedRequest, path: str) -> bool:
    target = find(raw(path, row.request_body, headers=row.request_headers, session=""))
    return bool(target and target.endpoint and target.endpoint.generates)


def _body(text: str) -> Json:
    try:
        body: Json = json.loads(text)
    except ValueError:
        return text
    return body


def _expected(row: ServedRequest) -> dict[str, Json]:
    if not row.scenario or row.fallback:
        return {}
    expect: dict[str, Json] = {"scenario": row.scenario, "step": row.step, "status": row.status}
    if row.answered and row.status < 400:
        # The journal keeps how it begins.
        expect["text"] = {"startswith": row.answered}
    return expect
