"""Measures the CPU microseconds of each layer of an answer: `python -m tools.bench.budget`.

Each layer runs hot, in a separate loop. A live server takes more than their sum: the time of the
operating system, and cache misses of code that runs once per answer.

The scenario and the traffic are those of `make bench-peers`; the best of several rounds counts.
Then the bytecodes of Python that one answer takes, from its first to its last byte, the number of
functions and files, and the functions with the most bytecodes. These do not depend on the load of
the machine.
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
from typing import TYPE_CHECKING, Any

import uvloop
from msgspec.structs import replace

from tools.bench.traffic import TRAFFIC, Traffic, requests

if TYPE_CHECKING:
    from scenarios_app.serving.fast.short_path import PlainAnswer
    from scenarios_app.wire.base import Call

ROUNDS, ROUND_SECONDS = 7, 0.2
ROWS, MAX_ROWS = 500, 10_000
LAYERS = (
    "HTTP",
    "reading",
    "choosing",
    "filling the template",
    "the rest of the short path",
    "counting and the journal's ring",
    "the journal's thread",
)
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
        for traffic in TRAFFIC:
            print_costs(
                *(Layers(traffic, stream=stream) for stream in (False, True)), traffic=traffic
            )


def print_costs(*layers: "Layers", traffic: Traffic) -> None:
    print(f"{f'µs of CPU per answer, hot, {traffic} requests':<50}{'whole':>8}{'stream':>8}")
    counts = [uvloop.run(each.count_bytecodes()) for each in layers]
    costs = [each.measure_costs() for each in layers]
    for name in LAYERS:
        print(f"{name:<50}" + "".join(f"{cost[name]:>8.1f}" for cost in costs))
    files = [len({code.co_filename for code in count}) for count in counts]
    for name, numbers in (
        ("bytecodes of Python", [count.total() for count in counts]),
        ("functions", [len(count) for count in counts]),
        ("files", files),
    ):
        print(f"{name:<50}" + "".join(f"{number:>8}" for number in numbers))
    for code, count in counts[0].most_common(MAX_FUNCTIONS):
        print(f"{count:>8}  {code.co_qualname}")


class Layers:
    """Runs the requests of one kind of traffic through each layer."""

    def __init__(self, traffic: Traffic, *, stream: bool) -> None:
        from scenarios_app.journal import journal
        from scenarios_app.serving.exchange import head_of
        from scenarios_app.serving.fast.direct import FastLayer
        from scenarios_app.serving.fast.endpoints import find_fast_endpoint
        from scenarios_app.serving.fast.short_path import PlainAnswer, read_fast
        from scenarios_app.serving.services import services
        from scenarios_app.serving.transports.asgi_scope import make_call, read_headers
        from tests.serving.pipelines import Harness
        from tools.bench.peers import document

        all_requests = list(requests(80, traffic, stream=stream))
        self.data = cycle(all_requests)
        self.harness = Harness(document(), clock=None)
        pipeline = self.pipeline = self.harness.pipeline
        self.services = services()
        # As in test mode: the journal keeps records in memory and writes none.
        journal.unread = True
        calls = []
        for data in all_requests:
            head, _, body = data.partition(b"\r\n\r\n")
            lines = (line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
            headers = read_headers((name, value) for name, value in lines)
            calls.append(
                make_call("POST", "/v1/chat/completions", query=b"", headers=headers, body=body)
            )
        head_of_all, options = head_of(calls[0]), pipeline.options

        pipeline.record = None
        self.layer = FastLayer(lambda: pipeline)
        path = self.layer.short_path(pipeline)
        target = head_of_all.target
        row = find_fast_endpoint(target.endpoint) if target.endpoint is not None else None
        assert path is not None and row is not None

        def answer(call: "Call") -> "PlainAnswer | None":
            """Return the answer from a template; play any other."""
            answer = path.answer(head_of_all, call)
            if isinstance(answer, PlainAnswer):
                return answer
            if answer is not None:
                answer.finish()
            return None

        # A first answer is encoded, and the second one makes a template.
        for call in calls * 2:
            answer(call)
        plain = [call for call in calls if answer(call)]
        call_after = cycle(plain).__next__
        parsed = cycle([read_fast(call, target, row, options) for call in plain]).__next__
        index = self.harness.catalog.index
        self.records: list[PlainAnswer] = []
        answers = [answer(call_after()) for _ in range(ROWS)]
        self.records = [answer for answer in answers if answer is not None]
        record_after = cycle(self.records).__next__
        self.answer_next = lambda: answer(call_after())

        def fill_template() -> None:
            record = record_after()
            record.template.encode(record.values)

        self.parts: dict[str, Callable[[], Any]] = {
            "reading": lambda: read_fast(call_after(), target, row, options),
            "choosing": lambda: index.first(parsed(), ()),
            "filling the template": fill_template,
        }

    def measure_costs(self) -> dict[str, float]:
        """Return the microseconds of each layer."""
        cost = {name: measure(part) for name, part in self.parts.items()}
        cost["the rest of the short path"] = measure(self.answer_next) - sum(cost.values())
        cost["HTTP"] = uvloop.run(self.measure_http()) - sum(cost.values())
        cost["counting and the journal's ring"] = self.measure_recording()
        cost["the journal's thread"] = self.measure_rows()
        return cost

    def measure_recording(self) -> float:
        """Return the cost of counting an answer and adding it to the journal's ring, in batches."""
        best = float("inf")
        services = self.services
        for _ in range(ROUNDS):
            start = time.process_time()
            services.record_all(self.records)
            best = min(best, (time.process_time() - start) / len(self.records) * 1e6)
        return best

    async def measure_http(self) -> float:
        """Send a request through the protocol with a transport that discards output."""
        protocol = self.make_protocol()
        return measure(lambda: protocol.data_received(next(self.data)))

    async def count_bytecodes(self) -> Counter[CodeType]:
        """Return the number of bytecodes of one cached answer by function."""
        protocol = self.make_protocol()
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

    def make_protocol(self) -> asyncio.Protocol:
        """Return the protocol of a new connection with a DiscardTransport."""
        from uvicorn.config import Config
        from uvicorn.server import ServerState

        from mockllm_site.serve.connection import HttpConnection, Settings

        async def nothing(scope: object, receive: object, send: object) -> None:
            raise AssertionError("the request was not answered on the short path")

        config = Config(nothing, log_config=None, lifespan="off", interface="asgi3")
        config.load()
        settings = Settings(16_384, 5_000, nothing, layer=self.layer)
        state = ServerState()
        state.default_headers = [(b"date", b"Mon, 23 Nov 2026 09:00:00 GMT")]
        loop = asyncio.get_running_loop()
        protocol = HttpConnection(config, state, {}, loop, settings=settings)
        protocol.connection_made(DiscardTransport())
        return protocol

    def measure_rows(self) -> float:
        """Return the cost of a row in a full table, in which each new row replaces the oldest."""
        from scenarios_app.engine.journal_entry import CleanEntry, clean_entry
        from scenarios_app.journal import table
        from scenarios_app.serving.exchange import random_uid

        def make_rows() -> list[CleanEntry]:
            entries = [record.entry() for record in self.records]
            fresh = (replace(entry, uid=random_uid()) for entry in entries)
            return [clean_entry(entry, body_bytes=65_536) for entry in fresh]

        for _ in range(MAX_ROWS // len(self.records)):
            table.insert(make_rows())
        best = float("inf")
        for _ in range(ROUNDS):
            start = time.thread_time()
            new_rows = make_rows()
            table.insert(new_rows)
            table.trim(MAX_ROWS)
            best = min(best, (time.thread_time() - start) / len(new_rows) * 1e6)
        return best


class DiscardTransport(asyncio.Transport):
    """A transport that discards what is written."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def write(self, data: Any) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        raise AssertionError("the server closed the connection")


def measure(part: Callable[[], Any]) -> float:
    """Return the microseconds of CPU of a call; the best of several warm rounds."""
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
