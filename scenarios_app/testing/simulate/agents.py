"""Ways to reach an agent: an OpenAI-compatible endpoint, our chat API, or a command on pipes."""

import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import httpx2

from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.simulate.conversation import Agent, AgentAnswer, AgentFailed
from scenarios_app.testing.run import STOP_SECONDS, command_environment, end_group, start_command

CLIENT_ID = "mockllm-simulate"
# Of a command's standard error in a message, and of an HTTP error's body.
MAX_ERROR_LINES = 20
MAX_ERROR_CHARS = 500
MAX_ANSWER_BYTES = 1_000_000
_READ_BYTES = 65_536


def is_chat_api(url: str) -> bool:
    """Return True if the URL is that of our chat API, which reports the agent's tool calls."""
    return url.rstrip("/").endswith("/api")


@contextmanager
def agent_at(url: str, *, key: str, model: str, timeout: float) -> Iterator[Agent]:
    """Yield the agent at a URL: our chat API if its path ends in `/api`, else chat completions."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.Client(headers=headers, timeout=timeout, trust_env=False) as http:
        base = url.rstrip("/").removesuffix("/chat/completions")
        if is_chat_api(url):
            yield _ChatApi(http, base)
        else:
            yield _Completions(http, f"{base}/chat/completions", model)


class _Completions:
    """An OpenAI-compatible endpoint; each request has the whole conversation."""

    def __init__(self, http: httpx2.Client, url: str, model: str) -> None:
        self._http, self._url, self._model = http, url, model
        self._messages: list[dict[str, Any]] = []

    def __call__(self, text: str) -> str:
        self._messages.append({"role": "user", "content": text})
        response = _post(self._http, self._url, {"model": self._model, "messages": self._messages})
        try:
            message = response.json()["choices"][0]["message"]
            content, calls = message.get("content"), message.get("tool_calls")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            reason = f"{self._url} answers no chat completion: {_excerpt(response)}"
            raise AgentFailed(reason) from None
        if calls:
            reason = f"{self._url} answers with a tool call: an agent runs its tools itself"
            raise AgentFailed(reason)
        if not isinstance(content, str):
            raise AgentFailed(f"{self._url} answers without text: {_excerpt(response)}")
        self._messages.append({"role": "assistant", "content": content})
        return content


class _ChatApi:
    """Our chat API as an agent, with one conversation; reads answers and tool calls from events."""

    def __init__(self, http: httpx2.Client, url: str) -> None:
        self._http, self._url = http, f"{url}/get_chat_response_stream"
        self._conversation: str | None = None

    def __call__(self, text: str) -> AgentAnswer:
        body = {"client_id": CLIENT_ID, "message": text, "conversation_id": self._conversation}
        response = _post(self._http, self._url, body)
        pieces: list[str] = []
        calls: list[ToolCallPart] = []
        last: dict[str, Any] = {}
        for line in response.text.split("\n"):
            if line.startswith("data: "):
                # The stream may have been cut inside an event.
                last = {}
                with suppress(ValueError):
                    last = json.loads(line.removeprefix("data: "))
                match last:
                    case {"type": "chunk", "content": content}:
                        pieces.append(content)
                    case {"type": "tool_start", "tool_call_id": id, "tool_name": name}:
                        calls.append(ToolCallPart(id, name, json.dumps(last["tool_args"])))
        if last.get("type") != "done":
            reason = last.get("message") or f"its stream has no end: {_excerpt(response)}"
            raise AgentFailed(f"{self._url}: {reason}")
        self._conversation = last["conversation_id"]
        return AgentAnswer("".join(pieces), tuple(calls))


def _post(http: httpx2.Client, url: str, body: Mapping[str, Any]) -> httpx2.Response:
    """Return the whole response; raises AgentFailed for errors, and after the client's timeout."""
    deadline = time.monotonic() + (http.timeout.read or 0)
    late = AgentFailed(f"{url} has not answered within {http.timeout.read:g} s (--timeout)")
    try:
        with http.stream("POST", url, json=body) as streamed:
            pieces: list[bytes] = []
            for piece in streamed.iter_bytes():
                # Comments keep a stream of events alive, however long the answer takes.
                if time.monotonic() > deadline:
                    raise late
                pieces.append(piece)
    except httpx2.TimeoutException:
        raise late from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise AgentFailed(f"nothing answers at {url}: {error or type(error).__name__}") from None
    response = httpx2.Response(streamed.status_code, content=b"".join(pieces))
    if response.is_error:
        raise AgentFailed(f"{url} answers {response.status_code}: {_excerpt(response)}")
    return response


def _excerpt(response: httpx2.Response) -> str:
    """Return the start of a response's body in one line."""
    return " ".join(response.text.split())[:MAX_ERROR_CHARS]


@contextmanager
def agent_command(
    command: Sequence[str], base_url: str, *, key: str, timeout: float, until: str = ""
) -> Iterator[Agent]:
    """Run a command for one conversation, with its SDKs at a server; yield it as an agent. A
    message is a line of its input. Its answer is the next line of its output, or the text before
    the prompt `until`. Raises CannotRun."""
    prepared = command_environment(command, base_url, key=key)
    with prepared as environment, tempfile.TemporaryFile() as errors:
        process = start_command(
            command,
            # Python programs write each line immediately.
            environment | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        try:
            yield _Command(process, errors.fileno(), timeout=timeout, until=until.encode())
        finally:
            end_group(process)
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                # Input that the command did not read is lost.
                with suppress(OSError):
                    pipe.close()


class _Command:
    """A running command as an agent; `errors` is the file descriptor of its standard error."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", errors: int, *, timeout: float, until: bytes
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._errors, self._timeout = process, errors, timeout
        self._input, self._output = process.stdin, process.stdout
        self._end = until or b"\n"
        self._has_prompt = bool(until)
        self._unread = b""
        self._unsent = b""
        self._started = False
        # A command that does not read a long message must not stop its timeout.
        os.set_blocking(self._input.fileno(), False)

    def __call__(self, text: str) -> str:
        if self._has_prompt and not self._started:
            self._exchange()
        self._started = True
        self._unsent += " ".join(text.splitlines()).encode() + b"\n"
        return self._exchange()

    def _exchange(self) -> str:
        """Send the unsent input, and return the output up to the end of an answer. Raises
        AgentFailed after the timeout, or if the output ends."""
        deadline = time.monotonic() + self._timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            if self._unsent:
                selector.register(self._input, selectors.EVENT_WRITE)
            while self._end not in self._unread:
                ready = selector.select(max(deadline - time.monotonic(), 0))
                if not ready or time.monotonic() > deadline:
                    raise self._failure(f"no answer within {self._timeout:g} s (--timeout)")
                for key, _ in ready:
                    if key.fileobj is self._output:
                        self._read_output()
                    elif not self._send_input():
                        selector.unregister(self._input)
        answer, _, self._unread = self._unread.partition(self._end)
        return answer.decode("utf-8", "replace").strip()

    def _send_input(self) -> bool:
        """Send a part of the unsent input; return True if more is left."""
        try:
            sent = os.write(self._input.fileno(), self._unsent)
        except OSError:
            # A command that has ended has closed its output, too.
            sent = len(self._unsent)
        self._unsent = self._unsent[sent:]
        return bool(self._unsent)

    def _read_output(self) -> None:
        """Add to the unread output; AgentFailed at its end, or if an answer is too long."""
        data = os.read(self._output.fileno(), _READ_BYTES)
        self._unread += data
        if not data:
            raise self._failure(self._exit_reason())
        if len(self._unread) > MAX_ANSWER_BYTES:
            raise self._failure(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")

    def _exit_reason(self) -> str:
        """Return how the command ended, or that it only closed its output."""
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return "the command closed its output without an answer"
        output = self._unread.decode("utf-8", "replace").strip()
        return f"the command ended with exit code {code}" + (f" after: {output}" if output else "")

    def _failure(self, reason: str) -> AgentFailed:
        """Return the error with the end of the command's standard error."""
        size = os.fstat(self._errors).st_size
        start = max(size - MAX_ANSWER_BYTES, 0)
        text = os.pread(self._errors, MAX_ANSWER_BYTES, start).decode("utf-8", "replace")
        return AgentFailed("\n".join([reason, *text.rstrip().splitlines()[-MAX_ERROR_LINES:]]))
