"""Sends messages and queries between processes over Redis pub/sub; each process listens in a
thread."""

import json
import logging
import time
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import Any, Final, TypeAlias
from uuid import uuid4

from redis.exceptions import RedisError

from scenarios_app.cluster.connections import AWAY, Connections
from scenarios_app.engine.state import StateUnavailable

log = logging.getLogger(__name__)

# Does something with a text, and answers with what JSON can say.
Handler: TypeAlias = Callable[[str], Any]

LOOK_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 0.5
UP_SECONDS: Final = 5.0
ASK_SECONDS: Final = 10.0
_KEPT_SECONDS: Final = 60
# What is heard when something may have been missed.
MISSED: Final = "missed"


class Bus:
    """One per process. A message is a word, and a text that may follow it; `handlers` has what is
    done for each word. An asked one has `ask` and the key for its answer before it."""

    def __init__(self, connections: Connections, handlers: Mapping[str, Handler]) -> None:
        self._connections = connections
        self._handlers = handlers
        self._stopping = Event()
        self._up = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Hear from now on; raises StateUnavailable where Redis does not let us."""
        if self._thread is None:
            self._stopping.clear()
            self._up.clear()
            self._thread = Thread(target=self._run, name="mockllm-bus", daemon=True)
            self._thread.start()
        if not self._up.wait(UP_SECONDS):
            raise StateUnavailable(AWAY)

    def stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopping.set()
            thread.join()

    def ask(self, word: str, text: str = "", *, seconds: float = ASK_SECONDS) -> list[Any]:
        """Return the answers of all processes, this one included. Blocks; raises StateUnavailable
        if one does not answer."""
        redis, key = self._connections.here(), b"%b%b" % (self._connections.prefix, _reply())
        until = time.monotonic() + seconds
        answers: list[Any] = []
        try:
            subscribers = redis.publish(
                self._connections.channel, f"ask {key.decode()} {word} {text}"
            )
            while len(answers) < subscribers:
                if time.monotonic() > until:
                    raise StateUnavailable(AWAY)
                if popped := redis.blpop([key], timeout=1):
                    answers.append(json.loads(popped[1]))
        except (RedisError, OSError) as error:
            raise StateUnavailable(AWAY) from error
        return answers

    def _run(self) -> None:
        works = True
        while not self._stopping.is_set():
            try:
                self._hear()
                works = True
            except (RedisError, OSError) as error:
                if works:
                    log.warning(
                        "Changes by other processes are not received: Redis does not answer (%s)",
                        error,
                    )
                works = False
                self._stopping.wait(RETRY_SECONDS)

    def _hear(self) -> None:
        with self._connections.here().pubsub() as listening:
            listening.subscribe(self._connections.channel)
            while not self._stopping.is_set():
                message = listening.get_message(timeout=LOOK_SECONDS)
                match message:
                    case {"type": "subscribe"}:
                        self._handle(MISSED, "")
                        self._up.set()
                    case {"type": "message", "data": data}:
                        self._take(data.decode())

    def _take(self, message: str) -> None:
        word, _, text = message.partition(" ")
        if word != "ask":
            self._handle(word, text)
            return
        key, _, text = text.partition(" ")
        word, _, text = text.partition(" ")
        answer = self._handle(word, text)
        redis = self._connections.here()
        redis.rpush(key, json.dumps(answer))
        redis.expire(key, _KEPT_SECONDS)

    def _handle(self, word: str, text: str) -> Any:
        try:
            handler = self._handlers.get(word)
            return None if handler is None else handler(text)
        except Exception:
            log.exception("what another process asked for (%s) could not be done", word)
            return None


def _reply() -> bytes:
    return b"reply:" + uuid4().hex.encode()
