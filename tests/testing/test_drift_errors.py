"""Errors of `mockllm drift`: a server that fails, reports of other programs."""

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

    def respond(request: httpx2.Request) -> httpx2.Response:
        if request.method == "PUT":
            return httpx2.Response(200, json={})
        return httpx2.Response(503, json={"message": "The database is away."})

    @contextmanager
    def failing_server() -> Iterator[Control]:
        control = Control("http://mockllm")
        control._http = httpx2.Client(
            base_url=control.base_url, transport=httpx2.MockTransport(respond)
        )
        yield control
        control.close()

    monkeypatch.setattr(drift, "controlled_server", failing_server)
    code = drift.main([str(cassette), "--", sys.executable, "-c", ""])
    assert code == drift.NOT_COMPARED
    message = "mockllm drift: DELETE /control/recording: The database is away.\n"
    assert capfd.readouterr().err.endswith(message)


@pytest.mark.parametrize("tests", [[{"cassette": "one"}], [{"cassette": "one", "drift": 7}], [7]])
def test_report_of_another_program_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], tests: list[object]
) -> None:
    cassette, report = tmp_path / "one.json", tmp_path / "report.json"
    cassette.write_text(json.dumps(CASSETTE))
    report.write_text(json.dumps({"tests": tests}))
    assert drift.main([str(cassette), "--report", str(report)]) == drift.NOT_COMPARED
    reason = f"{report}: expected what --mockllm-report=FILE.json writes"
    assert capfd.readouterr().err == f"mockllm drift: {reason}\n"
