"""The verdict names providers that steps are for and that no request reached."""

from typing import Any

import pytest

from scenarios_app.verdict.judge import VerdictOptions, judge_run
from scenarios_app.verdict.reports import verdict_text
from tests.verdict.simulated_server import SimulatedServer

CHAT = "/v1/chat/completions"
HELLO = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def server(*providers: Any) -> SimulatedServer:
    """Return a server with a step for each value of `match.provider`."""
    steps = [
        {"match": {"provider": provider} if provider else {}, "produce": {"text": "Hi!"}}
        for provider in providers
    ]
    return SimulatedServer({"name": "s", "steps": steps})


def unreached_providers(server_of_run: SimulatedServer) -> list[str]:
    return [step.never_asked for step in server_of_run.verdict().unserved]


def test_provider_of_an_unserved_step_without_a_request_is_named_once() -> None:
    server_of_run = server("openai", "gemini", "gemini")
    server_of_run.ask(CHAT, HELLO)
    assert unreached_providers(server_of_run) == ["gemini", "gemini"]
    text = verdict_text(server_of_run.verdict())
    assert text.count("never asked: ") == 1
    assert "never asked: gemini. No request came; a client" in text


def test_provider_that_was_asked_is_not_named() -> None:
    server_of_run = server("openai", "openai")
    server_of_run.ask(CHAT, HELLO)
    assert unreached_providers(server_of_run) == [""]
    assert "never asked" not in verdict_text(server_of_run.verdict())


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (["gemini", "ollama"], "gemini or ollama"),
        (["gemini", "openai"], ""),
        ({"startswith": "gem"}, ""),
        (None, ""),
    ],
)
def test_step_names_a_provider_only_if_no_alternative_was_asked(
    provider: Any, expected: str
) -> None:
    server_of_run = server("openai", provider)
    server_of_run.ask(CHAT, HELLO)
    assert unreached_providers(server_of_run) == [expected]


def test_other_name_of_a_provider_counts_as_asked() -> None:
    server_of_run = server("openai", "azure", "openai")
    azure = {"api-key": "k"}
    server_of_run.ask("/openai/v1/chat/completions", HELLO, headers=azure)
    assert set(unreached_providers(server_of_run)) == {""}


def test_run_without_requests_says_that_no_provider_was_asked() -> None:
    text = verdict_text(server("gemini").verdict())
    assert "never asked: any provider. No request came; a client" in text


def test_provider_that_another_session_of_the_run_asked_is_not_named() -> None:
    idle, busy = server("openai"), server("openai", "openai")
    busy.ask(CHAT, HELLO)
    verdict = judge_run([idle.session(), busy.session()], VerdictOptions())
    assert [step.never_asked for step in verdict.unserved] == ["", ""]
