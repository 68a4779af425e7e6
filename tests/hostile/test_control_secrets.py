"""A thousand keys, each in a place where one can come: none is to be found anywhere afterwards."""

import json
import logging
from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from scenarios_app.models import ServedRequest
from tests.conftest import forget
from tests.control.control_client import Control, says, scenario
from tests.hostile.shown import everything_kept, everything_shown, sent

REQUESTS = 1_000
TOKEN = "control-token-0123456789abcdef"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
OPENAI = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
ANTHROPIC = {**OPENAI, "model": "claude-sonnet-4-5", "max_tokens": 9}
GEMINI = {"contents": [{"parts": [{"text": "Hello"}]}]}
VERSION = {"anthropic-version": "2023-06-01"}
# Steps with conditions on the secrets; their mismatches must not reveal them.
NOSY = scenario(
    "nosy",
    says(
        "x",
        match={
            "headers": {
                "authorization": "Bearer nobody",
                "x-api-key": "nobody",
                "cookie": {"contains": "nobody"},
            }
        },
    ),
    says(
        "Hi.",
        consume=False,
        side_effects={
            "assert": [{"headers": {"authorization": "Bearer nobody"}}],
            "echo_headers": ["authorization"],
        },
    ),
)


def bearer(key: str) -> Any:
    return "/v1/chat/completions", OPENAI, {"authorization": f"Bearer {key}"}


def bare(key: str) -> Any:
    return "/v1/chat/completions", OPENAI, {"authorization": key}


def azure(key: str) -> Any:
    return "/v1/chat/completions", OPENAI, {**bearer("sk")[2], "api-key": key}


def anthropic(key: str) -> Any:
    return "/v1/messages", ANTHROPIC, {**VERSION, "x-api-key": key}


def anthropic_bearer(key: str) -> Any:
    return "/v1/messages", ANTHROPIC, {**VERSION, "authorization": f"Bearer {key}"}


def gemini(key: str) -> Any:
    return "/v1beta/models/m:generateContent", GEMINI, {"x-goog-api-key": key}


def gemini_query(key: str) -> Any:
    return f"/v1beta/models/m:streamGenerateContent?alt=sse&key={quote(key)}", GEMINI, {}


def ollama_bearer(key: str) -> Any:
    return "/api/chat", OPENAI, {"authorization": f"Bearer {key}"}


def cookie(key: str) -> Any:
    return "/v1/chat/completions", OPENAI, {**bearer("sk")[2], "cookie": f"sid={key}; a=b"}


def google(key: str) -> Any:
    return "/v1/chat/completions", OPENAI, {**bearer("sk")[2], "x-goog-api-key": key}


def proxy(key: str) -> Any:
    headers = {**bearer("sk")[2], "proxy-authorization": f"Basic {key}"}
    return "/v1/chat/completions", OPENAI, headers


def query(key: str) -> Any:
    return f"/v1/chat/completions?key={quote(key)}", OPENAI, bearer("sk")[2]


def in_body(key: str) -> Any:
    return "/v1/chat/completions", {**OPENAI, "api_key": key}, bearer("sk")[2]


def in_arguments(key: str) -> Any:
    arguments = json.dumps({"authorization": key})
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    return "/v1/chat/completions", {**OPENAI, "messages": messages}, bearer("sk")[2]


def repeated_in_text(key: str) -> Any:
    messages = [{"role": "user", "content": f"My key is {key}, keep it."}]
    return "/v1/chat/completions", {**OPENAI, "messages": messages}, bearer(key)[2]


def refused(key: str) -> Any:
    return "/v1/chat/completions", {"model": key}, bearer(key)[2]


def nowhere(key: str) -> Any:
    return "/v1/nowhere", OPENAI, bearer(key)[2]


def malformed(key: str) -> Any:
    return "/v1/chat/completions", "{" + key, bearer(key)[2]


PLACES: tuple[Callable[[str], Any], ...] = (
    bearer,
    bare,
    azure,
    anthropic,
    anthropic_bearer,
    gemini,
    gemini_query,
    ollama_bearer,
    cookie,
    google,
    proxy,
    query,
    in_body,
    in_arguments,
    repeated_in_text,
    refused,
    nowhere,
    malformed,
)


def keys() -> Iterator[str]:
    """Keys as providers make them, of 20 to 160 characters."""
    draw = Random(20)
    while True:
        yield "sk-" + "".join(draw.choices(LETTERS, k=draw.randint(17, 157)))


@pytest.fixture
def control(db: None, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Control]:
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    settings.MOCKLLM_CONTROL_TOKEN = TOKEN
    yield Control()
    forget()


def test_no_key_is_found_in_journal_answers_or_log(
    control: Control, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    control.post("scenarios", NOSY)
    drawn = keys()
    used: dict[str, str] = {}
    for number in range(REQUESTS):
        place, key = PLACES[number % len(PLACES)], next(drawn)
        used[key] = place.__name__
        status = sent(*place(key), through_django=number % 7 == 0)
        assert status in (200, 400, 401, 404)
    kept = everything_kept()
    # Keys that name their sessions.
    asked = [key for key, place in used.items() if place in ("bearer", "anthropic")][:30]
    shown = everything_shown(control, asked)
    assert len(used) == ServedRequest.objects.count() + len(asked) == REQUESTS
    for where, text in {"journal": kept, "answers": shown, "log": caplog.text}.items():
        found = {place for key, place in used.items() if key in text or key[:16] in text}
        assert found == set(), where


def test_the_control_token_is_found_nowhere(
    control: Control, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.MOCKLLM_ENV = "prod"
    for given in (f"Bearer {TOKEN}", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN):
        for path in ("requests", "nobody", "state"):
            response = control.ask("GET", path, headers={"authorization": given})
            assert TOKEN not in response.content.decode() + str(response.headers)
    assert TOKEN not in caplog.text + everything_kept()
