"""Stored traces as OTLP/JSON: printed, or sent to a collector."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from tests.chat.api_client import Api
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live


class Collector(HTTPServer):
    """An OTLP collector that records the requests."""

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.requests: list[Any] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    with Collector(getattr(request, "param", 200)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def trace_id(live: Live) -> str:
    live.load(scenario({"text": "Let me add.", **TOOL_CALL}, {"text": "It is 3."}))
    return Api(live.base_url).send("1 + 2?").trace_id


def spans(body: dict[str, Any]) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return result


def test_a_run_is_printed_with_its_calls_and_its_tools(trace_id: str) -> None:
    output = StringIO()
    call_command("export_traces", trace_id, stdout=output)
    printed = spans(json.loads(output.getvalue()))
    assert sorted(span["name"] for span in printed) == [
        "chat gpt-4o",
        "chat gpt-4o",
        "execute_tool add",
        "invoke_agent mockllm",
    ]
    assert {span["traceId"] for span in printed} == {UUID(trace_id).hex}
    assert all(int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]) for s in printed)


def test_ended_runs_are_sent_to_a_collector(trace_id: str, collector: Collector) -> None:
    call_command("export_traces", to=collector.url, stderr=StringIO())
    ((path, content_type, body),) = collector.requests
    assert (path, content_type) == ("/v1/traces", "application/json")
    assert len(spans(body)) == 4


@pytest.mark.parametrize("collector", [503], indirect=True)
def test_error_response_of_a_collector_is_an_error(trace_id: str, collector: Collector) -> None:
    with pytest.raises(CommandError, match="503"):
        call_command("export_traces", to=collector.url)


def test_unreachable_collector_is_an_error(trace_id: str) -> None:
    with pytest.raises(CommandError, match=r"http://127\.0\.0\.1:1/v1/traces: "):
        call_command("export_traces", to="http://127.0.0.1:1/v1/traces")


def test_address_with_an_impossible_host_is_an_error(trace_id: str) -> None:
    with pytest.raises(CommandError, match="Invalid IDNA hostname"):
        call_command("export_traces", to="http://\udcff/v1/traces")


def test_an_unknown_trace_is_an_error(live: Live) -> None:
    with pytest.raises(CommandError, match="no trace 00000000-0000-0000-0000-000000000007"):
        call_command("export_traces", str(UUID(int=7)))
