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

# Handles the text of a message or the JSON of a query, and returns JSON.
Handler: TypeAlias = Callable[[Any], Any]
Handlers: TypeAlias = Mapping[str, Handler]

LOOK_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 0.5
UP_SECONDS: Final = 5.0
ASK_SECONDS: Final = 10.0
_KEPT_SECONDS: Final = 60
# The word that is handled after each subscription: messages before it may have been missed.
MISSED: Final = "missed"


class Bus:
    """Messages between the processes, one object per process. A message is a word and an optional
    text. A query is `ask`, the key for its answers, a word and JSON. Each word has a handler."""

    def __init__(self, connections: Connections, *, messages: Handlers, queries: Handlers) -> None:
        self._connections = connections
        self._messages = messages
        self._queries = queries
        self._stopping = Event()
        self._up = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Subscribe and handle messages from now on; raises StateUnavailable without Redis."""
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

    def ask(self, word: str, about: Any) -> list[Any]:
        """Return all processes' answers to a query, this one's included. Blocks; raises
        StateUnavailable if a process does not answer or its handler fails."""
        redis = self._connections.here
        key = b"%breply:%b" % (self._connections.prefix, uuid4().hex.encode())
        until = time.monotonic() + ASK_SECONDS
        replies: list[list[Any]] = []
        try:
            query = f"ask {key.decode()} {word} {json.dumps(about)}"
            subscribers = redis.publish(self._connections.channel, query)
            while len(replies) < subscribers:
                if time.monotonic() > until:
                    raise StateUnavailable(AWAY)
                if popped := redis.blpop([key], timeout=1):
                    replies.append(json.loads(popped[1]))
        except (RedisError, OSError) as error:
            raise StateUnavailable(AWAY) from error
        if not replies or [] in replies:
            raise StateUnavailable("Not every process of this server has answered; try again.")
        return [answer for (answer,) in replies]

    def _run(self) -> None:
        """Listen until the bus is stopped, also after errors of Redis."""
        works = True
        while not self._stopping.is_set():
            try:
                self._listen()
                works = True
            except (RedisError, OSError) as error:
                if works:
                    log.warning(
                        "Changes by other processes are not received: Redis does not answer (%s)",
                        error,
                    )
                works = False
                self._stopping.wait(RETRY_SECONDS)

    def _listen(self) -> None:
        """Subscribe, run the handler of MISSED, and handle messages until the bus is stopped."""
        with self._connections.here.pubsub() as listening:
            listening.subscribe(self._connections.channel)
            while not self._stopping.is_set():
                match listening.get_message(timeout=LOOK_SECONDS):
                    case {"type": "subscribe"}:
                        _handle(self._messages, MISSED, "")
                        self._up.set()
                    case {"type": "message", "data": data}:
                        self._handle_message(data.decode())

    def _handle_message(self, message: str) -> None:
        """Handle a message, or push the answer to a query to the key that it names."""
        word, _, text = message.partition(" ")
        if word != "ask":
            _handle(self._messages, word, text)
            return
        key, _, query = text.partition(" ")
        word, _, about = query.partition(" ")
        reply = _handle(self._queries, word, about, json.loads)
        redis = self._connections.here
        redis.rpush(key, json.dumps(reply))
        redis.expire(key, _KEPT_SECONDS)


def _handle(handlers: Handlers, word: str, about: str, parse: Any = str) -> list[Any]:
    """Return the handler's result in a list; an empty list if it or `parse` fails or is missing."""
    try:
        handler = handlers.get(word)
        return [] if handler is None else [handler(parse(about))]
    except Exception:
        log.exception("the command %s of another process failed", word)
        return []
