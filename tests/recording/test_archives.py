"""What a browser's archive (HAR) says of each request, and what is not carried over."""

import base64
import json
from typing import Any

import pytest

from tests.recording.files import interactions, read, refused
from tests.recording.interactions import ANSWER, CHAT, SAID


def entry(method: str = "POST", status: int = 200, **content: Any) -> dict[str, Any]:
    headers = [{"name": "Authorization", "value": "Bearer x"}]
    posted = {"mimeType": "application/json", "text": json.dumps(SAID)}
    answer = {"mimeType": "application/json", "text": json.dumps(ANSWER), **content}
    return {
        "timings": {"wait": 120.5},
        "request": {"method": method, "url": CHAT, "headers": headers, "postData": posted},
        "response": {
            "status": status,
            "headers": [["content-type", "application/json"]],
            "content": answer,
        },
    }


def test_an_archive_of_a_browser() -> None:
    encoded = {"text": base64.b64encode(b"\xff").decode(), "encoding": "base64"}
    entries = [
        entry(),
        entry(**encoded),
        entry("OPTIONS", 204),
        entry(status=0),
        entry(text=None, size=9),
    ]
    har = {"log": {"version": "1.2", "entries": entries}}
    first, second, third = interactions(har, "site.har")
    assert first.response.chunks == ((120.5, json.dumps(ANSWER).encode()),)
    assert second.response.body == b"\xff"
    assert third.notes == ("its answer is not whole: the archive has no body for it",)
    made = read(har, "site.har")
    assert f"left out: POST {CHAT}: it has no answer" in made.notes
    assert "step 3: its answer is not whole: the archive has no body for it" in made.notes
    assert "Base64" in refused({"log": {"entries": [entry(**encoded | {"text": "%"})]}}, "a.har")


def test_handshake_of_a_websocket_is_left_out() -> None:
    har = {"log": {"entries": [entry(), entry("GET", 101, text=None)]}}
    made = read(har, "site.har")
    assert made.steps == 1
    assert made.notes == (f"left out: GET {CHAT}: it became a WebSocket, which is not read here",)


@pytest.mark.parametrize("status", [204, 304])
def test_answer_of_a_status_without_body_is_imported_without_its_body(status: int) -> None:
    har = {"log": {"entries": [entry(status=status)]}}
    (step,) = read(har, "site.har").document["steps"]
    assert "body" not in step["produce"]["raw"]
    assert step["produce"]["recorded"]["chunks"] == []


@pytest.mark.parametrize("wait", [10**400, -1])
def test_wait_that_is_no_time_counts_as_none(wait: int) -> None:
    one = {**entry(), "timings": {"wait": wait}}
    (interaction,) = interactions({"log": {"entries": [one]}}, "site.har")
    assert interaction.response.chunks == ((0.0, json.dumps(ANSWER).encode()),)
