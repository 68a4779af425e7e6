"""API keys from every place of a request appear neither in the journal, the API nor the log."""

import json
import logging
from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from mockllm_site.kit.api.locality import ADDRESS_VARIABLE
from scenarios_app.models import ServedRequest
from tests.conftest import reset_server_state
from tests.control.control_client import Control, scenario, text_step
from tests.hostile.exposure import read_control_api, read_journal, send_request

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
    text_step(
        "x",
        match={
            "headers": {
                "authorization": "Bearer nobody",
                "x-api-key": "nobody",
                "cookie": {"contains": "nobody"},
            }
        },
    ),
    text_step(
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


def without_scheme(key: str) -> Any:
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


def invalid_request(key: str) -> Any:
    return "/v1/chat/completions", {"model": key}, bearer(key)[2]


def nowhere(key: str) -> Any:
    return "/v1/nowhere", OPENAI, bearer(key)[2]


def malformed(key: str) -> Any:
    return "/v1/chat/completions", "{" + key, bearer(key)[2]


REQUEST_BUILDERS: tuple[Callable[[str], Any], ...] = (
    bearer,
    without_scheme,
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
    invalid_request,
    nowhere,
    malformed,
)


def keys() -> Iterator[str]:
    """Yield keys as providers make them, of 20 to 160 characters."""
    draw = Random(20)
    while True:
        yield "sk-" + "".join(draw.choices(LETTERS, k=draw.randint(17, 157)))


@pytest.fixture
def control(db: None, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Control]:
    monkeypatch.setenv(ADDRESS_VARIABLE, "127.0.0.1")
    settings.MOCKLLM_CONTROL_TOKEN = TOKEN
    yield Control()
    reset_server_state()


def test_no_key_appears_in_journal_responses_or_log(
    control: Control, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    control.post("scenarios", NOSY)
    random_keys = keys()
    builder_names: dict[str, str] = {}
    for number in range(REQUESTS):
        build, key = REQUEST_BUILDERS[number % len(REQUEST_BUILDERS)], next(random_keys)
        builder_names[key] = build.__name__
        status = send_request(*build(key), through_django=number % 7 == 0)
        assert status in (200, 400, 401, 404)
    journal = read_journal()
    # Keys that name their sessions.
    session_keys = [key for key, name in builder_names.items() if name in ("bearer", "anthropic")][
        :30
    ]
    responses = read_control_api(control, session_keys)
    assert len(builder_names) == ServedRequest.objects.count() + len(session_keys) == REQUESTS
    for source, text in {"journal": journal, "answers": responses, "log": caplog.text}.items():
        leaks = {name for key, name in builder_names.items() if key in text or key[:16] in text}
        assert leaks == set(), source


def test_control_token_appears_in_no_response_log_or_journal(
    control: Control, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.MOCKLLM_ENV = "prod"
    for authorization in (f"Bearer {TOKEN}", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN):
        for path in ("requests", "nobody", "state"):
            response = control.request("GET", path, headers={"authorization": authorization})
            assert TOKEN not in response.content.decode() + str(response.headers)
    assert TOKEN not in caplog.text + read_journal()
