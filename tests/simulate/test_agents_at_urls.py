"""Agents at a URL: OpenAI-compatible endpoints, and our chat API."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.simulate.conversation import Agent, AgentAnswer, AgentFailed
from scenarios_app.testing.process import ServerOptions, server_process
from scenarios_app.testing.simulate.agents import agent_at
from tests.simulate.scripts import REFUND, TALK

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(240),
    pytest.mark.usefixtures("forked_processes"),
]
KEY = "sk-test"


class Handler(BaseHTTPRequestHandler):
    """Answers with the server's `replies` in turn: a status and a body, or bytes to send."""

    server: Any

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        self.server.bodies.append(json.loads(self.rfile.read(size)))
        self.server.heads.append((self.path, self.headers["authorization"]))
        status, body = self.server.replies.pop(0)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.end_headers()
        try:
            for _ in range(self.server.repeat):
                self.wfile.write(data)
                self.wfile.flush()
                self.server.closed.wait(self.server.pause)
        except OSError:
            return

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def endpoint(*replies: tuple[int, Any], repeat: int = 1, pause: float = 0) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.replies, server.bodies, server.heads = list(replies), [], []
    server.repeat, server.pause, server.closed = repeat, pause, threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield server
    finally:
        server.closed.set()
        server.shutdown()
        thread.join()
        server.server_close()


def completion(content: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content, **more}}]}


def agent_of(url: str, *, timeout: float = 20.0) -> AbstractContextManager[Agent]:
    return agent_at(url, key=KEY, model="m", timeout=timeout)


def failure(url: str, *, timeout: float = 20.0) -> str:
    with agent_of(url, timeout=timeout) as agent, pytest.raises(AgentFailed) as error:
        agent("Hello.")
    return str(error.value)


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/chat/completions"])
def test_endpoint_gets_the_whole_conversation(path: str) -> None:
    replies = [(200, completion(text)) for text in ("Hi.", "Bye.")]
    with endpoint(*replies) as server, agent_of(server.url + path) as agent:
        assert [agent("Hello."), agent("Thanks.")] == ["Hi.", "Bye."]
    assert server.heads == [("/v1/chat/completions", f"Bearer {KEY}")] * 2
    assert server.bodies[1] == {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "Thanks."},
        ],
    }


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((500, {"error": "broken"}), 'answers 500: {"error": "broken"}'),
        ((200, b"<html>"), "answers no chat completion: <html>"),
        ((200, {"choices": []}), 'answers no chat completion: {"choices": []}'),
        ((200, [1]), "answers no chat completion: [1]"),
        ((200, completion(None)), "answers without text: "),
        ((200, completion(None, tool_calls=[{"id": "a"}])), "an agent runs its tools itself"),
    ],
)
def test_endpoint_without_an_answer_is_named(reply: tuple[int, Any], message: str) -> None:
    with endpoint(reply) as server:
        text = failure(f"{server.url}/v1")
    assert text.startswith(f"{server.url}/v1/chat/completions ")
    assert message in text


def test_late_endpoint_is_named() -> None:
    with endpoint((200, b""), pause=60) as server:
        assert failure(server.url, timeout=0.2) == (
            f"{server.url}/chat/completions has not answered within 0.2 s (--timeout)"
        )


def test_stream_that_never_ends_is_late() -> None:
    with endpoint((200, b": still here\n\n"), repeat=10_000, pause=0.01) as server:
        text = failure(f"{server.url}/api", timeout=0.3)
    assert "has not answered within 0.3 s" in text


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"])
def test_url_without_a_server_is_named(url: str) -> None:
    assert failure(url).startswith(f"nothing answers at {url}/chat/completions: ")


def event(**payload: Any) -> bytes:
    return f"id: 1\ndata: {json.dumps(payload)}\n\n".encode()


def test_chat_api_gets_the_conversation_of_its_first_answer() -> None:
    stream = (
        event(type="started", conversation_id="c1")
        + event(type="chunk", content="Hello,")
        + b": still here\n\n"
        + event(type="tool_start", tool_call_id="c", tool_name="add", tool_args={"a": 17})
        + event(type="chunk", content=" Ann")
        + event(type="done", conversation_id="c1")
    )
    with (
        endpoint((200, stream), (200, stream)) as server,
        agent_of(f"{server.url}/api") as agent,
    ):
        call = ToolCallPart("c", "add", '{"a": 17}')
        assert [agent("a"), agent("b")] == [AgentAnswer("Hello, Ann", (call,))] * 2
    assert [body["conversation_id"] for body in server.bodies] == [None, "c1"]


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (event(type="error", code="MODEL", message="The model is gone."), "The model is gone."),
        (event(type="chunk", content="Hel"), "its stream has no end: "),
        (b"", "its stream has no end: "),
        (b"data: {\n\n", "its stream has no end: "),
    ],
)
def test_chat_api_without_an_answer_is_named(stream: bytes, message: str) -> None:
    with endpoint((200, stream)) as server:
        text = failure(f"{server.url}/api")
    assert text.startswith(f"{server.url}/api/get_chat_response_stream: {message}")


def simulate(folder: Path, document: Any, *arguments: str) -> Any:
    (folder / "talk.json").write_text(json.dumps(document))
    return subprocess.run(
        [sys.executable, "-m", "mockllm_site", "simulate", "talk.json", "--json", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def test_model_of_a_running_server_can_be_the_agent(tmp_path: Path) -> None:
    with server_process(ServerOptions()) as (url, _):
        first, second = (
            simulate(tmp_path, TALK, "--agent", f"{url}/v1", "--server", url) for _ in range(2)
        )
    assert first.returncode == 0, first.stderr + first.stdout
    assert first.stdout == second.stdout
    (one,) = json.loads(first.stdout)["conversations"]
    assert [turn["agent"] for turn in one["turns"]] == ["Hello, Ann?", "Welcome, Bob."]
    assert [entry["scenario"] for entry in one["model"]["requests"]] == ["talk", "talk"]


def test_unmatched_request_is_in_the_report(tmp_path: Path) -> None:
    document = {"name": "talk", "user": {"turns": [{"say": "Hello."}]}}
    with server_process(ServerOptions()) as (url, _):
        result = simulate(tmp_path, document, "--agent", f"{url}/v1", "--server", url)
    assert result.returncode == 1, result.stderr
    (one,) = json.loads(result.stdout)["conversations"]
    assert one["turns"][0]["agent"] is None
    assert "answers 404" in one["turns"][0]["checkpoints"][0]["got"]
    assert one["model"]["unmatched"] == ["/v1/chat/completions"]


def test_chat_api_of_a_live_server_is_an_agent(tmp_path: Path) -> None:
    adding = json.loads(json.dumps(TALK))
    adding["steps"][1:1] = [
        {
            "turn": 2,
            "match": {"messages": [{"role": "user", "contains": "Bob"}]},
            "produce": {"tool_calls": [{"name": "add", "arguments": {"a": 17, "b": 25}}]},
        }
    ]
    adding["user"]["turns"][1]["must"] += [{"call": {"name": "add", "arguments": {"a": 17}}}]
    (tmp_path / "served.json").write_text(json.dumps(adding))
    process = subprocess.Popen(
        [sys.executable, "-m", "mockllm_site", "serve", "--port", "0"],
        cwd=tmp_path,
        # Without Django's settings of the tests.
        env={
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "MOCKLLM_ENV": "test",
            "MOCKLLM_SCENARIOS": str(tmp_path / "served.json"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = line.rpartition(" ")[2].strip().rstrip("/")
        result = simulate(tmp_path, adding, "--agent", f"{url}/api")
    finally:
        process.terminate()
        process.communicate()
    assert result.returncode == 0, result.stderr + result.stdout
    (one,) = json.loads(result.stdout)["conversations"]
    assert [turn["agent"] for turn in one["turns"]] == ["Hello, Ann?", "Welcome, Bob."]
    assert one["model"] is None


def test_tool_calls_of_an_agent_at_a_url_need_its_server(tmp_path: Path) -> None:
    result = simulate(tmp_path, REFUND, "--agent", "http://127.0.0.1:9/v1/")
    assert (result.returncode, "need --server" in result.stderr) == (2, True)
