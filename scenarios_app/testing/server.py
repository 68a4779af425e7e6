"""Runs a server for the duration of a test, without pytest or Django in the test's process.

with running_server(scenarios=[…]) as server:
    client = openai.OpenAI(base_url=server.openai_base_url, api_key=server.api_key)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from scenarios_app.testing.control import Control, ServerFailed, scenario_path
from scenarios_app.testing.documents import Document, Source, split_paths, to_documents, to_steps
from scenarios_app.testing.process import START_SECONDS, ServerOptions, server_process

__all__ = ["Document", "RunningServer", "ServerFailed", "Source", "running_server"]

API_KEY = "mockllm-test"
# The scenario of pushed steps unless the server has exactly one.
DEFAULT_SCENARIO = "pushed"


class RunningServer:
    """A server of one test, with the URLs and the API key for its clients."""

    def __init__(self, base_url: str, names: Sequence[str], *, pid: int) -> None:
        self.base_url = base_url
        self.pid = pid
        self.openai_base_url = f"{base_url}/v1"
        self.api_key = API_KEY
        self._names = names
        self._control = Control(base_url)

    def push(self, step: Document, *, scenario: str | None = None) -> None:
        """Append steps to the named scenario, the only one, or `pushed`. Raises ServerFailed."""
        name = scenario or (self._names[0] if len(self._names) == 1 else DEFAULT_SCENARIO)
        for new_step in to_steps(step):
            pushed = self._control.send_request("POST", scenario_path(name, "steps"), new_step)
            if pushed.status_code == 404:
                path, document = scenario_path(name), {"name": name, "steps": [new_step]}
                self._control.send("PUT", path, document)
            else:
                self._control.read_json(pushed)

    def reset(self) -> None:
        """Reset consumed steps, counters and the journal of every session; scenarios stay."""
        self._control.send("POST", "reset", {"session": None, "scenarios": False})

    @property
    def state(self) -> dict[str, Any]:
        """Return the state of the session of `api_key`: consumed steps, counters, violations."""
        return self._control.send("GET", "state", session=self.api_key)

    @property
    def counters(self) -> dict[str, int]:
        """Return the counters of the session of `api_key`."""
        return self.state["counters"]

    @property
    def requests(self) -> list[dict[str, Any]]:
        """Return the journal of all sessions, without headers and bodies, in the order in which
        responses ended."""
        return self._control.journal()

    def close(self) -> None:
        self._control.close()


@contextmanager
def running_server(
    scenarios: Source | Iterable[Source] = (),
    *,
    fixtures: Sequence[str] = (),
    settings: Mapping[str, str] | None = None,
    catch_all: bool = False,
    timeout: float = START_SECONDS,
    watch: bool = False,
    light: bool = True,
) -> Iterator[RunningServer]:
    """Run a server in test mode on a free port, with only these scenarios. A scenario is a
    document, a builder, or the path of a file or directory of documents. Fixtures are those of
    `serve --fixture`, `settings` environment variables. With `watch`, the files are loaded again
    when they change. With `light=False` the server has the chat, the admin and all pages too, which
    need the extra `server`. Raises ServerFailed if the server does not start; its messages about
    settings become warnings."""
    paths, others = split_paths(scenarios) if watch else ([], scenarios)
    documents = to_documents(others)
    start = ServerOptions(documents, fixtures, settings or {}, catch_all, timeout, paths, light)
    with server_process(start) as (base_url, pid):
        server = RunningServer(base_url, [d["name"] for d in documents if "name" in d], pid=pid)
        try:
            yield server
        finally:
            server.close()
