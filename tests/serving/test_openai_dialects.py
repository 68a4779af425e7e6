"""Requests in dialects of OpenAI's API: the steps that match them, and errors in each dialect."""

import json
import re
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from scenarios_app.wire.openai.dialects.rows import DIALECTS
from tests.serving.pipelines import KEY, Harness, scenario

HELLO = [{"role": "user", "content": "Hello"}]


def chat_call(path: str = "/v1/chat/completions", model: str = "m", **headers: str) -> Call:
    body = json.dumps({"model": model, "messages": HELLO}).encode()
    return Call("POST", path, {}, {"authorization": f"Bearer {KEY}", **headers}, body)


def reasoning_harness(**match: Any) -> Harness:
    """Return a harness with one step, whose answer has reasoning and text."""
    produce: dict[str, Any] = {"reasoning": "Hm.", "text": "Hi"}
    produce["provider_metadata"] = {"groq": {"team": "g"}, "openai": {"team": "o"}}
    return Harness(scenario("s", {"match": match, "consume": False, "produce": produce}))


async def fetch_json(harness: Harness, call: Call) -> tuple[int, dict[str, Any]]:
    status, _, body = await harness.ask(call)
    return status, json.loads(body)


async def test_a_steps_provider_chooses_the_dialect_of_a_plain_request() -> None:
    status, body = await fetch_json(reasoning_harness(provider="deepseek"), chat_call())
    assert status == 200
    assert body["choices"][0]["message"]["reasoning_content"] == "Hm."
    assert "reasoning" not in body["choices"][0]["message"]


async def test_plain_request_is_openais_if_the_step_names_no_dialect() -> None:
    for match in ({}, {"provider": "openai"}, {"provider": ["openai", "anthropic"]}):
        _, body = await fetch_json(reasoning_harness(**match), chat_call())
        assert body["choices"][0]["message"]["reasoning"] == "Hm."
        assert body["team"] == "o"


async def test_dialect_of_a_path_is_not_changed_by_the_step() -> None:
    _, body = await fetch_json(
        reasoning_harness(provider="openai"), chat_call("/groq/openai/v1/chat/completions")
    )
    assert body["x_groq"]["id"].startswith("req_")
    status, body = await fetch_json(
        reasoning_harness(provider="mistral"), chat_call("/groq/openai/v1/chat/completions")
    )
    assert status == 404
    assert "provider" in body["error"]["message"] and '"groq"' in body["error"]["message"]


async def test_mismatch_of_a_plain_request_names_openai_alone() -> None:
    _, body = await fetch_json(reasoning_harness(provider="anthropic"), chat_call())
    assert 'got "openai"' in body["error"]["message"]


async def test_step_matches_the_canonical_path_and_the_full_path() -> None:
    for path in ("/openrouter/api/v1/chat/completions", "/deepseek/chat/completions"):
        for match_path in ("/v1/chat/completions", path):
            status, _ = await fetch_json(reasoning_harness(path=match_path), chat_call(path))
            assert status == 200
        status, _ = await fetch_json(reasoning_harness(path="/v1/completions"), chat_call(path))
        assert status == 404


async def test_provider_metadata_is_chosen_by_dialect() -> None:
    for call in (
        chat_call("/groq/openai/v1/chat/completions"),
        chat_call(**{"x-mockllm-dialect": "groq"}),
    ):
        _, body = await fetch_json(reasoning_harness(), call)
        assert body["team"] == "g"
    _, body = await fetch_json(reasoning_harness(provider="groq"), chat_call())
    assert body["team"] == "g"


async def test_the_journal_names_the_provider() -> None:
    harness = reasoning_harness()
    await fetch_json(harness, chat_call("/mistral/v1/chat/completions"))
    await fetch_json(harness, chat_call("/openai/v1/chat/completions"))
    assert [entry.provider for entry in harness.journal] == ["mistral", "openai"]


async def test_faults_and_refusals_are_in_the_dialect_of_the_path() -> None:
    fault = {"fault": {"kind": "http", "status": 503, "message": "Later."}}
    harness = Harness(scenario("s", {"consume": False, "produce": fault}))
    _, body = await fetch_json(harness, chat_call("/xai/v1/chat/completions"))
    assert body == {"code": "Internal error", "error": "Later."}
    status, body = await fetch_json(harness, chat_call("/mistral/v1/nowhere"))
    assert (status, body["object"], body["raw_status_code"]) == (404, "error", 404)
    keyless = Call("POST", "/mistral/v1/chat/completions", {}, {}, b"{}")
    status, body = await fetch_json(harness, keyless)
    assert (status, body["object"]) == (401, "error")


async def test_an_unknown_dialect_is_refused_before_any_step() -> None:
    harness = reasoning_harness()
    status, body = await fetch_json(harness, chat_call(**{"x-mockllm-dialect": "klingon"}))
    assert (status, body["error"]["code"]) == (400, "unknown_dialect")
    status, body = await fetch_json(harness, chat_call(**{"x-mockllm-dialect": ""}))
    assert (status, body["error"]["code"]) == (400, "unknown_dialect")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
async def test_equal_requests_get_different_ids(name: str, stream: bool) -> None:
    harness = reasoning_harness()
    body = json.dumps({"model": "m", "messages": HELLO, "stream": stream}).encode()
    headers = {"authorization": f"Bearer {KEY}", "x-mockllm-dialect": name}
    answers = [
        (await harness.ask(Call("POST", "/v1/chat/completions", {}, headers, body)))[2].decode()
        for _ in range(4)
    ]
    ids = [set(re.findall(r'"id":"([^"]+)"', answer)) for answer in answers]
    assert all(ids) and len(set(map(frozenset, ids))) == 4
