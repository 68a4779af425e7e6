"""Runs the whole application on a local socket, in a thread of the test process."""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

import uvicorn

from scenarios_app.engine.document import load_documents
from scenarios_app.engine.state import SessionState, key_session
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from scenarios_app.serving.services import services
from scenarios_app.store.documents import load

STARTED_SECONDS = 30.0
Result = TypeVar("Result")


class LiveServer(uvicorn.Server):
    """A uvicorn server in a thread; it stops at the end of its `with` block."""

    def __init__(self, app: Any, *, lifespan: Any = "on", http: Any = "auto") -> None:
        config = uvicorn.Config(
            app,
            http=http,
            log_config=None,
            access_log=False,
            lifespan=lifespan,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self.loop: asyncio.AbstractEventLoop | None = None
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._started = threading.Event()
        self._thread = threading.Thread(
            target=self.run, kwargs={"sockets": [self._socket]}, name="live server", daemon=True
        )

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        await super().startup(sockets=sockets)
        self._started.set()

    def __enter__(self) -> "LiveServer":
        self._thread.start()
        if not self._started.wait(STARTED_SECONDS):
            self.__exit__()
            raise AssertionError("the server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self.should_exit = True
        self._thread.join(STARTED_SECONDS)
        self._socket.close()

    def tasks(self) -> int:
        """Return the number of tasks on the server's event loop."""
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(_count_tasks(), self.loop).result(STARTED_SECONDS)


@dataclass(frozen=True)
class Live:
    """The server with an API key, and thus a session, for one test.

    A test that names its session in a header sets `name`.
    """

    server: LiveServer
    key: str = field(default_factory=lambda: f"sk-{uuid4().hex}")
    name: str = ""

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_base_url(self) -> str:
        return f"{self.base_url}/v1"

    @property
    def session(self) -> str:
        return self.name or key_session(self.key)

    def load(self, *documents: Mapping[str, Any]) -> None:
        """Store scenarios; they answer from the next request on."""
        load(load_documents({"scenarios": list(documents)}))

    def requests(self) -> list[ServedRequest]:
        """Return the journal entries of this test's session, in the order in which answers
        ended."""
        assert journal.flush()
        return list(ServedRequest.objects.filter(session=self.session).order_by("pk"))

    def state(self) -> SessionState:
        return run_apart(services().state.read(self.session))


def run_apart(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a new thread, since this one may have a running loop; return its
    result."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


async def _count_tasks() -> int:
    return len(asyncio.all_tasks())
