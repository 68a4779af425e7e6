"""What a browser's archive (HAR) says of each request, and what is not carried over."""

import base64
import json
from typing import Any

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
