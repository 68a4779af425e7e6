"""Requests to unknown URLs and with wrong methods count as unmatched; probes do not."""

import asyncio

import pytest

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.verdict.reports import verdict_text
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness
from tests.verdict.simulated_server import SimulatedServer

KEY = {"authorization": "Bearer k"}


def calls(*methods: str, path: str, **headers: str) -> list[Call]:
    return [Call(method, path, {}, {**KEY, **headers}, b"{}") for method in methods]


def outcomes(*sent: Call) -> list[tuple[int, str, str, bool]]:
    harness = Harness()
    for call in sent:
        asyncio.run(harness.ask(call))
    return [(entry.status, entry.outcome, entry.way, entry.matched) for entry in harness.journal]


@pytest.mark.parametrize("path", ["/v1/threads", "/v1beta/files", "/groq/x", "/v2/chat"])
def test_unknown_url_is_unmatched_and_the_verdict_names_it(path: str) -> None:
    server = SimulatedServer()
    assert server.ask(path, {"model": "m"}).status == 404
    verdict = server.verdict()
    assert not verdict.passed
    (unmatched,) = verdict.unmatched
    assert (unmatched.path, unmatched.fallback) == (path, False)
    assert unmatched.url_error.startswith(f"Unknown request URL: POST {path}.")
    text = verdict_text(verdict)
    assert f"unmatched: {path}: Unknown request URL: POST {path}." in text
    assert "/docs/reference/routes/ lists the URLs of this server" in text


def test_wrong_base_url_is_unmatched_and_the_right_one_is_in_the_verdict() -> None:
    server = SimulatedServer()
    server.ask("/chat/completions", {}, headers={"host": "h"})
    assert "Did you mean http://h/v1/chat/completions?" in verdict_text(server.verdict())


def test_repeated_unknown_url_is_no_finding_of_retries() -> None:
    server = SimulatedServer()
    for _ in range(3):
        server.ask("/v1/threads", {})
    assert len(server.verdict().unmatched) == 3
    assert server.rules() == []


def test_wrong_method_of_a_providers_url_is_unmatched() -> None:
    sent = calls("GET", "PUT", path="/v1/messages")
    assert outcomes(*sent) == [(405, "unmatched", "url", False)] * 2


def test_probes_of_a_providers_url_are_not_unmatched() -> None:
    heads = calls("HEAD", "OPTIONS", path="/v1/messages")
    pages = calls("GET", path="/v1/none", accept="text/html,*/*;q=0.8")
    assert outcomes(*heads, *pages) == [
        (405, "complete", "", False),
        (405, "complete", "", False),
        (404, "complete", "", False),
    ]


def test_unknown_model_or_dialect_is_not_unmatched() -> None:
    model = calls("GET", path="/v1/models/none")
    dialect = calls("POST", path="/v1/chat/completions", **{"x-mockllm-dialect": "none"})
    assert outcomes(*model, *dialect) == [
        (404, "complete", "", True),
        (400, "complete", "", False),
    ]


def test_refused_upgrade_is_unmatched_also_at_a_known_url() -> None:
    harness = Harness()
    (call,) = calls("GET", path="/v1/models")
    answer = harness.pipeline.refuse(call, ErrorAnswer(426, "Use HTTP."))
    answer.immediate_body()
    answer.finish()
    (entry,) = harness.journal
    assert (entry.status, entry.outcome, entry.way) == (426, "unmatched", "url")
    assert entry.response_preview == "Use HTTP."


def test_other_refusals_of_a_transport_are_not_unmatched() -> None:
    harness = Harness()
    (call,) = calls("POST", path="/v1/none")
    for status in (413, 503):
        answer = harness.pipeline.refuse(call, ErrorAnswer(status, "no"))
        answer.immediate_body()
        answer.finish()
    assert [entry.outcome for entry in harness.journal] == ["complete", "complete"]
