"""Measures the CPU microseconds of an answer beside a bare ASGI application that sends the same
bytes.

Both run under uvicorn as `serve` runs it. `loop` is the thread that answers, `process` includes the
journal's thread. The best of several short rounds counts, because other processes can only add to
it. Then the same for repeated, different and mixed requests.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tools.bench import peers
from tools.bench.cpu import Spent, spent
from tools.bench.load import ask
from tools.bench.servers import SERVE, Running, running
from tools.bench.traffic import TRAFFIC

ROUNDS = 6
ROUND_SECONDS = 0.4
WARM_SECONDS = 0.1
# With the role, the finish and the end of a stream: 53 events on the OpenAI wire.
WORDS = 50
SCENARIO = {
    "name": "bench",
    "steps": [
        {
            "consume": False,
            "match": {"messages": [{"role": "user", "contains": "needle-777"}]},
            "produce": {
                "text": " ".join(f"word{i:02}" for i in range(WORDS)),
                "pacing": {"words_per_chunk": 1},
            },
        }
    ],
}


@dataclass(frozen=True)
class Case:
    """A request to one API."""

    name: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    def request(self, path: str) -> bytes:
        """Return the bytes of the request, to another path."""
        lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(self.data)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + self.data

    @property
    def data(self) -> bytes:
        return json.dumps(self.body).encode()


def cases() -> Iterator[Case]:
    """Yield a request to each API, for a whole and for a streamed response."""
    text = "please answer needle-777 now"
    messages, key = [{"role": "user", "content": text}], {"Authorization": "Bearer test"}
    parts = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    gemini, google = "/v1beta/models/gemini-2.5-flash:", {"x-goog-api-key": "test"}
    claude = {**key, "anthropic-version": "2023-06-01"}
    for stream in (False, True):
        kind = "stream" if stream else "whole"
        chat = {"model": "m", "max_tokens": 99, "messages": messages, "stream": stream}
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        responses = {"model": "m", "input": text, "stream": stream}
        ollama = {"model": "m", "messages": messages, "stream": stream}
        yield Case(f"openai, {kind}", "/v1/chat/completions", key, chat)
        yield Case(f"responses, {kind}", "/v1/responses", key, responses)
        yield Case(f"anthropic, {kind}", "/v1/messages", claude, chat)
        yield Case(f"gemini, {kind}", gemini + method, google, parts)
        yield Case(f"ollama, {kind}", "/api/chat", key, ollama)


CASES = list(cases())


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        scenarios, answers = Path(directory, "scenarios.json"), Path(directory, "answers.json")
        scenarios.write_text(json.dumps(SCENARIO))
        variables = {"MOCKLLM_ENV": "test", "MOCKLLM_SCENARIOS": str(scenarios)}
        with running(*SERVE, variables=variables) as ours:
            answers.write_text(json.dumps([fetch_response(ours, case) for case in CASES]))
            with running("-m", "tools.bench.bare", str(answers)) as bare:
                compare(ours, bare)
        with peers.run_server(Path(directory), mode="test mode") as server:
            print_traffic_costs(server)


def print_traffic_costs(server: Running) -> None:
    """Print the cost of an answer of 200 words by kind of traffic, with 1,000 steps."""
    print(f"\n{'µs of CPU per answer, OpenAI chat':<36}{'whole':>8}{'stream':>8}")
    for traffic in TRAFFIC:
        costs = []
        for stream in (False, True):
            peers.microseconds(server, traffic, stream=stream, seconds=peers.WARM_SECONDS)
            rounds = [
                peers.microseconds(server, traffic, stream=stream, seconds=2 * ROUND_SECONDS)
                for _ in range(ROUNDS)
            ]
            costs.append(min(rounds))
        print(f"{f'{traffic} requests':<36}" + "".join(f"{cost:>8.0f}" for cost in costs))


def fetch_response(server: Running, case: Case) -> tuple[list[tuple[str, str]], str]:
    """Return the headers and the body of our response, which the bare application sends too."""
    url = f"http://127.0.0.1:{server.port}{case.path}"
    response = httpx2.post(url, headers=case.headers, content=case.data, trust_env=False)
    response.raise_for_status()
    servers_own = {"date", "transfer-encoding"}
    headers = [(k, v) for k, v in response.headers.items() if k not in servers_own]
    return headers, response.text


def compare(ours: Running, bare: Running) -> None:
    """Print a line for each case: the cost of our server and of the bare application."""
    print(f"{'µs of CPU per answer':<22}{'bytes':>7}{'bare':>8}", end="")
    print(f"{'loop':>8}{'process':>9}{'loop over bare':>16}{'ratio':>8}")
    for number, case in enumerate(CASES):
        size = len(fetch_response(ours, case)[1])
        bare_request, our_request = case.request(f"/{number}"), case.request(case.path)
        rounds = [(measure(bare, bare_request), measure(ours, our_request)) for _ in range(ROUNDS)]
        base = min(spent_there.loop for spent_there, _ in rounds)
        loop = min(spent_here.loop for _, spent_here in rounds)
        process = min(spent_here.process for _, spent_here in rounds)
        print(f"{case.name:<22}{size:>7}{base:>8.0f}", end="")
        print(f"{loop:>8.0f}{process:>9.0f}{loop - base:>16.0f}{loop / base:>8.1f}", flush=True)


def measure(server: Running, request: bytes) -> Spent:
    """Return the microseconds of CPU per response."""
    ask(server.port, request, seconds=WARM_SECONDS)
    before = spent(server.pid)
    done = ask(server.port, request, seconds=ROUND_SECONDS)
    used = spent(server.pid) - before
    return Spent(used.loop / done * 1e6, used.process / done * 1e6)


if __name__ == "__main__":
    main()
