"""Bodies whose JSON a document cannot hold are recorded as text."""

import json

import pytest

from scenarios_app.engine.document import load_text
from scenarios_app.recording import Interaction
from scenarios_app.recording.document import to_document
from tests.recording.interactions import request, response


@pytest.mark.parametrize(
    "value",
    [rb'"\ud83d"', b"1" + b"0" * 400, b"[" * 60 + b"]" * 60],
    ids=["half a surrogate pair", "large number", "deep list"],
)
def test_json_that_no_document_can_hold_is_recorded_as_text(value: bytes) -> None:
    sent = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}], "extra": %s}' % value
    answer = b'{"error": {"message": "no", "extra": %s}}' % value
    exchange = Interaction(request(body=sent), response(answer, 400))
    document = to_document("one", [exchange]).document
    load_text(json.dumps(document).encode())
    (step,) = document["steps"]
    assert step["match"]["recorded"]["body"] == sent.decode()
    assert step["produce"]["raw"]["body"] == answer.decode()
