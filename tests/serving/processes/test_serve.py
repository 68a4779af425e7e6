"""`serve`: what it prints, what it loads, how it fails, how it ends."""

import asyncio
import json
import signal
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from django.conf import settings

from mockllm_site.management.commands.serve import Command
from mockllm_site.serve.server import Server, Stop
from tests.serving.pipelines import chat, says, scenario
from tests.serving.processes.serve_process import Serving, failing, serving, written

STREAMS = 6


def ask(port: int, **fields: Any) -> httpx2.Response:
    call = chat(**fields)
    url = f"http://127.0.0.1:{port}{call.path}"
    return httpx2.post(url, content=call.body, headers=dict(call.headers), timeout=20)


def test_test_mode_listens_on_5099_of_this_machine() -> None:
    options = Command().create_parser("mockllm", "serve").parse_args([])
    assert (options.host, options.port) == ("127.0.0.1", 5099)
    assert settings.MOCKLLM_ENV == "test"


def test_one_ready_line_and_a_clean_end(tmp_path: Path) -> None:
    scenarios = written(tmp_path, scenario("s", says("Hi!")))
    with serving(tmp_path, MOCKLLM_SCENARIOS=scenarios) as server:
        assert server.ready_line == f"mockllm ready on http://127.0.0.1:{server.port}\n"
        assert ask(server.port).json()["choices"][0]["message"]["content"] == "Hi!"
        assert httpx2.get(f"http://127.0.0.1:{server.port}/healthz").status_code == 200
        code, out, err = server.end(signal.SIGINT)
    assert (code, out) == (0, "")
    assert "Traceback" not in err
    assert not list(tmp_path.glob("*.sqlite3"))


@pytest.mark.parametrize(
    ("arguments", "variables", "says_why"),
    [
        (["--workers", "2"], {}, "--workers 2: more than one process needs a shared state"),
        (["--port", "0", "--fixture", "nothing"], {}, "No fixture named 'nothing' found."),
        (["--port", "0"], {"MOCKLLM_SCENARIOS": "none.json"}, "none.json: cannot be read"),
        (["--port", "0"], {"MOCKLLM_ENV": "dev", "DATABASE_URL": "sqlite:////no/such/x"}, "data"),
        (["--host", "203.0.113.1"], {}, "cannot listen on 203.0.113.1:5099"),
        (["--host", "a..b"], {}, "cannot listen on a..b:5099: encoding with 'idna' codec failed"),
    ],
)
def test_a_start_that_fails_says_why_in_one_line_and_exits_1(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], says_why: str
) -> None:
    code, out, err = failing(tmp_path, *arguments, warm=True, **variables)
    assert (code, out) == (1, "")
    assert says_why in err
    assert len(err.strip().splitlines()) == 1


def test_a_document_with_an_error_stops_the_start_before_anything_is_written(
    tmp_path: Path,
) -> None:
    scenarios = written(tmp_path, {"name": "bad", "steps": [{"produce": {"texd": "Hi"}}]})
    variables = {"MOCKLLM_ENV": "dev", "MOCKLLM_SCENARIOS": scenarios}
    code, _, err = failing(tmp_path, "--port", "0", warm=True, **variables)
    assert code == 1
    assert "scenarios[0].steps[0].produce.texd" in err
    assert not (tmp_path / "mockllm.sqlite3").exists()


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = failing(tmp_path, "--port", str(port))
    assert code == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in err


def test_dev_begins_with_the_demo_and_a_user_and_says_the_password_once(tmp_path: Path) -> None:
    with serving(tmp_path, warm=True, MOCKLLM_ENV="dev") as server:
        _, _, first = server.end()
    assert first.count("created the user admin, password ") == 1
    with sqlite3.connect(tmp_path / "mockllm.sqlite3") as database:
        (scenarios,) = database.execute("SELECT count(*) FROM scenarios_app_scenario").fetchone()
        assert scenarios > 0
        # The user has changed the rest of the demo.
        database.execute("DELETE FROM scenarios_app_step")
        database.execute("UPDATE scenarios_app_scenario SET name = 'mine ' || id")
    database.close()
    variables = {"MOCKLLM_ENV": "dev", "MOCKLLM_ADMIN_PASSWORD": "other"}
    with serving(tmp_path, warm=True, **variables) as server:
        _, _, second = server.end()
    assert "password" not in second
    with sqlite3.connect(tmp_path / "mockllm.sqlite3") as database:
        names = database.execute("SELECT name FROM scenarios_app_scenario").fetchall()
    database.close()
    assert len(names) == scenarios and all(name.startswith("mine ") for (name,) in names)


def rows(directory: Path) -> list[tuple[str, int]]:
    """Outcome and status of all that the journal holds."""
    database = sqlite3.connect(directory / "mockllm.sqlite3")
    try:
        return database.execute(
            "SELECT outcome, status FROM scenarios_app_servedrequest ORDER BY id"
        ).fetchall()
    finally:
        database.close()


async def drained(server: Serving) -> tuple[list[str], tuple[int, str, str]]:
    """Begin streams, tell the server to stop once all have begun, and read them to their end."""
    begun = asyncio.Semaphore(0)

    async def read(client: httpx2.AsyncClient) -> str:
        call = chat(stream=True)
        url = f"http://127.0.0.1:{server.port}{call.path}"
        headers = dict(call.headers)
        body = b""
        async with client.stream("POST", url, content=call.body, headers=headers) as response:
            async for piece in response.aiter_raw():
                body += piece
                begun.release()
        return body.decode()

    async with httpx2.AsyncClient(timeout=30) as client:
        reading = [asyncio.create_task(read(client)) for _ in range(STREAMS)]
        for _ in range(STREAMS):
            await begun.acquire()
        server.process.terminate()
        bodies = await asyncio.gather(*reading)
    return bodies, await asyncio.to_thread(server.wait)


def paced(chunk_ms: int, chunks: int) -> dict[str, Any]:
    step = says("word " * chunks)
    step["produce"]["pacing"] = {"chunk_ms": chunk_ms, "words_per_chunk": 1}
    return scenario("paced", step)


async def test_streams_that_run_at_sigterm_complete_and_are_all_journalled(
    tmp_path: Path,
) -> None:
    scenarios = written(tmp_path, paced(50, 20))
    with serving(tmp_path, MOCKLLM_ENV="dev", MOCKLLM_SCENARIOS=scenarios) as server:
        bodies, (code, _, _) = await drained(server)
    assert code == 0
    assert all(body.endswith("data: [DONE]\n\n") for body in bodies)
    assert rows(tmp_path) == [("complete", 200)] * STREAMS


async def test_streams_that_outlive_the_drain_end_with_the_providers_error(
    tmp_path: Path,
) -> None:
    scenarios = written(tmp_path, paced(1_000, 60))
    variables = {"MOCKLLM_ENV": "dev", "MOCKLLM_DRAIN_SECONDS": "0.5"}
    with serving(tmp_path, warm=True, MOCKLLM_SCENARIOS=scenarios, **variables) as server:
        bodies, (code, _, err) = await drained(server)
    assert code == 0 and "Traceback" not in err
    for body in bodies:
        last = json.loads(body.strip().rpartition("data: ")[2])
        assert last["error"]["message"] == "The server is shutting down."
    assert rows(tmp_path) == [("fault", 200)] * STREAMS


def test_two_processes_send_the_same_bytes(tmp_path: Path) -> None:
    tool = {"name": "get_weather", "arguments": {"city": "Zürich"}}
    step = says("one two three four", match={"model": "gpt-4o"})
    step["produce"] |= {
        "tool_calls": [tool, tool],
        "pacing": {"chunk_ms": 1, "jitter": 0.5, "words_per_chunk": 1},
    }
    scenarios = written(tmp_path, scenario("s", step))
    told = []
    for seed in ("1", "2"):
        with serving(tmp_path, MOCKLLM_SCENARIOS=scenarios, PYTHONHASHSEED=seed) as server:
            answers = [ask(server.port, stream=stream) for stream in (False, True, True)]
            answers.append(ask(server.port, text="no such", model="unknown"))
            told.append([(a.content, _fixed(a)) for a in answers])
    assert told[0] == told[1]
    assert len({content for content, _ in told[0]}) == 4


def _fixed(answer: httpx2.Response) -> dict[str, str]:
    """The headers without the clock's and the one that is random by contract."""
    left_out = {"date", "x-mockllm-request"}
    return {name: value for name, value in answer.headers.items() if name not in left_out}


async def test_200_clients_get_50_steps_exactly_once_each(tmp_path: Path) -> None:
    steps = [{"produce": {"text": f"answer {i}"}} for i in range(50)]
    scenarios = written(tmp_path, scenario("contended", *steps))
    call = chat()
    with serving(tmp_path, warm=True, MOCKLLM_SCENARIOS=scenarios) as server:
        url = f"http://127.0.0.1:{server.port}{call.path}"
        limits = httpx2.Limits(max_connections=200)
        async with httpx2.AsyncClient(timeout=60, limits=limits) as client:
            asking = (
                client.post(url, content=call.body, headers=dict(call.headers)) for _ in range(200)
            )
            answers = await asyncio.gather(*asking)
        served = [
            answer.json()["choices"][0]["message"]["content"]
            for answer in answers
            if answer.status_code == 200
        ]
        assert sorted(served) == sorted(f"answer {i}" for i in range(50))
        assert {a.status_code for a in answers} == {200, 404}
        assert server.end()[0] == 0


@pytest.mark.parametrize("declared", [True, False], ids=["with a length", "chunked"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/control/scenarios", "/admin/login/"])
def test_a_client_gets_its_413_while_it_is_still_sending(
    small: Serving, path: str, declared: bool
) -> None:
    pieces = [b"x" * 100_000] * 100
    headers = {"authorization": "Bearer k"}
    if declared:
        headers["content-length"] = str(sum(map(len, pieces)))
    url = f"http://127.0.0.1:{small.port}{path}"
    answer = httpx2.post(url, content=iter(pieces), headers=headers, timeout=20)
    assert answer.status_code == 413
    assert "larger than 100000 bytes" in answer.text
    assert httpx2.get(f"http://127.0.0.1:{small.port}/healthz").status_code == 200


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server that takes small bodies only."""
    directory = tmp_path_factory.mktemp("small")
    with serving(directory, warm=True, MOCKLLM_MAX_BODY_BYTES="100000") as server:
        yield server


def test_a_signal_before_the_server_runs_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", installed.__setitem__)
    stop = Stop()
    with pytest.raises(SystemExit) as ended:
        installed[signal.SIGTERM](signal.SIGTERM, None)
    assert ended.value.code == 0
    stop.mark_running()
    installed[signal.SIGINT](signal.SIGINT, None)
    assert stop.requested


async def test_a_signal_while_the_server_starts_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    async def started(*_: object, **__: object) -> None: ...

    monkeypatch.setattr(uvicorn.Server, "startup", started)
    stop = Stop()
    stop.requested = True
    server = Server(uvicorn.Config("none:app"), ready=lambda: print("ready"), stop=stop)
    await server.startup()
    assert server.should_exit and capsys.readouterr().out == ""


def test_the_admin_password_may_be_chosen(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ADMIN_PASSWORD": "chosen-password", "MOCKLLM_ENV": "test"}
    with serving(tmp_path, warm=True, **variables) as server:
        origin = f"http://127.0.0.1:{server.port}"
        with httpx2.Client(base_url=origin) as client:
            client.get("/admin/login/")
            form = {
                "username": "admin",
                "password": "chosen-password",
                "csrfmiddlewaretoken": client.cookies["csrftoken"],
            }
            answer = client.post("/admin/login/", data=form)
        _, _, err = server.end()
    assert answer.status_code == 302
    assert "chosen-password" not in err
