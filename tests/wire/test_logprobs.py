"""Log probabilities of tokens on each wire, streamed or not, and rejected requests."""

import json
from itertools import pairwise
from typing import Any

import pytest
from google.genai.types import LogprobsResult
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.chat_completion import ChoiceLogprobs
from openai.types.completion_choice import Logprobs

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Usage
from scenarios_app.engine.parts import Finish, PartDelta, PartEnd, PartStart, StreamEvent, TextPart
from scenarios_app.engine.producing.usage import split_tokens, top_tokens
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target

PIECES = ("Hello", " big", " world.")
TEXT = "".join(PIECES)
RESPONSE = CanonicalResponse(
    id="f00d", created=1, model="m", choices=(Choice((TextPart(TEXT),), "stop"),), usage=Usage(1, 1)
)
CHAT, LEGACY, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
GEMINI = "/v1beta/models/gemini-2.0-flash:generateContent"
STREAM = "/v1beta/models/gemini-2.0-flash:streamGenerateContent"


def read_request(path: str, **fields: Any) -> tuple[Any, Any]:
    """Return the endpoint of a path and a minimal request with additional fields."""
    minimal_body: dict[str, Any] = {
        CHAT: {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
        LEGACY: {"model": "m", "prompt": "Hi"},
        RESPONSES: {"model": "gpt-4o", "input": "Hi"},
        "/api/chat": {"messages": [{"role": "user", "content": "Hi"}]},
        "/api/generate": {"prompt": "Hi"},
    }.get(path, {"contents": [{"parts": [{"text": "Hi"}]}]})
    call = Call("POST", path, {"alt": "sse"}, {}, json.dumps({**minimal_body, **fields}).encode())
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    endpoint = target.endpoint
    return endpoint, endpoint.read(call, endpoint, target.params, read_body(call.body, Limits()))


def render_body(path: str, **fields: Any) -> Any:
    endpoint, request = read_request(path, **fields)
    return json.loads(endpoint.render(request, RESPONSE))


def stream_events(path: str, **fields: Any) -> list[Any]:
    stream_text = encode_stream(*read_request(path, **fields))
    lines = [line for line in stream_text.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def encode_stream(endpoint: Any, request: Any) -> str:
    """Return the decoded bytes of a stream."""
    encoder = endpoint.encode(request, RESPONSE)
    part = TextPart(TEXT)
    events: list[StreamEvent] = [
        PartStart(0, 0, part),
        *(PartDelta(0, 0, part, piece) for piece in PIECES),
        PartEnd(0, 0, part),
        Finish(0, "stop"),
    ]
    stream_bytes = encoder.opening() + b"".join(map(encoder.event, events)) + encoder.closing()
    return str(stream_bytes.decode())


@given(st.text(max_size=80), st.integers(0, 20))
def test_tokens_add_up_to_the_text_with_descending_alternatives(text: str, top: int) -> None:
    tokens = split_tokens(text)
    assert "".join(token.text for token in tokens) == text
    for token in tokens:
        assert token.logprob < 0
        alternatives = top_tokens(token, top)
        assert len(alternatives) == top and len({other.text for other in alternatives}) == top
        assert all(a.logprob > b.logprob for a, b in pairwise(alternatives))
        assert not top or alternatives[0] == token


def test_chat_completion_has_requested_logprobs() -> None:
    logprobs = render_body(CHAT, logprobs=True, top_logprobs=2)["choices"][0]["logprobs"]
    parsed = ChoiceLogprobs.model_validate(logprobs)
    assert parsed.content is not None and "".join(each.token for each in parsed.content) == TEXT
    assert all(bytes(each.bytes or []).decode() == each.token for each in parsed.content)
    assert all(len(each.top_logprobs) == 2 for each in parsed.content)
    assert parsed.refusal is None
    without_top = render_body(CHAT, logprobs=True)["choices"][0]["logprobs"]["content"]
    assert [each["top_logprobs"] for each in without_top] == [[], [], []]
    assert render_body(CHAT)["choices"][0].get("logprobs") is None
    assert render_body(CHAT, logprobs=False)["choices"][0].get("logprobs") is None


def test_chat_chunks_have_the_logprobs_of_the_body() -> None:
    chunks = stream_events(CHAT, logprobs=True, top_logprobs=1, stream=True)
    streamed_tokens = [
        token
        for chunk in chunks
        for choice in chunk["choices"]
        for token in (choice.get("logprobs") or {}).get("content") or []
    ]
    assert (
        streamed_tokens
        == render_body(CHAT, logprobs=True, top_logprobs=1)["choices"][0]["logprobs"]["content"]
    )
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == TEXT


def test_response_without_text_has_no_logprobs() -> None:
    endpoint, request = read_request(CHAT, logprobs=True)
    empty_response = CanonicalResponse(
        id="f", created=1, model="m", choices=(Choice((), "stop"),), usage=Usage(1, 1)
    )
    assert json.loads(endpoint.render(request, empty_response))["choices"][0]["logprobs"] is None


def test_response_events_have_the_logprobs_of_the_body() -> None:
    options = {"include": ["message.output_text.logprobs"], "top_logprobs": 1}
    content = render_body(RESPONSES, **options)["output"][0]["content"][0]
    assert "".join(token["token"] for token in content["logprobs"]) == TEXT
    events = stream_events(RESPONSES, stream=True, **options)
    deltas = [e for e in events if e["type"] == "response.output_text.delta"]
    assert [token for each in deltas for token in each["logprobs"]] == content["logprobs"]
    done = next(e for e in events if e["type"] == "response.output_text.done")
    assert done["logprobs"] == content["logprobs"]
    added = next(e for e in events if e["type"] == "response.content_part.added")
    assert added["part"]["logprobs"] == []
    assert render_body(RESPONSES)["output"][0]["content"][0]["logprobs"] == []
    assert render_body(RESPONSES, top_logprobs=3)["output"][0]["content"][0]["logprobs"]


def test_legacy_completion_has_token_offsets() -> None:
    logprobs = render_body(LEGACY, logprobs=2)["choices"][0]["logprobs"]
    parsed = Logprobs.model_validate(logprobs)
    assert (parsed.tokens, parsed.text_offset) == (["Hello", " big", " world."], [0, 5, 9])
    assert [len(each) for each in parsed.top_logprobs or []] == [2, 2, 2]
    chunks = [chunk["choices"][0] for chunk in stream_events(LEGACY, logprobs=2, stream=True)]
    offsets = [
        start for each in chunks for start in (each["logprobs"] or {}).get("text_offset", [])
    ]
    assert offsets == [0, 5, 9]
    assert render_body(LEGACY)["choices"][0]["logprobs"] is None


def test_gemini_candidate_has_requested_logprobs() -> None:
    config = {"responseLogprobs": True, "logprobs": 2}
    (candidate,) = render_body(GEMINI, generationConfig=config)["candidates"]
    parsed = LogprobsResult.model_validate(candidate["logprobsResult"])
    chosen = parsed.chosen_candidates or []
    assert "".join(each.token or "" for each in chosen) == TEXT
    assert [len(each.candidates or []) for each in parsed.top_candidates or []] == [2, 2, 2]
    mean = sum(each.log_probability or 0 for each in chosen) / len(chosen)
    assert candidate["avgLogprobs"] == pytest.approx(mean)
    chunks = stream_events(STREAM, generationConfig=config)
    tokens = [
        each
        for chunk in chunks
        for each in chunk["candidates"][0].get("logprobsResult", {}).get("chosenCandidates", [])
    ]
    assert tokens == candidate["logprobsResult"]["chosenCandidates"]
    without_top = render_body(GEMINI, generationConfig={"responseLogprobs": True})["candidates"][0]
    assert "topCandidates" not in without_top["logprobsResult"]
    assert "logprobsResult" not in render_body(GEMINI)["candidates"][0]
    disabled_config = {"responseLogprobs": False}
    assert (
        "logprobsResult"
        not in render_body(GEMINI, generationConfig=disabled_config)["candidates"][0]
    )


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_ollama_response_has_requested_logprobs(path: str) -> None:
    options = {"model": "m", "logprobs": True, "top_logprobs": 2}
    endpoint, request = read_request(path, **options)
    body = json.loads(endpoint.render(request, RESPONSE))
    assert "".join(token["token"] for token in body["logprobs"]) == TEXT
    assert [len(token["top_logprobs"]) for token in body["logprobs"]] == [2, 2, 2]
    lines = encode_stream(endpoint, request).splitlines()
    pieces = [json.loads(line).get("logprobs", []) for line in lines]
    assert [token for piece in pieces for token in piece] == body["logprobs"]
    assert json.loads(lines[0])["done"] is False
    endpoint, request = read_request(path, model="m")
    assert "logprobs" not in json.loads(endpoint.render(request, RESPONSE))


@pytest.mark.parametrize(
    ("path", "fields", "message"),
    [
        (CHAT, {"top_logprobs": 2}, "'logprobs': true"),
        (CHAT, {"logprobs": True, "top_logprobs": 21}, "0 to 20"),
        (CHAT, {"logprobs": True, "top_logprobs": -1}, "0 to 20"),
        (RESPONSES, {"top_logprobs": 21}, "0 to 20"),
        (LEGACY, {"logprobs": 6}, "0 to 5"),
        ("/api/chat", {"model": "m", "top_logprobs": 21}, "between 0 and 20"),
        (GEMINI, {"generationConfig": {"logprobs": 2}}, "responseLogprobs"),
        (GEMINI, {"generationConfig": {"responseLogprobs": True, "logprobs": 21}}, "range"),
    ],
)
def test_invalid_logprobs_request_is_rejected(path: str, fields: Any, message: str) -> None:
    with pytest.raises(WireError, match=message) as raised:
        read_request(path, **fields)
    assert raised.value.answer.status == 400
