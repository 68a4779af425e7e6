"""A server for the length of a test, without pytest and without Django in the test's process.

with running_server(scenarios=[…]) as server:
    client = openai.OpenAI(base_url=server.openai_base_url, api_key=server.api_key)
"""

import json
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeAlias, runtime_checkable
from urllib.parse import quote

import httpx2

from scenarios_app.engine.document import DocumentError, ScenarioDocument, dump
from scenarios_app.engine.document.files import passed_over, read_files

READY = "mockllm ready on "
SAYS = "mockllm: "
API_KEY = "mockllm-test"
# Where steps are pushed when it does not go without saying.
PUSHED = "pushed"
STOP_SECONDS = 15.0
# What this process's environment must not decide for the server.
NOT_INHERITED = {
    "ALLOWED_HOSTS",
    "DATABASE_URL",
    "DEBUG",
    "DJANGO_SETTINGS_MODULE",
    "REDIS_URL",
    "SECRET_KEY",
}


@runtime_checkable
class Builds(Protocol):
    """A builder, finished or not."""

    def build(self) -> Any: ...


Document: TypeAlias = ScenarioDocument | Builds | Mapping[str, Any]
# A file or a directory of documents.
Source: TypeAlias = Document | str | Path
SINGLE = (ScenarioDocument, Builds, Mapping, str, Path)


class ServerFailed(Exception):
    """The server did not start, or refused what it was asked; the message says why."""


class RunningServer:
    """One server, all of it for one test: reset and read it as you like."""

    def __init__(self, base_url: str, names: Sequence[str], *, pid: int) -> None:
        self.base_url = base_url
        self.pid = pid
        self.openai_base_url = f"{base_url}/v1"
        self.api_key = API_KEY
        self._names = names
        self._http = httpx2.Client(base_url=base_url, trust_env=False, timeout=30)

    def push(self, step: Document, *, scenario: str | None = None) -> None:
        """Add a step at the end of a scenario: of the only one there is unless it is named."""
        name = scenario or (self._names[0] if len(self._names) == 1 else PUSHED)
        path = f"/control/scenarios/{quote(name, safe='')}"
        for one in _steps(step):
            response = self._http.post(f"{path}/steps", json=one)
            if response.status_code == 404:
                response = self._http.put(path, json={"name": name, "steps": [one]})
            _checked(response)

    def reset(self) -> None:
        """Forget what was consumed, counted and journalled, in every session. Scenarios stay."""
        body = {"session": None, "scenarios": False}
        _checked(self._http.post("/control/reset", json=body))

    @property
    def state(self) -> dict[str, Any]:
        """What the session of `api_key` has consumed, attempted, counted and violated."""
        params = {"session": self.api_key}
        state: dict[str, Any] = _checked(self._http.get("/control/state", params=params))
        return state

    @property
    def counters(self) -> dict[str, int]:
        """The counters of the session of `api_key`."""
        counters: dict[str, int] = self.state["counters"]
        return counters

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The journal: every request in every session, in the order in which answers ended."""
        found: list[dict[str, Any]] = []
        after: str | None = ""
        while after is not None:
            params = {"after": after} if after else {}
            page = _checked(self._http.get("/control/requests", params=params))
            found += page["requests"]
            after = page["next"]
        return found

    def close(self) -> None:
        self._http.close()


@contextmanager
def running_server(
    scenarios: Source | Iterable[Source] = (),
    *,
    settings: Mapping[str, str] | None = None,
    catch_all: bool = False,
    timeout: float = 60.0,
) -> Iterator[RunningServer]:
    """A server in test mode on a free port, with these scenarios and nothing else.

    A scenario is a document, a builder, or the path of a file or a directory of documents.
    `settings` are environment variables for it. Raises ServerFailed if it does not start; what it
    says of its settings while it does is a warning.
    """
    given = [scenarios] if isinstance(scenarios, SINGLE) else scenarios
    documents = [document for one in given for document in _documents(one)]
    with TemporaryDirectory(prefix="mockllm-") as directory:
        process, base_url = _start(
            Path(directory), documents, settings or {}, catch_all=catch_all, timeout=timeout
        )
        finalizer = weakref.finalize(process, _stop, process)
        server = RunningServer(
            base_url, [d["name"] for d in documents if "name" in d], pid=process.pid
        )
        try:
            yield server
        finally:
            server.close()
            finalizer()


def _start(
    directory: Path,
    documents: Sequence[Mapping[str, Any]],
    settings: Mapping[str, str],
    *,
    catch_all: bool,
    timeout: float,
) -> tuple["subprocess.Popen[str]", str]:
    command = [sys.executable, "-P", "-m", "mockllm_site", "serve", "--port", "0"]
    if not catch_all:
        command.append("--no-catch-all")
    if documents:
        file = directory / "scenarios.json"
        file.write_text(json.dumps({"scenarios": documents}), encoding="utf-8")
        settings = {"MOCKLLM_SCENARIOS": str(file), **settings}
    with open(directory / "stderr", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            command,
            # An empty directory: neither its `.env` nor its packages are the user's.
            cwd=directory,
            env=_environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            line = _first_line(process, timeout)
        except BaseException:
            _stop(process)
            raise
        if not line.startswith(READY):
            _stop(process)
            log.seek(0)
            raise ServerFailed(_reason(log.read(), timeout))
    for said in (directory / "stderr").read_text(encoding="utf-8").splitlines():
        if said.startswith(SAYS):
            warnings.warn(said.removeprefix(SAYS), stacklevel=2)
    return process, line.removeprefix(READY).strip()


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_INHERITED and not name.startswith("MOCKLLM_")
    }
    return {**kept, "MOCKLLM_ENV": "test", "MOCKLLM_DRAIN_SECONDS": "1", **settings}


def _first_line(process: "subprocess.Popen[str]", timeout: float) -> str:
    assert process.stdout is not None
    # Killing it ends its output, and with it the wait for a line.
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    try:
        return process.stdout.readline()
    finally:
        timer.cancel()


def _stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _reason(log: str, timeout: float) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    return (
        lines[-1].removeprefix(SAYS) if lines else f"the server was not ready after {timeout:g} s"
    )


def _documents(given: Source) -> Iterator[dict[str, Any]]:
    """The scenario documents in any form in which they are given."""
    match given:
        case str() | Path():
            yield from map(dump, _read(given))
        case ScenarioDocument():
            yield dump(given)
        case {"scenarios": [*several]}:
            yield from several
        case Mapping():
            yield dict(given)
        case Builds():
            yield from _documents(given.build())
        case _:
            raise ServerFailed(f"expected a scenario or a path, got {given!r:.80}")


def _read(path: str | Path) -> list[ScenarioDocument]:
    try:
        documents = read_files([path])
    except DocumentError as error:
        raise ServerFailed(str(error)) from None
    for problem in passed_over([path]):
        warnings.warn(str(problem), stacklevel=2)
    return documents


def _steps(given: Document) -> Iterator[Any]:
    if isinstance(given, Mapping) and "steps" not in given:
        yield dict(given)
    else:
        for document in _documents(given):
            yield from document["steps"]


def _checked(response: httpx2.Response) -> Any:
    if response.is_error:
        request = response.request
        raise ServerFailed(f"{request.method} {request.url.path}: {response.text}")
    return response.json() if response.content else None
