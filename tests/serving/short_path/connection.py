"""An in-memory connection of the server that takes requests and returns answers as bytes."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from mockllm_site.serve import connection as serve_connection
from scenarios_app.serving.exchange import RequestHead
from scenarios_app.serving.fast.direct import FastLayer
from scenarios_app.serving.fast.short_path import PlainAnswer, ShortPath
from scenarios_app.serving.playback import Answer
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness
from tests.serving.transports.protocol_server import encode_call, make_settings
from tests.serving.transports.provider_app import provider_app

DATE = b"Mon, 23 Nov 2026 09:00:00 GMT"


class _Transport(asyncio.Transport):
    """A transport that collects all written bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.received = b""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def write(self, data: Any) -> None:
        self.received += data

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0


class Connection:
    """A connection to the pipeline of a harness; `short` counts the answers from templates, and
    `record` gets them in place of the pipeline's. Without `fast` Django's view answers."""

    def __init__(
        self,
        harness: Harness,
        record: Callable[[PlainAnswer], None] | None = None,
        *,
        fast: bool = True,
    ) -> None:
        settings = make_settings(FastLayer(lambda: harness.pipeline, record) if fast else None)
        config = Config(provider_app(harness), log_config=None, lifespan="off", access_log=False)
        config.load()
        state = ServerState()
        state.default_headers = [(b"date", DATE)]
        self._protocol = serve_connection.HttpConnection(
            config, state, {}, asyncio.get_running_loop(), settings=settings
        )
        self._transport = _Transport()
        self._protocol.connection_made(self._transport)
        self.short = 0

    async def ask(self, call: Call) -> bytes:
        """Return the bytes of the answer to a call."""
        self._transport.received = b""
        with collect_short_path_answers() as answers:
            self._protocol.data_received(encode_call(call))
        self.short += len(answers)
        while not self._protocol.limits.is_free:
            await asyncio.sleep(0)
        return self._transport.received


@contextmanager
def collect_short_path_answers() -> Iterator[list[PlainAnswer]]:
    """Collect the answers that all short paths fill into templates within the context."""
    answers: list[PlainAnswer] = []
    answer = ShortPath.answer

    def record_answer(
        path: ShortPath, head: RequestHead, call: Call
    ) -> PlainAnswer | Answer | None:
        short_answer = answer(path, head, call)
        answers.extend([short_answer] if isinstance(short_answer, PlainAnswer) else [])
        return short_answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShortPath, "answer", record_answer)
        yield answers
