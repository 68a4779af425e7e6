"""Ended sessions of tests are reset in batches, and before a test runs again."""

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from scenarios_app.testing.control import Control
from scenarios_app.testing.sessions import RESET_BATCH, SharedServer
from scenarios_app.testing.stubs import Mockllm


class RecordingControl(Control):
    """A control client without a server; `reset_batches` has the sessions of each reset."""

    def __init__(self, status: int = 200) -> None:
        super().__init__("http://127.0.0.1:1")
        self.reset_batches: list[list[str]] = []
        self._status = status

    def send_request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        **query: str | None,
    ) -> httpx2.Response:
        assert (method, path, body["scenarios"]) == ("POST", "reset", True)
        self.reset_batches.append(body["sessions"])
        request = httpx2.Request(method, "http://127.0.0.1:1")
        return httpx2.Response(self._status, json={"message": "no"}, request=request)


def run_tests(server: SharedServer, *tests: str) -> list[str]:
    """Begin and end the sessions of these tests; return the names of the sessions."""
    sessions: list[Mockllm] = [server.session(test) for test in tests]
    for session in sessions:
        server.end_session(session)
    return [session.session for session in sessions]


def test_sessions_are_reset_in_batches_and_the_rest_at_the_end() -> None:
    control = RecordingControl()
    server = SharedServer(control, exclusive=True)
    names = run_tests(server, *map(str, range(RESET_BATCH + 2)))
    assert control.reset_batches == [names[:RESET_BATCH]]
    server.close()
    assert control.reset_batches == [names[:RESET_BATCH], names[RESET_BATCH:]]


def test_repeated_test_begins_with_a_reset_session() -> None:
    control = RecordingControl()
    server = SharedServer(control, exclusive=True)
    names = run_tests(server, "one", "two")
    assert server.session("other").session not in names
    assert control.reset_batches == []
    assert server.session("one").session == names[0]
    assert control.reset_batches == [names]


@pytest.mark.parametrize("tests", [0, 1])
def test_failed_reset_at_the_end_is_not_repeated(tests: int) -> None:
    control = RecordingControl(status=500)
    server = SharedServer(control, exclusive=True)
    run_tests(server, *map(str, range(tests)))
    server.close()
    assert len(control.reset_batches) == tests
