"""Verify and explain Gemini requests, whose path has the model, the stream and maybe the key."""

import json
from typing import Any

from django.test import Client

from scenarios_app.journal import journal
from tests.control.control_client import KEY, Control, scenario, text_step

HELLO = {"contents": [{"parts": [{"text": "Hello"}]}]}
CANONICAL_MATCH = {"provider": "gemini", "path": "/v1beta/models/{model}:generateContent"}
PATHS = (
    "/v1beta/models/m-1:generateContent",
    "/v1/models/m-1:streamGenerateContent",
    f"/v1/models/m-2:streamGenerateContent?alt=sse&key={KEY}",
)


def send_generate_request(path: str) -> Any:
    headers = {} if "key=" in path else {"x-goog-api-key": KEY}
    body = json.dumps(HELLO, separators=(",", ":"))
    return Client().post(path, body, "application/json", headers=headers)


def count(control: Control, match: dict[str, Any]) -> int:
    body = control.post("verify", {"session": KEY, "match": match}).json()
    assert body["unjudged"] == []
    return int(body["count"])


def test_requests_are_counted_by_their_canonical_path(control: Control) -> None:
    control.post("scenarios", scenario("one", text_step("Hi.", consume=False)))
    for path in PATHS:
        assert send_generate_request(path).status_code == 200
    assert journal.flush()
    messages = [{"role": "user", "equals": "Hello"}]
    assert (
        count(control, CANONICAL_MATCH)
        == count(control, {**CANONICAL_MATCH, "messages": messages})
        == 3
    )
    assert count(control, {**CANONICAL_MATCH, "stream": True}) == 2
    assert count(control, {**CANONICAL_MATCH, "model": "m-2"}) == 1
    assert count(control, {"path": "/v1/models/m-1:streamGenerateContent"}) == 1


def test_explained_response_equals_the_served_response(control: Control) -> None:
    control.post(
        "scenarios", scenario("one", text_step("Hi.", consume=False, match=CANONICAL_MATCH))
    )
    for path in PATHS:
        request_data = {"path": path, "headers": {"x-goog-api-key": KEY}, "body": HELLO}
        explanation = control.post("explain", request_data).json()
        assert (explanation["provider"], explanation["winner"]["scenario"]) == ("gemini", "one")
        response = send_generate_request(path)
        body = b"".join(response) if response.streaming else response.content
        assert explanation["sent"]["body"].encode() == body
        assert explanation["sent"] == explanation["streamed" if "stream" in path else "whole"]
        assert explanation["streamed"]["body"].startswith("[" if path == PATHS[1] else "data: ")
