"""A client that does everything right, with the places at which others don't."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from scenarios_app.verdict.session import said
from tests.verdict.dialects import Called, Talk
from tests.verdict.world import Got, World

RETRIED = {0, 408, 409, 429, 500, 502, 503, 529}


@dataclass
class Client:
    """One conversation with a world. `numbers` says that it tells its tries apart in a header, as
    the official SDKs of OpenAI and Anthropic do."""

    world: World
    talk: Talk
    draw: Random
    numbers: bool = False
    tries: int = 5
    extra: Mapping[str, Any] = field(default_factory=dict)
    pause: Callable[["Client", Got, int], float | None] | None = None

    def turn(self, text: str, *, stream: bool = False) -> None:
        """Ask, and run tools until the model has said something."""
        self.talk.user(text)
        while calls := self.step(stream=stream):
            self.talk.results([(call, self.run(call)) for call in calls])

    def step(self, *, stream: bool = False) -> list[Called]:
        """One request, sent again while that may help; the calls in its answer."""
        stream = stream and self.talk.streams
        got = self.send(stream=stream)
        if not (got.whole and got.status == 200 and self.ended(got, stream=stream)):
            return []
        if stream:
            self.talk.said(said(got.body.decode()))
            return []
        return self.talk.answered(got.json)

    def send(self, *, stream: bool = False) -> Got:
        body = {**self.talk.body(stream=stream), **self.extra}
        for number in range(self.tries):
            self.world.wait(self.draw.uniform(0.002, 0.02))
            headers = {"x-stainless-retry-count": str(number)} if self.numbers else {}
            got = self.world.ask(self.talk.path, body, headers=headers)
            if got.whole and got.status == 200 and self.ended(got, stream=stream):
                break
            seconds = (self.pause or polite)(self, got, number)
            if seconds is None or number == self.tries - 1:
                break
            self.world.wait(seconds)
        return got

    def ended(self, got: Got, *, stream: bool) -> bool:
        """Whether a stream has its end mark, or a whole answer is JSON."""
        if not stream:
            return is_json(got.body)
        marks = (b"[DONE]", b"message_stop", b"response.completed", b'"done":true')
        return any(mark in got.body for mark in marks)

    def run(self, call: Called) -> str:
        """A tool."""
        return f"{call.name}: {self.draw.randint(0, 99)}"


def is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def polite(client: Client, got: Got, number: int) -> float | None:
    """How long to wait after a failure; None where it makes no sense to try again."""
    if got.whole and got.status not in RETRIED | {200}:
        return None
    if "retry-after-ms" in got.headers:
        return float(got.headers["retry-after-ms"]) / 1000
    if "retry-after" in got.headers:
        return float(got.headers["retry-after"])
    return min(0.5 * 2**number, 8.0) * client.draw.uniform(0.75, 1.0)
