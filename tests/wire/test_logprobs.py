"""Probabilities of tokens, as each wire tells them: whole, streamed, and what is refused."""

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


def asked(path: str, **fields: Any) -> tuple[Any, Any]:
    """A request that was read, and its endpoint."""
    least: dict[str, Any] = {
        CHAT: {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
        LEGACY: {"model": "m", "prompt": "Hi"},
        RESPONSES: {"model": "gpt-4o", "input": "Hi"},
        "/api/chat": {"messages": [{"role": "user", "content": "Hi"}]},
        "/api/generate": {"prompt": "Hi"},
    }.get(path, {"contents": [{"parts": [{"text": "Hi"}]}]})
    call = Call("POST", path, {"alt": "sse"}, {}, json.dumps({**least, **fields}).encode())
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    endpoint = target.endpoint
    return endpoint, endpoint.read(call, endpoint, target.params, read_body(call.body, Limits()))


def whole(path: str, **fields: Any) -> Any:
    endpoint, request = asked(path, **fields)
    return json.loads(endpoint.render(request, RESPONSE))


def streamed(path: str, **fields: Any) -> list[Any]:
    sent = sent_by(*asked(path, **fields))
    lines = [line for line in sent.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def sent_by(endpoint: Any, request: Any) -> str:
    """All bytes of a stream."""
    encoder = endpoint.encode(request, RESPONSE)
    part = TextPart(TEXT)
    events: list[StreamEvent] = [
        PartStart(0, 0, part),
        *(PartDelta(0, 0, part, piece) for piece in PIECES),
        PartEnd(0, 0, part),
        Finish(0, "stop"),
    ]
    sent = encoder.opening() + b"".join(map(encoder.event, events)) + encoder.closing()
    return str(sent.decode())


@given(st.text(max_size=80), st.integers(0, 20))
def test_tokens_joined_are_the_text_and_none_is_likelier_than_itself(text: str, top: int) -> None:
    tokens = split_tokens(text)
    assert "".join(token.text for token in tokens) == text
    for token in tokens:
        assert token.logprob < 0
        others = top_tokens(token, top)
        assert len(others) == top and len({other.text for other in others}) == top
        assert all(a.logprob > b.logprob for a, b in pairwise(others))
        assert not top or others[0] == token


def test_a_chat_completion_tells_its_tokens() -> None:
    told = whole(CHAT, logprobs=True, top_logprobs=2)["choices"][0]["logprobs"]
    read = ChoiceLogprobs.model_validate(told)
    assert read.content is not None and "".join(each.token for each in read.content) == TEXT
    assert all(bytes(each.bytes or []).decode() == each.token for each in read.content)
    assert all(len(each.top_logprobs) == 2 for each in read.content)
    assert read.refusal is None
    plain = whole(CHAT, logprobs=True)["choices"][0]["logprobs"]["content"]
    assert [each["top_logprobs"] for each in plain] == [[], [], []]
    assert whole(CHAT)["choices"][0].get("logprobs") is None
    assert whole(CHAT, logprobs=False)["choices"][0].get("logprobs") is None


def test_the_chunks_of_a_chat_completion_tell_the_same_tokens() -> None:
    chunks = streamed(CHAT, logprobs=True, top_logprobs=1, stream=True)
    told = [
        token
        for chunk in chunks
        for choice in chunk["choices"]
        for token in (choice.get("logprobs") or {}).get("content") or []
    ]
    assert told == whole(CHAT, logprobs=True, top_logprobs=1)["choices"][0]["logprobs"]["content"]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == TEXT


def test_an_answer_without_words_has_no_tokens() -> None:
    endpoint, request = asked(CHAT, logprobs=True)
    silent = CanonicalResponse(
        id="f", created=1, model="m", choices=(Choice((), "stop"),), usage=Usage(1, 1)
    )
    assert json.loads(endpoint.render(request, silent))["choices"][0]["logprobs"] is None


def test_a_response_tells_its_tokens_in_every_event() -> None:
    options = {"include": ["message.output_text.logprobs"], "top_logprobs": 1}
    content = whole(RESPONSES, **options)["output"][0]["content"][0]
    assert "".join(token["token"] for token in content["logprobs"]) == TEXT
    events = streamed(RESPONSES, stream=True, **options)
    deltas = [e for e in events if e["type"] == "response.output_text.delta"]
    assert [token for each in deltas for token in each["logprobs"]] == content["logprobs"]
    done = next(e for e in events if e["type"] == "response.output_text.done")
    assert done["logprobs"] == content["logprobs"]
    added = next(e for e in events if e["type"] == "response.content_part.added")
    assert added["part"]["logprobs"] == []
    assert whole(RESPONSES)["output"][0]["content"][0]["logprobs"] == []
    assert whole(RESPONSES, top_logprobs=3)["output"][0]["content"][0]["logprobs"]


def test_a_legacy_completion_tells_where_its_tokens_begin() -> None:
    told = whole(LEGACY, logprobs=2)["choices"][0]["logprobs"]
    read = Logprobs.model_validate(told)
    assert (read.tokens, read.text_offset) == (["Hello", " big", " world."], [0, 5, 9])
    assert [len(each) for each in read.top_logprobs or []] == [2, 2, 2]
    chunks = [chunk["choices"][0] for chunk in streamed(LEGACY, logprobs=2, stream=True)]
    offsets = [
        start for each in chunks for start in (each["logprobs"] or {}).get("text_offset", [])
    ]
    assert offsets == [0, 5, 9]
    assert whole(LEGACY)["choices"][0]["logprobs"] is None


def test_a_gemini_candidate_tells_its_tokens() -> None:
    config = {"responseLogprobs": True, "logprobs": 2}
    (candidate,) = whole(GEMINI, generationConfig=config)["candidates"]
    read = LogprobsResult.model_validate(candidate["logprobsResult"])
    chosen = read.chosen_candidates or []
    assert "".join(each.token or "" for each in chosen) == TEXT
    assert [len(each.candidates or []) for each in read.top_candidates or []] == [2, 2, 2]
    mean = sum(each.log_probability or 0 for each in chosen) / len(chosen)
    assert candidate["avgLogprobs"] == pytest.approx(mean)
    chunks = streamed(STREAM, generationConfig=config)
    tokens = [
        each
        for chunk in chunks
        for each in chunk["candidates"][0].get("logprobsResult", {}).get("chosenCandidates", [])
    ]
    assert tokens == candidate["logprobsResult"]["chosenCandidates"]
    alone = whole(GEMINI, generationConfig={"responseLogprobs": True})["candidates"][0]
    assert "topCandidates" not in alone["logprobsResult"]
    assert "logprobsResult" not in whole(GEMINI)["candidates"][0]
    off = {"responseLogprobs": False}
    assert "logprobsResult" not in whole(GEMINI, generationConfig=off)["candidates"][0]


@pytest.mark.parametrize("path", ["/api/chat", "/api/generate"])
def test_ollama_tells_its_tokens_beside_what_it_says(path: str) -> None:
    options = {"model": "m", "logprobs": True, "top_logprobs": 2}
    endpoint, request = asked(path, **options)
    told = json.loads(endpoint.render(request, RESPONSE))
    assert "".join(token["token"] for token in told["logprobs"]) == TEXT
    assert [len(token["top_logprobs"]) for token in told["logprobs"]] == [2, 2, 2]
    lines = sent_by(endpoint, request).splitlines()
    pieces = [json.loads(line).get("logprobs", []) for line in lines]
    assert [token for piece in pieces for token in piece] == told["logprobs"]
    assert json.loads(lines[0])["done"] is False
    endpoint, request = asked(path, model="m")
    assert "logprobs" not in json.loads(endpoint.render(request, RESPONSE))


@pytest.mark.parametrize(
    ("path", "fields", "said"),
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
def test_more_than_there_is_to_tell_is_refused(path: str, fields: Any, said: str) -> None:
    with pytest.raises(WireError, match=said) as raised:
        asked(path, **fields)
    assert raised.value.answer.status == 400
