"""Sessions of tests that have ended are forgotten many at once, and none is met again."""

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from scenarios_app.testing.control import Control
from scenarios_app.testing.sessions import RESET_BATCH, SharedServer
from scenarios_app.testing.stubs import Mockllm


class Resets(Control):
    """A server that takes note of what it is asked to forget."""

    def __init__(self, status: int = 200) -> None:
        super().__init__("http://127.0.0.1:1")
        self.forgotten: list[list[str]] = []
        self._status = status

    def response(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        **query: str | None,
    ) -> httpx2.Response:
        assert (method, path, body["scenarios"]) == ("POST", "reset", True)
        self.forgotten.append(body["sessions"])
        asked = httpx2.Request(method, "http://127.0.0.1:1")
        return httpx2.Response(self._status, json={"message": "no"}, request=asked)


def ended(server: SharedServer, *tests: str) -> list[str]:
    """The sessions of tests that have begun and ended."""
    sessions: list[Mockllm] = [server.session(test) for test in tests]
    for session in sessions:
        server.end_session(session)
    return [session.session for session in sessions]


def test_sessions_are_reset_in_batches_and_the_rest_at_the_end() -> None:
    control = Resets()
    server = SharedServer(control, exclusive=True)
    names = ended(server, *map(str, range(RESET_BATCH + 2)))
    assert control.forgotten == [names[:RESET_BATCH]]
    server.close()
    assert control.forgotten == [names[:RESET_BATCH], names[RESET_BATCH:]]


def test_a_test_that_runs_again_begins_as_new() -> None:
    control = Resets()
    server = SharedServer(control, exclusive=True)
    names = ended(server, "one", "two")
    assert server.session("other").session not in names
    assert control.forgotten == []
    assert server.session("one").session == names[0]
    assert control.forgotten == [names]


@pytest.mark.parametrize("tests", [0, 1])
def test_a_server_that_has_gone_is_not_asked_twice(tests: int) -> None:
    control = Resets(status=500)
    server = SharedServer(control, exclusive=True)
    ended(server, *map(str, range(tests)))
    server.close()
    assert len(control.forgotten) == tests
