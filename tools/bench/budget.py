"""Each layer of an answer beside what it may cost, in microseconds of CPU, hot in a loop of its
own: `python -m tools.bench.budget`. What a live server takes beyond their sum is what the operating
system takes, and that code which runs once per answer finds its data in no cache.

Scenario and answer are those of `make bench-peers`, to the same request again and again and to some
that differ; of several rounds the best counts. Below stands how many bytecodes of Python an answer
takes, from its bytes to its bytes, and the functions with the most of them: a number that is the
same however busy the machine is.
"""

import asyncio
import gc
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import uvloop

ROUNDS, ROUND_SECONDS = 7, 0.2
ROWS, MAX_ROWS = 500, 10_000
# Of a whole answer and of a stream.
GOALS: dict[str, tuple[int, int] | None] = {
    "HTTP": (17, 17),
    "reading and admission": (7, 7),
    "choosing": (7, 7),
    "producing and encoding": (10, 14),
    "the pipeline around these three": None,
    "the record, on the loop": (4, 4),
    "the journal's thread": (65, 135),
}
MAX_FUNCTIONS = 12


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder, 'budget.sqlite3')}"
        os.environ |= {"MOCKLLM_ENV": "dev", "DATABASE_URL": database, "SECRET_KEY": "budget"}
        os.environ["DJANGO_SETTINGS_MODULE"] = "mockllm_site.settings"
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        for differ in (False, True):
            tell(*(Layers(stream=stream, differ=differ) for stream in (False, True)), differ=differ)


def tell(*layers: "Layers", differ: bool) -> None:
    title = f"µs of CPU per answer, hot, {'requests differ' if differ else 'the same request'}"
    print(f"{title:<46}{'whole':>8}{'goal':>6}{'stream':>8}{'goal':>6}")
    counts = [uvloop.run(each.bytecodes()) for each in layers]
    costs = [each.costs() for each in layers]
    for name, goals in GOALS.items():
        cells = zip((cost[name] for cost in costs), goals or ("", ""), strict=True)
        print(f"{name:<46}" + "".join(f"{cost:>8.0f}{goal:>6}" for cost, goal in cells))
    whole, stream = (count.total() for count in counts)
    print(f"{'bytecodes of Python':<46}{whole:>8}{'':>6}{stream:>8}")
    for code, count in counts[0].most_common(MAX_FUNCTIONS):
        print(f"{count:>8}  {code.co_qualname}")


class Layers:
    """Runs one request, or different ones, through each layer."""

    def __init__(self, *, stream: bool, differ: bool) -> None:
        from scenarios_app.journal import journal
        from scenarios_app.journal.entry import JournalEntry
        from scenarios_app.serving.choose import StepSelection
        from scenarios_app.serving.exchange import head_of
        from scenarios_app.serving.executor import run_eagerly, run_inline
        from scenarios_app.serving.playback import Answer
        from scenarios_app.serving.respond import respond
        from scenarios_app.serving.services import services
        from scenarios_app.serving.transports.asgi_scope import make_call
        from tests.serving.pipelines import Playing
        from tools.bench.peers import DIFFERENT, document, request

        numbers = range(DIFFERENT if differ else 1)
        every = [request(80, stream=stream, number=number) for number in numbers]
        first, _, _ = every[0].partition(b"\r\n\r\n")
        headers = [tuple(line.split(b": ", 1)) for line in first.split(b"\r\n")[1:]]
        self.data = cycle(every)
        self.entry: JournalEntry
        self.playing = Playing(document(), clock=None)
        pipeline = self.pipeline = self.playing.pipeline
        # In test mode's way: the journal takes entries as they are, and writes none.
        journal.unread = True
        pipeline._record = services()._record
        bodies = [data.partition(b"\r\n\r\n")[2] for data in every]
        path = "/v1/chat/completions"
        calls = [make_call("POST", path, query=b"", headers=headers, body=body) for body in bodies]
        head, call_after = head_of(calls[0]), cycle(calls).__next__
        head.is_cached = True

        def read() -> tuple[Any, Any]:
            exchange = pipeline.exchange(call_after(), head)
            cached = pipeline._requests.get(head, exchange.call.body)
            run_eagerly(pipeline._request(exchange, run_inline, cached))
            return exchange, cached

        async def chosen() -> Any:
            arrival = await self.playing.state.arrive(head.session)
            index = self.playing.catalog.index_for(arrival.documents, arrival.revision)
            consumed, state = arrival.consumed, self.playing.state
            return await StepSelection(
                index, parsed, head.session, consumed, state, run_inline, (), cached_request
            ).choose()

        read()
        exchange, cached_request = read()
        parsed = exchange.request
        decision = run_eagerly(chosen())
        exchange.ordinal = 1

        def produce_bytes() -> Any:
            exchange.decide(decision)
            reply = pipeline._responses.get(exchange, decision, parsed)
            reply = reply or respond(exchange, decision, parsed, pipeline._responses)
            return Answer(
                pipeline.with_mockllm_headers(exchange, reply), exchange, pipeline
            ).immediate_body()

        def answered() -> Answer:
            answer = run_eagerly(pipeline.answer(call_after(), head))
            assert isinstance(answer, Answer) and answer.is_immediate
            answer.immediate_body()
            return answer

        self.parts: dict[str, Callable[[], Any]] = {
            "reading and admission": read,
            "choosing": lambda: run_eagerly(chosen()),
            "producing and encoding": produce_bytes,
        }
        self.answered = answered

    def costs(self) -> dict[str, float]:
        cost_by_layer = {name: measured(part) for name, part in self.parts.items()}
        record, self.pipeline._record = self.pipeline._record, None
        pipeline = measured(lambda: self.answered().finish())
        cost_by_layer["the pipeline around these three"] = pipeline - sum(cost_by_layer.values())
        cost_by_layer["HTTP"] = uvloop.run(self.http()) - pipeline
        self.pipeline._record = record
        cost_by_layer["the record, on the loop"] = self.recorded()
        cost_by_layer["the journal's thread"] = self.rows()
        return cost_by_layer

    def recorded(self) -> float:
        """Answers that have been given, and come to their end."""
        best = float("inf")
        for _ in range(ROUNDS):
            answers = [self.answered() for _ in range(MAX_ROWS // 5)]
            start = time.process_time()
            for answer in answers:
                answer.finish()
            best = min(best, (time.process_time() - start) / len(answers) * 1e6)
        return best

    async def http(self) -> float:
        """Send a request through the protocol with a transport that discards output."""
        protocol = self.protocol()
        return measured(lambda: protocol.data_received(next(self.data)))

    async def bytecodes(self) -> Counter[CodeType]:
        """Those of one answer, by function, once it is cached."""
        protocol = self.protocol()
        for _ in range(10):
            protocol.data_received(next(self.data))
        counts: Counter[CodeType] = Counter()

        def step(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
            if event == "opcode":
                counts[frame.f_code] += 1
            return step

        def call(frame: FrameType, *_: object) -> Callable[..., Any]:
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return step

        data = next(self.data)
        sys.settrace(call)
        protocol.data_received(data)
        sys.settrace(None)
        return counts

    def protocol(self) -> asyncio.Protocol:
        """One connection of the server's, to a client that takes what it gets."""
        from uvicorn.config import Config
        from uvicorn.server import ServerState

        from mockllm_site.serve.protocol import GuardedProtocol, Limits

        async def nothing(scope: object, receive: object, send: object) -> None:
            raise AssertionError("it was to be answered directly")

        config = Config(nothing, log_config=None, lifespan="off", interface="asgi3")
        config.load()
        GuardedProtocol.limits = Limits(16_384, 5_000, nothing)
        GuardedProtocol.running = (lambda: self.pipeline,)
        state = ServerState()
        state.default_headers = [(b"date", b"Mon, 23 Nov 2026 09:00:00 GMT")]
        loop = asyncio.get_running_loop()
        protocol = GuardedProtocol(config, state, {}, loop)
        protocol.connection_made(Unheard())
        return protocol

    def rows(self) -> float:
        """Rows in a table that is full: each that is written has the oldest deleted."""
        from scenarios_app.journal import table
        from scenarios_app.journal.entry import row_of

        table.insert([row_of(self.fresh(), body_bytes=65_536) for _ in range(MAX_ROWS)])
        best = float("inf")
        for _ in range(ROUNDS):
            entries = [self.fresh() for _ in range(ROWS)]
            start = time.thread_time()
            table.insert([row_of(entry, body_bytes=65_536) for entry in entries])
            table.trim(MAX_ROWS)
            best = min(best, (time.thread_time() - start) / ROWS * 1e6)
        return best

    def record(self, entry: Any) -> None:
        self.entry = entry

    def fresh(self) -> Any:
        """The entry of one more answer."""
        self.pipeline._record = self.record
        self.answered().finish()
        return self.entry


class Unheard(asyncio.Transport):
    """A client that takes what it gets."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def write(self, data: Any) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        raise AssertionError("it was to be kept open")


def measured(part: Callable[[], Any]) -> float:
    """Microseconds of CPU that it takes once it is warm."""
    best = float("inf")
    gc.collect()
    for _ in range(ROUNDS):
        count, start = 0, time.process_time()
        while time.process_time() - start < ROUND_SECONDS:
            for _ in range(50):
                part()
            count += 50
        best = min(best, (time.process_time() - start) / count * 1e6)
    return best


if __name__ == "__main__":
    main()
