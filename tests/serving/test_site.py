"""The ASGI application: who answers what, the start and the end of its process, its guard."""

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


async def asked(
    method: str, path: str, *pieces: bytes, headers: dict[str, str] | None = None, app: Any = None
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of what the application answers."""
    given, sent = list(pieces or [b""]), []
    over = asyncio.Event()
    named = {"host": "localhost", **(headers or {})}

    async def receive() -> Message:
        if not given:
            await over.wait()
            return {"type": "http.disconnect"}
        piece = given.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(given)}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in named.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await (app or application)(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], dict(sent[0]["headers"]), body


@pytest.mark.parametrize("headers", [{}, {"host": "bad.example"}])
@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/", "/v1/chat/completions/"])
async def test_providers_paths_never_reach_django(path: str, headers: dict[str, str]) -> None:
    status, _, body = await asked("POST", path, headers=headers)
    assert status == 404
    assert json.loads(body)["error"]["type"] == "invalid_request_error"


async def test_the_first_page_says_what_is_here_and_asks_for_nothing_outside() -> None:
    status, _, body = await asked("GET", "/")
    page = body.decode()
    assert status == 200
    assert "http://localhost/v1" in page and 'href="/admin/"' in page
    assert 'href="/chat/"' in page and 'href="/metrics"' in page
    asked_for = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert [address for address in asked_for if not address.startswith("/")] == []


async def test_a_path_that_is_nobodys_is_djangos() -> None:
    status, headers, _ = await asked("GET", "/nowhere")
    assert status == 404 and headers[b"Content-Type"].startswith(b"text/html")


async def test_health_is_a_played_step_and_an_answering_database() -> None:
    status, _, body = await asked("GET", "/healthz")
    assert status == 200
    assert json.loads(body) == {"status": "ok", "checks": {"pipeline": "ok", "database": "ok"}}


async def test_health_fails_by_name_when_a_step_does_not_play(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("scenarios_app.serving.respond.produce", broken)
    with_logging = logging.getLogger("scenarios_app.serving.pipeline")
    monkeypatch.setattr(with_logging, "disabled", True)
    status, _, body = await asked("GET", "/healthz")
    answer = json.loads(body)
    assert status == 503 and answer["status"] == "failing"
    assert "status 500" in answer["checks"]["pipeline"]
    assert answer["checks"]["database"] == "ok"


async def test_health_fails_by_name_when_the_database_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no such disk at 10.0.0.5")

    monkeypatch.setattr("mockllm_site.pages.health.CatalogVersion.write", broken)
    status, _, body = await asked("GET", "/healthz")
    assert status == 503
    assert json.loads(body)["checks"] == {"pipeline": "ok", "database": "OSError"}
    status, _, body = await asked("GET", "/livez")
    assert (status, json.loads(body)) == (200, {"status": "ok", "checks": {"pipeline": "ok"}})


async def test_health_is_more_than_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    write = CatalogVersion.write

    def on_a_full_disk(using: str) -> None:
        """As far as this goes: what is read is read, and nothing is written."""
        with connections[using].cursor() as cursor:
            cursor.execute("PRAGMA query_only = true")
            try:
                write(using)
            finally:
                cursor.execute("PRAGMA query_only = false")

    monkeypatch.setattr(CatalogVersion, "write", staticmethod(on_a_full_disk))
    status, _, body = await asked("GET", "/healthz")
    assert (status, json.loads(body)["checks"]["database"]) == (503, "OperationalError")


async def test_a_server_is_ready_until_it_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Services()
    monkeypatch.setattr("mockllm_site.pages.health.services", lambda: here)
    assert (await asked("GET", "/readyz"))[0] == 503
    await here.start()
    assert (await asked("GET", "/readyz"))[0] == 200
    here.drain(10)
    assert (await asked("GET", "/readyz"))[0] == 503


async def test_an_unknown_websocket_is_closed_with_a_code_of_its_own() -> None:
    socket = WebsocketCommunicator(application, "/ws/nothing")
    connected, _ = await socket.connect()
    assert connected
    assert await socket.receive_output() == {"type": "websocket.close", "code": 4404}


class Server:
    """The server's side of the lifespan protocol."""

    def __init__(self) -> None:
        self.says: asyncio.Queue[Message] = asyncio.Queue()
        self.hears: asyncio.Queue[Message] = asyncio.Queue()
        self.task = asyncio.create_task(
            application({"type": "lifespan"}, self.says.get, self.hears.put)
        )

    async def tell(self, what: str) -> Message:
        await self.says.put({"type": f"lifespan.{what}"})
        return await self.hears.get()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Services:
    here = Services()
    for module in (asgi, lifespan_module):
        monkeypatch.setattr(module, "services", lambda: here)
    monkeypatch.setattr(lifespan_module, "_drain_end", None)
    return here


async def test_a_process_starts_and_ends_with_its_server(
    here: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []
    monkeypatch.setattr(signal, "getsignal", lambda number: lambda n, _: heard.append(n))
    installed: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", installed.__setitem__)
    server = Server()
    assert (await server.tell("startup"))["type"] == "lifespan.startup.complete"
    assert here.ready
    installed[signal.SIGTERM](signal.SIGTERM, None)
    # The server gets the signal too, and running answers get their deadline.
    assert heard == [signal.SIGTERM] and not here.ready
    assert (await server.tell("shutdown"))["type"] == "lifespan.shutdown.complete"
    await server.task
    assert not here.started


async def test_a_start_that_fails_tells_the_server_why(
    here: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(options: object) -> str:
        return "it does not play"

    monkeypatch.setattr("scenarios_app.serving.services.play_built_in", broken)
    failed = await Server().tell("startup")
    assert failed["type"] == "lifespan.startup.failed"
    assert "it does not play" in failed["message"]


async def test_a_server_without_lifespan_starts_with_its_first_request(here: Services) -> None:
    assert not here.started
    await asked("GET", "/readyz")
    assert here.started


async def test_a_body_that_is_too_large_never_reaches_django(settings: Any) -> None:
    settings.MOCKLLM_MAX_BODY_BYTES = 100
    read = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal read
        while (message := await receive())["type"] == "http.request" and message["more_body"]:
            read += len(message["body"])

    guarded = with_body_limit(app)
    status, headers, body = await asked("POST", "/control/x", *[b"x" * 60] * 9, app=guarded)
    assert status == 413 and read == 60
    assert json.loads(body)["code"] == "VALIDATION_ERROR"
    assert b"connection" not in headers
    declared = {"content-length": "101"}
    status, _, body = await asked("POST", "/admin/", headers=declared, app=guarded)
    assert status == 413 and body == b"The body is larger than 100 bytes."


async def test_a_body_within_the_limit_goes_through(settings: Any) -> None:
    settings.MOCKLLM_MAX_BODY_BYTES = 100

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"] + (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    status, _, body = await asked("POST", "/", b"a" * 50, b"b" * 50, app=with_body_limit(app))
    assert status == 200 and body == b"a" * 50 + b"b" * 50
