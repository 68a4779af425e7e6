"""Requests in a dialect of OpenAI's API from the door to the answer: whom steps mean, and who
fails in which words."""

import json
import re
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from scenarios_app.wire.openai.dialects.rows import DIALECTS
from tests.serving.pipelines import KEY, Playing, scenario

HELLO = [{"role": "user", "content": "Hello"}]


def asked(path: str = "/v1/chat/completions", model: str = "m", **headers: str) -> Call:
    body = json.dumps({"model": model, "messages": HELLO}).encode()
    return Call("POST", path, {}, {"authorization": f"Bearer {KEY}", **headers}, body)


def one(**match: Any) -> Playing:
    """A pipeline with one step, which thinks before it speaks."""
    produce: dict[str, Any] = {"reasoning": "Hm.", "text": "Hi"}
    produce["provider_metadata"] = {"groq": {"team": "g"}, "openai": {"team": "o"}}
    return Playing(scenario("s", {"match": match, "consume": False, "produce": produce}))


async def told(playing: Playing, call: Call) -> tuple[int, dict[str, Any]]:
    status, _, body = await playing.ask(call)
    return status, json.loads(body)


async def test_a_steps_provider_chooses_the_dialect_of_a_plain_request() -> None:
    status, body = await told(one(provider="deepseek"), asked())
    assert status == 200
    assert body["choices"][0]["message"]["reasoning_content"] == "Hm."
    assert "reasoning" not in body["choices"][0]["message"]


async def test_plain_requests_are_openais_where_the_step_says_nothing() -> None:
    for match in ({}, {"provider": "openai"}, {"provider": ["openai", "anthropic"]}):
        _, body = await told(one(**match), asked())
        assert body["choices"][0]["message"]["reasoning"] == "Hm."
        assert body["team"] == "o"


async def test_the_dialect_of_a_path_is_not_the_steps_to_choose() -> None:
    _, body = await told(one(provider="openai"), asked("/groq/openai/v1/chat/completions"))
    assert body["x_groq"]["id"].startswith("req_")
    status, body = await told(one(provider="mistral"), asked("/groq/openai/v1/chat/completions"))
    assert status == 404
    assert "provider" in body["error"]["message"] and '"groq"' in body["error"]["message"]


async def test_a_step_for_openai_says_what_it_got_instead_in_one_word() -> None:
    _, body = await told(one(provider="anthropic"), asked())
    assert 'got "openai"' in body["error"]["message"]


async def test_steps_name_the_canonical_path_whatever_stands_before_it() -> None:
    for path in ("/openrouter/api/v1/chat/completions", "/deepseek/chat/completions"):
        for named in ("/v1/chat/completions", path):
            status, _ = await told(one(path=named), asked(path))
            assert status == 200
        status, _ = await told(one(path="/v1/completions"), asked(path))
        assert status == 404


async def test_metadata_goes_by_the_name_of_the_dialect() -> None:
    for call in (
        asked("/groq/openai/v1/chat/completions"),
        asked(**{"x-mockllm-dialect": "groq"}),
    ):
        _, body = await told(one(), call)
        assert body["team"] == "g"
    _, body = await told(one(provider="groq"), asked())
    assert body["team"] == "g"


async def test_the_journal_names_the_provider() -> None:
    playing = one()
    await told(playing, asked("/mistral/v1/chat/completions"))
    await told(playing, asked("/openai/v1/chat/completions"))
    assert [entry.provider for entry in playing.journal] == ["mistral", "openai"]


async def test_faults_and_refusals_are_in_the_dialect_of_the_path() -> None:
    fault = {"fault": {"kind": "http", "status": 503, "message": "Later."}}
    playing = Playing(scenario("s", {"consume": False, "produce": fault}))
    _, body = await told(playing, asked("/xai/v1/chat/completions"))
    assert body == {"code": "Internal error", "error": "Later."}
    status, body = await told(playing, asked("/mistral/v1/nowhere"))
    assert (status, body["object"], body["raw_status_code"]) == (404, "error", 404)
    refused = Call("POST", "/mistral/v1/chat/completions", {}, {}, b"{}")
    status, body = await told(playing, refused)
    assert (status, body["object"]) == (401, "error")


async def test_an_unknown_dialect_is_refused_before_any_step() -> None:
    playing = one()
    status, body = await told(playing, asked(**{"x-mockllm-dialect": "klingon"}))
    assert (status, body["error"]["code"]) == (400, "unknown_dialect")
    status, body = await told(playing, asked(**{"x-mockllm-dialect": ""}))
    assert (status, body["error"]["code"]) == (400, "unknown_dialect")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
async def test_answers_that_are_asked_for_again_have_their_own_ids(name: str, stream: bool) -> None:
    playing = one()
    body = json.dumps({"model": "m", "messages": HELLO, "stream": stream}).encode()
    headers = {"authorization": f"Bearer {KEY}", "x-mockllm-dialect": name}
    sent = [
        (await playing.ask(Call("POST", "/v1/chat/completions", {}, headers, body)))[2].decode()
        for _ in range(4)
    ]
    ids = [set(re.findall(r'"id":"([^"]+)"', each)) for each in sent]
    assert all(ids) and len(set(map(frozenset, ids))) == 4
