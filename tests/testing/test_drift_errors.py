"""`mockllm drift` with a server that fails."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from scenarios_app.testing import drift
from scenarios_app.testing.control import Control

CASSETTE = {"name": "one", "steps": [{"produce": {"text": "Hi."}}]}


def test_error_at_the_end_of_the_replay_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    cassette = tmp_path / "one.json"
    cassette.write_text(json.dumps(CASSETTE))

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "PUT":
            return httpx2.Response(200, json={})
        return httpx2.Response(503, json={"message": "The database is away."})

    @contextmanager
    def failing_server() -> Iterator[Control]:
        control = Control("http://mockllm")
        control._http = httpx2.Client(
            base_url=control.base_url, transport=httpx2.MockTransport(answer)
        )
        yield control
        control.close()

    monkeypatch.setattr(drift, "controlled_server", failing_server)
    code = drift.main([str(cassette), "--", sys.executable, "-c", ""])
    assert code == drift.NOT_COMPARED
    told = "mockllm drift: DELETE /control/recording: The database is away.\n"
    assert capfd.readouterr().err.endswith(told)
