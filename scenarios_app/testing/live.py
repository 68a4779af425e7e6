"""Compares the shape of providers' current responses with the recorded ones."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from msgspec.structs import replace
from pydantic import ValidationError

from scenarios_app.engine.document.recorded import RecordedAnswerDocument
from scenarios_app.engine.recorded import RecordedAnswer
from scenarios_app.recording.drift import (
    Drift,
    RecordedStep,
    Shape,
    recorded_steps,
    response_shape,
    shape_differences,
)
from scenarios_app.recording.upstreams import NotForwarded, find_upstream_url
from scenarios_app.serving.recorder.upstream import (
    Outgoing,
    UpstreamFailed,
    open_response,
    read_whole,
)
from scenarios_app.testing.control import ServerFailed
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import find_target
from scenarios_app.wire.upstream import Upstream
from scenarios_app.wire.upstreams import upstreams as provider_upstreams

TIMEOUT_SECONDS: Final = 120.0
MAX_BODY_BYTES: Final = 10_000_000


async def live_drift(
    documents: Iterable[Mapping[str, Any]],
    *,
    upstreams: Mapping[str, str],
    keys: Mapping[str, str],
    paths: Sequence[str] = (),
) -> list[Drift]:
    """Send the recorded requests to their providers; return the responses of another shape. `paths`
    are forwarded besides the server's own routes. Raises ServerFailed for an invalid step, a
    provider without upstream, or one that does not respond."""
    drifts: list[Drift] = []
    for document in documents:
        for step in recorded_steps(document):
            recorded_response = _recorded_response(step)
            if recorded_response is None:
                continue
            current = await _fetch_shape(_build_request(step, upstreams, keys, paths=paths))
            media_type = dict(recorded_response.headers).get("content-type", "")
            status, body = recorded_response.status, recorded_response.body
            if differences := shape_differences(response_shape(status, media_type, body), current):
                request = f"the answer to {step.request_line}"
                drifts.append(Drift("changed", step.cassette, step.step, request, differences))
    return drifts


def _recorded_response(step: RecordedStep) -> RecordedAnswer | None:
    """Return the recorded response of a step, or None; raises ServerFailed for an invalid one."""
    produce = step.document.get("produce") or {}
    if "recorded" not in produce:
        return None
    try:
        return RecordedAnswerDocument.model_validate(produce["recorded"]).compile()
    except ValidationError as error:
        reason = str(error).splitlines()[0]
        raise ServerFailed(f"{step.cassette}, step {step.step}: {reason}") from None


def _build_request(
    step: RecordedStep,
    upstreams: Mapping[str, str],
    keys: Mapping[str, str],
    *,
    paths: Sequence[str],
) -> Outgoing:
    """Return the recorded request with a real key; raises ServerFailed without an upstream."""
    match, request = step.document["match"], step.request
    path = step.path.replace("{model}", str(match.get("model", "")))
    defaults = provider_upstreams()
    provider = defaults.get(str(match.get("provider", "")))
    headers = dict(provider.headers) if provider else {}
    query = urlencode(dict(request.query))
    text = request.body if isinstance(request.body, str) else json.dumps(request.body)
    body = b"" if request.body is None else text.encode()
    call = Call(request.method, path, dict(request.query), headers, body, query)
    if provider is not None:
        call = _with_routing_header(call, provider)
    try:
        name, url = find_upstream_url(call, upstreams, paths=paths)
    except NotForwarded as error:
        raise ServerFailed(f"{step.cassette}, step {step.step}: {error}") from None
    if not url:
        raise ServerFailed(f"{step.cassette}, step {step.step}: no upstream of {name} is named")
    if key := keys.get(name, ""):
        header = defaults[name].key_header
        headers[header or "authorization"] = key if header else f"Bearer {key}"
    if body:
        headers["content-type"] = "application/json"
    headers["accept-encoding"] = "identity"
    tail, header_items = f"?{query}" if query else "", tuple(headers.items())
    return Outgoing(name, request.method, url + tail, header_items, body, path + tail)


def _with_routing_header(call: Call, provider: Upstream) -> Call:
    """Return a call that reaches this provider, also if a step names its path as another's."""
    target = find_target(call)
    is_there = target is not None and target.wire.provider == provider.name
    if is_there or provider.routing_header is None:
        return call
    header, value = provider.routing_header
    return replace(call, headers={**call.headers, header: value})


async def _fetch_shape(out: Outgoing) -> Shape:
    """Send a request and return the shape of its response; raises ServerFailed if there is none."""
    try:
        async with open_response(out, seconds=TIMEOUT_SECONDS) as response:
            body = await read_whole(response, out, max_bytes=MAX_BODY_BYTES)
            media_type = response.headers.get("content-type", "")
            return response_shape(response.status_code, media_type, body)
    except UpstreamFailed as failed:
        raise ServerFailed(failed.error.message) from None
