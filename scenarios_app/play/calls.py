"""A request in one provider's words, or one as it stands, as a call to the pipeline."""

import json
from collections.abc import Mapping
from urllib.parse import quote

from scenarios_app.serving.doors.calls import SAFE_IN_PATH, make_call
from scenarios_app.wire.base import Call
from scenarios_app.wire.registry import ways
from scenarios_app.wire.samples import Asked, Sent


def call_of(sent: Sent, *, session: str) -> Call:
    """What a provider's client sends, in this session if it has a name."""
    path, _, query = sent.path.partition("?")
    named = {**sent.headers, "content-type": "application/json"}
    if session:
        named["x-mockllm-session"] = session
    return make_call(
        "POST",
        path,
        query=query.encode(),
        headers=[(name.encode(), value.encode()) for name, value in named.items()],
        body=json.dumps(sent.body).encode(),
    )


def raw(path: str, body: str, *, headers: Mapping[str, str], session: str) -> Call:
    """A request as it stands, such as one of the journal; keys that are masked there will do."""
    path, _, query = path.partition("?")
    named = {name.lower(): value for name, value in headers.items()}
    named |= {"x-mockllm-session": session} if session else {}
    if not headers:
        # It may be meant for any provider.
        for wire in ways().values():
            named = {**wire.sample(Asked("")).headers, **named}
    return make_call(
        "POST",
        quote(path, safe=SAFE_IN_PATH + "%"),
        query=query.encode(),
        headers=[(n.encode(), v.encode("utf-8", "replace")) for n, v in named.items()],
        body=body.encode("utf-8", "replace"),
    )
