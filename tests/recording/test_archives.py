"""Imported archives of browsers (HAR), and notes on what is left out."""

import base64
import json
from typing import Any

import pytest

from tests.recording.files import read_error, read_interactions, read_recording
from tests.recording.interactions import ANSWER, CHAT, CHAT_BODY


def entry(method: str = "POST", status: int = 200, **content: Any) -> dict[str, Any]:
    headers = [{"name": "Authorization", "value": "Bearer x"}]
    post_data = {"mimeType": "application/json", "text": json.dumps(CHAT_BODY)}
    answer = {"mimeType": "application/json", "text": json.dumps(ANSWER), **content}
    return {
        "timings": {"wait": 120.5},
        "request": {"method": method, "url": CHAT, "headers": headers, "postData": post_data},
        "response": {
            "status": status,
            "headers": [["content-type", "application/json"]],
            "content": answer,
        },
    }


def test_browser_archive_is_imported() -> None:
    encoded = {"text": base64.b64encode(b"\xff").decode(), "encoding": "base64"}
    entries = [
        entry(),
        entry(**encoded),
        entry("OPTIONS", 204),
        entry(status=0),
        entry(text=None, size=9),
    ]
    har = {"log": {"version": "1.2", "entries": entries}}
    first, second, third = read_interactions(har, "site.har")
    assert first.response.chunks == ((120.5, json.dumps(ANSWER).encode()),)
    assert second.response.body == b"\xff"
    assert third.notes == ("its answer is not whole: the archive has no body for it",)
    conversion = read_recording(har, "site.har")
    assert f"left out: POST {CHAT}: it has no answer" in conversion.notes
    assert "step 3: its answer is not whole: the archive has no body for it" in conversion.notes
    assert "Base64" in read_error({"log": {"entries": [entry(**encoded | {"text": "%"})]}}, "a.har")


def test_handshake_of_a_websocket_is_left_out() -> None:
    har = {"log": {"entries": [entry(), entry("GET", 101, text=None)]}}
    conversion = read_recording(har, "site.har")
    assert conversion.steps == 1
    assert conversion.notes == (
        f"left out: GET {CHAT}: it became a WebSocket, which is not read here",
    )


@pytest.mark.parametrize("status", [204, 304])
def test_answer_of_a_status_without_body_is_imported_without_its_body(status: int) -> None:
    har = {"log": {"entries": [entry(status=status)]}}
    (step,) = read_recording(har, "site.har").document["steps"]
    assert "body" not in step["produce"]["raw"]
    assert step["produce"]["recorded"]["chunks"] == []


@pytest.mark.parametrize("wait", [10**400, -1])
def test_wait_that_is_no_time_counts_as_none(wait: int) -> None:
    archive_entry = {**entry(), "timings": {"wait": wait}}
    (interaction,) = read_interactions({"log": {"entries": [archive_entry]}}, "site.har")
    assert interaction.response.chunks == ((0.0, json.dumps(ANSWER).encode()),)
