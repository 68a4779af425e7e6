"""The ASGI application: routing of paths, health, start and end of its process, body limit."""

import asyncio
import json
import logging
import re
import signal
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.db import connections

from mockllm_site import asgi
from mockllm_site.asgi import application
from mockllm_site.serve import lifespan as lifespan_module
from mockllm_site.serve.limits import with_body_limit
from scenarios_app.models import CatalogVersion
from scenarios_app.serving.services import Services
from scenarios_app.serving.transports.asgi_scope import Message, Receive, Scope, Send

pytestmark = pytest.mark.django_db(transaction=True)


async def send_request(
    method: str, path: str, *pieces: bytes, headers: dict[str, str] | None = None, app: Any = None
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Send a request to the application and return status, headers and body."""
    remaining, messages = list(pieces or [b""]), []
    never = asyncio.Event()
    all_headers = {"host": "localhost", **(headers or {})}

    async def receive() -> Message:
        if not remaining:
            await never.wait()
            return {"type": "http.disconnect"}
        piece = remaining.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(remaining)}

    async def send(message: Message) -> None:
        messages.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in all_headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await (app or application)(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in messages)
    return messages[0]["status"], dict(messages[0]["headers"]), body


@pytest.mark.parametrize("headers", [{}, {"host": "bad.example"}])
@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/", "/v1/chat/completions/"])
async def test_providers_answer_unknown_paths_on_any_host(
    path: str, headers: dict[str, str]
) -> None:
    status, _, body = await send_request("POST", path, headers=headers)
    assert status == 404
    assert json.loads(body)["error"]["type"] == "invalid_request_error"


async def test_first_page_lists_the_parts_and_links_nothing_outside() -> None:
    status, _, body = await send_request("GET", "/")
    page = body.decode()
    assert status == 200
    assert "http://localhost/v1" in page and 'href="/admin/"' in page
    assert 'href="/chat/"' in page and 'href="/metrics"' in page
    links = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert [address for address in links if not address.startswith("/")] == []


async def test_unknown_path_is_answered_by_django() -> None:
    status, headers, _ = await send_request("GET", "/nowhere")
    assert status == 404 and headers[b"Content-Type"].startswith(b"text/html")


async def test_health_is_a_played_step_and_an_answering_database() -> None:
    status, _, body = await send_request("GET", "/healthz")
    assert status == 200
    assert json.loads(body) == {"status": "ok", "checks": {"pipeline": "ok", "database": "ok"}}


async def test_health_names_the_failing_pipeline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("scenarios_app.serving.respond.produce", fail)
    pipeline_logger = logging.getLogger("scenarios_app.serving.pipeline")
    monkeypatch.setattr(pipeline_logger, "disabled", True)
    status, _, body = await send_request("GET", "/healthz")
    answer = json.loads(body)
    assert status == 503 and answer["status"] == "failing"
    assert "status 500" in answer["checks"]["pipeline"]
    assert answer["checks"]["database"] == "ok"


async def test_health_names_the_failing_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no such disk at 10.0.0.5")

    monkeypatch.setattr("mockllm_site.pages.health.CatalogVersion.write", fail)
    status, _, body = await send_request("GET", "/healthz")
    assert status == 503
    assert json.loads(body)["checks"] == {"pipeline": "ok", "database": "OSError"}
    status, _, body = await send_request("GET", "/livez")
    assert (status, json.loads(body)) == (200, {"status": "ok", "checks": {"pipeline": "ok"}})


async def test_health_fails_if_the_database_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write = CatalogVersion.write

    def on_a_full_disk(using: str) -> None:
        """Simulate a full disk by a database that is read-only."""
        with connections[using].cursor() as cursor:
            cursor.execute("PRAGMA query_only = true")
            try:
                write(using)
            finally:
                cursor.execute("PRAGMA query_only = false")

    monkeypatch.setattr(CatalogVersion, "write", staticmethod(on_a_full_disk))
    status, _, body = await send_request("GET", "/healthz")
    assert (status, json.loads(body)["checks"]["database"]) == (503, "OperationalError")


async def test_a_server_is_ready_until_it_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    process_services = Services()
    monkeypatch.setattr("mockllm_site.pages.health.services", lambda: process_services)
    assert (await send_request("GET", "/readyz"))[0] == 503
    await process_services.start()
    assert (await send_request("GET", "/readyz"))[0] == 200
    process_services.drain(10)
    assert (await send_request("GET", "/readyz"))[0] == 503


async def test_unknown_websocket_is_closed_with_code_4404() -> None:
    socket = WebsocketCommunicator(application, "/ws/nothing")
    is_connected, _ = await socket.connect()
    assert is_connected
    assert await socket.receive_output() == {"type": "websocket.close", "code": 4404}


class Server:
    """The server's side of the lifespan protocol; `tell` sends an event and returns the answer."""

    def __init__(self) -> None:
        self.to_app: asyncio.Queue[Message] = asyncio.Queue()
        self.from_app: asyncio.Queue[Message] = asyncio.Queue()
        self.task = asyncio.create_task(
            application({"type": "lifespan"}, self.to_app.get, self.from_app.put)
        )

    async def send_event(self, what: str) -> Message:
        await self.to_app.put({"type": f"lifespan.{what}"})
        return await self.from_app.get()


@pytest.fixture
def process_services(monkeypatch: pytest.MonkeyPatch) -> Services:
    process_services = Services()
    for module in (asgi, lifespan_module):
        monkeypatch.setattr(module, "services", lambda: process_services)
    monkeypatch.setattr(lifespan_module, "_drain_end", None)
    return process_services


async def test_a_process_starts_and_ends_with_its_server(
    process_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    received_signals: list[int] = []
    monkeypatch.setattr(signal, "getsignal", lambda number: lambda n, _: received_signals.append(n))
    installed: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", installed.__setitem__)
    server = Server()
    assert (await server.send_event("startup"))["type"] == "lifespan.startup.complete"
    assert process_services.ready
    installed[signal.SIGTERM](signal.SIGTERM, None)
    # The server gets the signal too, and running answers get their deadline.
    assert received_signals == [signal.SIGTERM] and not process_services.ready
    assert (await server.send_event("shutdown"))["type"] == "lifespan.shutdown.complete"
    await server.task
    assert not process_services.started


async def test_failed_start_is_reported_to_the_server(
    process_services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(options: object) -> str:
        return "it does not play"

    monkeypatch.setattr("scenarios_app.serving.services.play_built_in", fail)
    failed = await Server().send_event("startup")
    assert failed["type"] == "lifespan.startup.failed"
    assert "it does not play" in failed["message"]


async def test_a_server_without_lifespan_starts_with_its_first_request(
    process_services: Services,
) -> None:
    assert not process_services.started
    await send_request("GET", "/readyz")
    assert process_services.started


async def test_a_body_that_is_too_large_never_reaches_django(settings: Any) -> None:
    settings.MOCKLLM_MAX_BODY_BYTES = 100
    bytes_read = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal bytes_read
        while (message := await receive())["type"] == "http.request" and message["more_body"]:
            bytes_read += len(message["body"])

    guarded = with_body_limit(app)
    status, headers, body = await send_request("POST", "/control/x", *[b"x" * 60] * 9, app=guarded)
    assert status == 413 and bytes_read == 60
    assert json.loads(body)["code"] == "VALIDATION_ERROR"
    assert b"connection" not in headers
    declared = {"content-length": "101"}
    status, _, body = await send_request("POST", "/admin/", headers=declared, app=guarded)
    assert status == 413 and body == b"The body is larger than 100 bytes."


async def test_a_body_within_the_limit_goes_through(settings: Any) -> None:
    settings.MOCKLLM_MAX_BODY_BYTES = 100

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"] + (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    status, _, body = await send_request(
        "POST", "/", b"a" * 50, b"b" * 50, app=with_body_limit(app)
    )
    assert status == 200 and body == b"a" * 50 + b"b" * 50
