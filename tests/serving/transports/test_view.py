"""Django's view for provider requests: answers to test clients and errors around the view."""

import asyncio
import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.exceptions import DisallowedHost, PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import AsyncClient, Client, override_settings

from scenarios_app.engine.state import Arrival
from scenarios_app.serving.transports import django as view
from tests.serving.pipelines import KEY, Harness, chat, scenario, text_step

URL = "/v1/chat/completions"
AUTH = {"authorization": f"Bearer {KEY}"}


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    step = text_step("größer")
    step["produce"]["pacing"] = {"chunk_ms": 1}
    cut = text_step("cut", match={"model": "cut"})
    cut["produce"]["fault"] = {"kind": "disconnect"}
    harness = Harness(scenario("größe", step), scenario("cut", cut))
    monkeypatch.setattr(view, "running_pipeline", harness.running)
    monkeypatch.setattr(view, "services", lambda: harness)
    yield harness


def body_of(response: Any) -> bytes:
    assert isinstance(response, HttpResponse | StreamingHttpResponse)
    if isinstance(response, StreamingHttpResponse):
        return b"".join(response)
    return response.content


@pytest.mark.parametrize("stream", [False, True])
def test_djangos_test_client_gets_answers(harness: Harness, stream: bool) -> None:
    call = chat(stream=stream)
    response = Client().post(URL, call.body, content_type="application/json", headers=AUTH)
    assert response.status_code == 200
    assert "größer".encode() in body_of(response)
    assert response.headers["x-mockllm-scenario"] == "gr%C3%B6%C3%9Fe"
    assert [entry.outcome for entry in harness.journal] == ["complete"]


async def test_djangos_async_client_gets_streams_piece_by_piece(harness: Harness) -> None:
    call = chat(stream=True)
    response = await AsyncClient().post(
        URL, call.body, content_type="application/json", headers=AUTH
    )
    assert isinstance(response, StreamingHttpResponse)
    pieces = [piece async for piece in response]
    assert len(pieces) > 1 and b"".join(pieces).endswith(b"data: [DONE]\n\n")
    assert [entry.outcome for entry in harness.journal] == ["complete"]


def test_a_cut_is_an_error_where_there_is_no_connection(harness: Harness) -> None:
    call = chat(model="cut")
    response = Client().post(URL, call.body, content_type="application/json", headers=AUTH)
    assert response.status_code == 500
    assert response.headers["x-mockllm-fault"] == "unsupported"


@pytest.mark.parametrize("path", ["/v1/", "/v1/nothing", "/v1/chat/completions/"])
def test_every_unknown_path_below_a_prefix_is_the_providers_404(
    harness: Harness, path: str
) -> None:
    response = Client().get(path)
    assert response.status_code == 404
    assert set(json.loads(body_of(response))["error"]) == {"message", "type", "param", "code"}


def test_any_method_is_the_providers_and_needs_no_csrf_token(harness: Harness) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.delete(URL).status_code == 405
    assert client.post(URL, b"{", content_type="application/json").status_code == 401


def test_a_body_may_be_as_large_as_the_limit_says(harness: Harness) -> None:
    call = chat("x" * 3_000_000)
    response = Client().post(URL, call.body, content_type="application/json", headers=AUTH)
    assert response.status_code == 200
    tiny = Harness(max_body_bytes=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "running_pipeline", tiny.running)
        response = Client().post(URL, call.body, content_type="application/json", headers=AUTH)
    assert response.status_code == 413
    assert json.loads(body_of(response))["error"]["type"] == "invalid_request_error"


@override_settings(ALLOWED_HOSTS=["good.example"])
def test_providers_answer_on_any_host_and_pages_only_on_theirs(harness: Harness) -> None:
    bad_host = {"host": "bad.example"}
    call = chat(headers=bad_host)
    response = Client().post(
        URL, call.body, content_type="application/json", headers=AUTH | bad_host
    )
    assert response.status_code == 200
    response = Client().get("/control/state", headers=bad_host)
    assert json.loads(body_of(response))["code"] == "VALIDATION_ERROR"
    page = Client().get("/", headers=bad_host)
    assert page.status_code == 400 and b"<!doctype html>" in body_of(page)
    assert [entry.status for entry in harness.journal] == [200]


MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.failing_middleware"]
FAILURES = {
    "a wrong host": (DisallowedHost("bad.example"), 400),
    "a refusal": (PermissionDenied(), 403),
    "a bug": (RuntimeError("a bug"), 500),
}


def failing_middleware(get_response: Any) -> Any:
    def middleware(request: HttpRequest) -> HttpResponse:
        raise FAILURES[request.headers["x-failure"]][0]

    return middleware


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("path", [URL, "/messages"])
@pytest.mark.parametrize("failure", FAILURES)
def test_failure_of_a_sites_middleware_is_an_envelope(
    harness: Harness, failure: str, path: str, debug: bool
) -> None:
    with override_settings(MIDDLEWARE=MIDDLEWARE, DEBUG=debug):
        client = Client(raise_request_exception=False, headers={"x-failure": failure})
        response = client.post(path, b"{}", content_type="application/json", headers=AUTH)
    status = FAILURES[failure][1]
    assert response.status_code == status
    assert json.loads(body_of(response))["error"]["message"]
    assert [entry.status for entry in harness.journal] == [status]


def test_a_failure_around_the_view_is_an_envelope(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(view, "running_pipeline", fail)
    client = Client(raise_request_exception=False)
    response = client.post(URL, b"{}", content_type="application/json")
    assert response.status_code == 500
    assert json.loads(body_of(response))["error"]["type"] == "server_error"


def test_unknown_path_of_the_chat_api_is_its_own_404() -> None:
    response = Client().get("/api/nothing")
    assert response.status_code == 404
    assert json.loads(body_of(response)) == {
        "code": "NOT_FOUND",
        "message": "There is no /api/nothing; /api/docs/ says what there is.",
        "field": None,
    }


@pytest.mark.parametrize("stage", ["in the view", "http.response.start", "http.response.body"])
async def test_client_that_leaves_ends_its_answer_immediately(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """The answer ends even if no task holds it, as while middleware runs in a thread, without
    waiting for garbage collection."""
    has_left, arrive = asyncio.Event(), harness.state.arrive
    body = iter([{"type": "http.request", "body": chat(stream=True).body}])

    async def receive() -> dict[str, Any]:
        if message := next(body, None):
            return message
        await has_left.wait()
        return {"type": "http.disconnect"}

    async def arrive_and_leave(session: str) -> Arrival:
        if stage == "in the view":
            has_left.set()
        return await arrive(session)

    async def send(message: Any) -> None:
        if message["type"] == stage:
            has_left.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(harness.state, "arrive", arrive_and_leave)

    headers = {"host": "testserver", "content-type": "application/json", **AUTH}
    scope = {
        "type": "http",
        "method": "POST",
        "path": URL,
        "raw_path": URL.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    gc.disable()
    try:
        await get_asgi_application()(scope, receive, send)
        async with asyncio.timeout(10):
            while not harness.journal:
                await asyncio.sleep(0)
    finally:
        gc.enable()
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]
    assert harness.pipeline.streams.taken == 0
