"""Secrets are masked everywhere in a recording; other values are unchanged."""

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.document import to_document
from scenarios_app.recording.redaction import redact_interaction
from tests.recording.interactions import CHAT, CHAT_BODY

CANARY = "sk-canary-7f3a91b2c4d5e6f708192a3b"


def interaction(
    *,
    url: str = CHAT,
    headers: tuple[tuple[str, str], ...] = (),
    body: Any = None,
    pieces: tuple[bytes, ...] = (b"{}",),
    response_headers: tuple[tuple[str, str], ...] = (),
) -> Interaction:
    data = json.dumps(CHAT_BODY if body is None else body).encode()
    chunks = tuple((float(n), piece) for n, piece in enumerate(pieces))
    return Interaction(
        RecordedRequest("POST", url, headers, data), RecordedResponse(200, response_headers, chunks)
    )


PLACES = {
    "authorization": interaction(headers=(("Authorization", f"Bearer {CANARY}"),)),
    "x-api-key": interaction(headers=(("x-api-key", CANARY),)),
    "cookie": interaction(headers=(("cookie", f"sid={CANARY}"),)),
    "query": interaction(url=f"{CHAT}?key={CANARY}"),
    "userinfo": interaction(url=f"https://user:{CANARY}@api.openai.com/v1/chat/completions"),
    "body": interaction(body={**CHAT_BODY, "api_key": CANARY}),
    "deep in the body": interaction(
        body={
            **CHAT_BODY,
            "tools": [{"type": "mcp", "headers": {"Authorization": f"Bearer {CANARY}"}}],
        }
    ),
    "text within the body": interaction(
        headers=(("authorization", f"Bearer {CANARY}"),),
        body={**CHAT_BODY, "instructions": f"use {CANARY}!"},
    ),
    "the answer": interaction(
        headers=(("authorization", f"Bearer {CANARY}"),),
        pieces=(b'{"error": "bad key %s"}' % CANARY.encode(),),
    ),
    "the answer, torn apart": interaction(
        headers=(("authorization", f"Bearer {CANARY}"),),
        pieces=(b"bad " + CANARY[:9].encode(), CANARY[9:15].encode(), CANARY[15:].encode() + b"!"),
    ),
    "the answer, of a key in the body": interaction(
        body={**CHAT_BODY, "api_key": CANARY}, pieces=(b"bad " + CANARY.encode(),)
    ),
    "half of it in the answer": interaction(
        headers=(("authorization", f"Bearer {CANARY}"),), pieces=(CANARY[:20].encode() + b"...",)
    ),
    "the answer, under a name": interaction(pieces=(b'{"api_key": "%s"}' % CANARY.encode(),)),
    "a stream, under a name": interaction(
        pieces=(b'data: {"client_secret": "', CANARY.encode(), b'"}\n\n')
    ),
    "the answer's headers": interaction(
        headers=(("authorization", f"Bearer {CANARY}"),),
        response_headers=(("x-request-id", f"for {CANARY}"), ("set-cookie", f"a={CANARY}")),
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_key_is_masked_in_every_place(place: str) -> None:
    conversion = to_document("canary", [PLACES[place]])
    assert conversion.steps == 1
    for text in (
        json.dumps(conversion.document),
        repr(redact_interaction(PLACES[place])),
        repr(conversion.notes),
    ):
        for start in range(len(CANARY) - 12):
            assert CANARY[start : start + 12] not in text


def test_key_repeated_in_the_answer_is_noted() -> None:
    (note,) = to_document("canary", [PLACES["the answer"]]).notes
    assert note == "step 1: the key was repeated in the answer and was taken out there"


@pytest.mark.parametrize(
    "key", ["test-key", "scrubbed", "mock-api-key", "your-api-key-here", "short"]
)
def test_placeholder_key_is_not_masked(key: str) -> None:
    recorded = interaction(
        headers=(("authorization", f"Bearer {key}"),), pieces=(b"this " + key.encode(),)
    )
    assert redact_interaction(recorded).response == recorded.response


def test_signature_of_thinking_is_not_masked() -> None:
    block = {"type": "thinking", "thinking": "x", "signature": "EqQBCkgIARABGAIiQL0123456789"}
    recorded = interaction(
        body={**CHAT_BODY, "messages": [{"role": "assistant", "content": [block]}]},
        pieces=(json.dumps(block).encode(),),
    )
    assert redact_interaction(recorded) == recorded


@given(st.lists(st.integers(0, len(CANARY) + 8), max_size=6), st.binary(max_size=4))
def test_only_the_key_is_masked_in_an_answer_cut_anywhere(cuts: list[int], end: bytes) -> None:
    data = b"say " + CANARY.encode() + end
    boundaries = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = tuple(data[a:b] for a, b in pairwise(boundaries))
    recorded = interaction(headers=(("x-api-key", CANARY),), pieces=pieces)
    redacted = redact_interaction(recorded).response
    assert redacted.body == b"say ***" + end
    assert [at for at, _ in redacted.chunks] == [float(n) for n in range(len(pieces))]


def test_many_secrets_in_a_large_body_are_masked_in_linear_time() -> None:
    keys = {f"api_key_{n}": f"{n:04}-{'a1' * 400}" for n in range(3_000)}
    recorded = interaction(body={**CHAT_BODY, **keys}, pieces=(b"x1" * 1_000_000,))
    started = time.process_time()
    redacted = redact_interaction(recorded)
    # A separate search for each piece of each secret would take minutes.
    assert time.process_time() - started < 10
    assert "a1a1a1a1a1a1" not in redacted.request.body.decode()
