"""Verifying and explaining where the path says the model, the kind of stream and maybe the key."""

import json
from typing import Any

from django.test import Client

from scenarios_app.journal import journal
from tests.control.control_client import KEY, Control, says, scenario

HELLO = {"contents": [{"parts": [{"text": "Hello"}]}]}
NAMED = {"provider": "gemini", "path": "/v1beta/models/{model}:generateContent"}
PATHS = (
    "/v1beta/models/m-1:generateContent",
    "/v1/models/m-1:streamGenerateContent",
    f"/v1/models/m-2:streamGenerateContent?alt=sse&key={KEY}",
)


def generate(path: str) -> Any:
    headers = {} if "key=" in path else {"x-goog-api-key": KEY}
    body = json.dumps(HELLO, separators=(",", ":"))
    return Client().post(path, body, "application/json", headers=headers)


def count(control: Control, match: dict[str, Any]) -> int:
    body = control.post("verify", {"session": KEY, "match": match}).json()
    assert body["unjudged"] == []
    return int(body["count"])


def test_requests_are_counted_by_their_canonical_path(control: Control) -> None:
    control.post("scenarios", scenario("one", says("Hi.", consume=False)))
    for path in PATHS:
        assert generate(path).status_code == 200
    assert journal.flush()
    said = [{"role": "user", "equals": "Hello"}]
    assert count(control, NAMED) == count(control, {**NAMED, "messages": said}) == 3
    assert count(control, {**NAMED, "stream": True}) == 2
    assert count(control, {**NAMED, "model": "m-2"}) == 1
    assert count(control, {"path": "/v1/models/m-1:streamGenerateContent"}) == 1


def test_an_explained_answer_is_the_one_that_is_given(control: Control) -> None:
    control.post("scenarios", scenario("one", says("Hi.", consume=False, match=NAMED)))
    for path in PATHS:
        asked = {"path": path, "headers": {"x-goog-api-key": KEY}, "body": HELLO}
        found = control.post("explain", asked).json()
        assert (found["provider"], found["winner"]["scenario"]) == ("gemini", "one")
        given = generate(path)
        body = b"".join(given) if given.streaming else given.content
        assert found["sent"]["body"].encode() == body
        assert found["sent"] == found["streamed" if "stream" in path else "whole"]
        assert found["streamed"]["body"].startswith("[" if path == PATHS[1] else "data: ")
