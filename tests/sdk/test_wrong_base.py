"""The errors and journal entries of official clients with a wrong base URL."""

from collections.abc import Callable
from typing import Any

import anthropic
import ollama
import openai
import pytest
from google.genai import Client
from google.genai.errors import ClientError

from tests.sdk.gemini.gemini_client import NO_TLS
from tests.support.live_server import Live

HELLO: Any = [{"role": "user", "content": "Hello"}]


def ask_openai(live: Live, start: str) -> None:
    with openai.OpenAI(base_url=live.base_url + start, api_key=live.key, max_retries=0) as client:
        client.chat.completions.create(model="gpt-4o", messages=HELLO)


def list_openai(live: Live, start: str) -> None:
    with openai.OpenAI(base_url=live.base_url + start, api_key=live.key, max_retries=0) as client:
        client.models.list()


def ask_azure(live: Live, start: str) -> None:
    endpoint = live.base_url + start
    with openai.AzureOpenAI(
        azure_endpoint=endpoint, api_key=live.key, api_version="2025-01-01", max_retries=0
    ) as client:
        client.chat.completions.create(model="gpt-4o", messages=HELLO)


def ask_anthropic(live: Live, start: str) -> None:
    with anthropic.Anthropic(
        base_url=live.base_url + start, api_key=live.key, max_retries=0
    ) as client:
        client.messages.create(model="claude-sonnet-5-5", max_tokens=9, messages=HELLO)


def ask_google(live: Live, start: str) -> None:
    options: Any = {"base_url": live.base_url + start, "client_args": {"verify": NO_TLS}}
    with Client(api_key=live.key, http_options=options) as client:
        client.models.generate_content(model="gemini-2.5-flash", contents="Hello")


def ask_ollama(live: Live, start: str) -> None:
    headers = {"Authorization": f"Bearer {live.key}"}
    with ollama.Client(host=live.base_url + start, headers=headers, verify=NO_TLS) as client:
        client.chat(model="m", messages=HELLO)


@pytest.mark.parametrize(
    ("ask", "raised", "start", "path", "hint"),
    [
        (ask_openai, openai.NotFoundError, "", "/chat/completions", "the base URL is {}/v1"),
        (ask_openai, openai.NotFoundError, "/v1/v1", "/v1/v1/chat/completions", "leave /v1 out"),
        (
            ask_openai,
            openai.NotFoundError,
            "/v1/chat/completions",
            "/v1/chat/completions/chat/completions",
            "the base URL is {}/v1",
        ),
        (list_openai, openai.NotFoundError, "", "/models", "mean {}/v1/models?"),
        (
            ask_azure,
            openai.NotFoundError,
            "/openai",
            "/openai/openai/deployments/gpt-4o/chat/completions",
            "leave /openai out",
        ),
        (ask_anthropic, anthropic.NotFoundError, "/v1", "/v1/v1/messages", "leave /v1 out"),
        (
            ask_google,
            ClientError,
            "/v1beta",
            "/v1beta/v1/models/gemini-2.5-flash:generateContent",
            "leave /v1beta out",
        ),
        (ask_ollama, ollama.ResponseError, "/v1", "/v1/api/chat", "leave /v1 out"),
    ],
)
def test_wrong_base_url_gets_a_hint_and_a_journal_entry(
    live: Live,
    ask: Callable[[Live, str], None],
    raised: type[Exception],
    start: str,
    path: str,
    hint: str,
) -> None:
    with pytest.raises(raised, match="Unknown request URL: ") as error:
        ask(live, start)
    assert hint.format(live.base_url) in str(error.value)
    (request,) = live.requests()
    assert (request.path, request.status, request.matched) == (path, 404, False)
