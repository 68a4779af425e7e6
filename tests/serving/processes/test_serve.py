"""`serve`: its output, what it loads, failed starts and its end."""

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
from tests.serving.pipelines import chat, scenario, text_step
from tests.serving.processes.serve_process import (
    ServerProcess,
    run_failing_start,
    run_server,
    write_scenarios,
)

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
    scenarios = write_scenarios(tmp_path, scenario("s", text_step("Hi!")))
    with run_server(tmp_path, MOCKLLM_SCENARIOS=scenarios) as server:
        assert server.ready_line == f"mockllm ready on http://127.0.0.1:{server.port}\n"
        assert ask(server.port).json()["choices"][0]["message"]["content"] == "Hi!"
        assert httpx2.get(f"http://127.0.0.1:{server.port}/healthz").status_code == 200
        code, out, err = server.end(signal.SIGINT)
    assert (code, out) == (0, "")
    assert "Traceback" not in err
    assert not list(tmp_path.glob("*.sqlite3"))


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["--workers", "2"], {}, "--workers 2: more than one process needs a shared state"),
        (["--port", "0", "--fixture", "nothing"], {}, "No fixture named 'nothing' found."),
        (["--port", "0"], {"MOCKLLM_SCENARIOS": "none.json"}, "none.json: cannot be read"),
        (["--port", "0"], {"MOCKLLM_ENV": "dev", "DATABASE_URL": "sqlite:////no/such/x"}, "data"),
        (["--host", "203.0.113.1"], {}, "cannot listen on 203.0.113.1:5099"),
        (["--host", "a..b"], {}, "cannot listen on a..b:5099: encoding with 'idna' codec failed"),
    ],
)
def test_failed_start_prints_one_line_and_exits_with_1(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], message: str
) -> None:
    code, out, err = run_failing_start(tmp_path, *arguments, warm=True, **variables)
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_document_with_an_error_stops_the_start_before_anything_is_written(
    tmp_path: Path,
) -> None:
    scenarios = write_scenarios(tmp_path, {"name": "bad", "steps": [{"produce": {"texd": "Hi"}}]})
    variables = {"MOCKLLM_ENV": "dev", "MOCKLLM_SCENARIOS": scenarios}
    code, _, err = run_failing_start(tmp_path, "--port", "0", warm=True, **variables)
    assert code == 1
    assert "scenarios[0].steps[0].produce.texd" in err
    assert not (tmp_path / "mockllm.sqlite3").exists()


def test_occupied_port_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        code, _, err = run_failing_start(tmp_path, "--port", str(port))
    assert code == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in err


def test_dev_starts_with_demo_and_user_and_prints_the_password_once(tmp_path: Path) -> None:
    with run_server(tmp_path, warm=True, MOCKLLM_ENV="dev") as server:
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
    with run_server(tmp_path, warm=True, **variables) as server:
        _, _, second = server.end()
    assert "password" not in second
    with sqlite3.connect(tmp_path / "mockllm.sqlite3") as database:
        names = database.execute("SELECT name FROM scenarios_app_scenario").fetchall()
    database.close()
    assert len(names) == scenarios and all(name.startswith("mine ") for (name,) in names)


def test_light_server_creates_no_user_for_the_admin_that_it_lacks(tmp_path: Path) -> None:
    with run_server(tmp_path, "--light", MOCKLLM_ENV="dev") as server:
        _, _, err = server.end()
    assert "password" not in err


def read_outcomes(directory: Path) -> list[tuple[str, int]]:
    """Return outcome and status of all journal rows."""
    database = sqlite3.connect(directory / "mockllm.sqlite3")
    try:
        return database.execute(
            "SELECT outcome, status FROM scenarios_app_servedrequest ORDER BY id"
        ).fetchall()
    finally:
        database.close()


async def drain_streams(server: ServerProcess) -> tuple[list[str], tuple[int, str, str]]:
    """Terminate the server while streams run; return their bodies and the server's exit."""
    received_chunks = asyncio.Semaphore(0)

    async def read(client: httpx2.AsyncClient) -> str:
        call = chat(stream=True)
        url = f"http://127.0.0.1:{server.port}{call.path}"
        headers = dict(call.headers)
        body = b""
        async with client.stream("POST", url, content=call.body, headers=headers) as response:
            async for piece in response.aiter_raw():
                body += piece
                received_chunks.release()
        return body.decode()

    async with httpx2.AsyncClient(timeout=30) as client:
        tasks = [asyncio.create_task(read(client)) for _ in range(STREAMS)]
        for _ in range(STREAMS):
            await received_chunks.acquire()
        server.process.terminate()
        bodies = await asyncio.gather(*tasks)
    return bodies, await asyncio.to_thread(server.wait)


def paced_scenario(chunk_ms: int, chunks: int) -> dict[str, Any]:
    step = text_step("word " * chunks)
    step["produce"]["pacing"] = {"chunk_ms": chunk_ms, "words_per_chunk": 1}
    return scenario("paced", step)


async def test_streams_that_run_at_sigterm_complete_and_are_all_journalled(
    tmp_path: Path,
) -> None:
    scenarios = write_scenarios(tmp_path, paced_scenario(50, 20))
    with run_server(tmp_path, MOCKLLM_ENV="dev", MOCKLLM_SCENARIOS=scenarios) as server:
        bodies, (code, _, _) = await drain_streams(server)
    assert code == 0
    assert all(body.endswith("data: [DONE]\n\n") for body in bodies)
    assert read_outcomes(tmp_path) == [("complete", 200)] * STREAMS


async def test_streams_that_outlive_the_drain_end_with_the_providers_error(
    tmp_path: Path,
) -> None:
    scenarios = write_scenarios(tmp_path, paced_scenario(1_000, 60))
    variables = {"MOCKLLM_ENV": "dev", "MOCKLLM_DRAIN_SECONDS": "0.5"}
    with run_server(tmp_path, warm=True, MOCKLLM_SCENARIOS=scenarios, **variables) as server:
        bodies, (code, _, err) = await drain_streams(server)
    assert code == 0 and "Traceback" not in err
    for body in bodies:
        last = json.loads(body.strip().rpartition("data: ")[2])
        assert last["error"]["message"] == "The server is shutting down."
    assert read_outcomes(tmp_path) == [("fault", 200)] * STREAMS


def test_two_processes_send_the_same_bytes(tmp_path: Path) -> None:
    tool = {"name": "get_weather", "arguments": {"city": "Zürich"}}
    step = text_step("one two three four", match={"model": "gpt-4o"})
    step["produce"] |= {
        "tool_calls": [tool, tool],
        "pacing": {"chunk_ms": 1, "jitter": 0.5, "words_per_chunk": 1},
    }
    scenarios = write_scenarios(tmp_path, scenario("s", step))
    runs = []
    for seed in ("1", "2"):
        with run_server(tmp_path, MOCKLLM_SCENARIOS=scenarios, PYTHONHASHSEED=seed) as server:
            answers = [ask(server.port, stream=stream) for stream in (False, True, True)]
            answers.append(ask(server.port, text="no such", model="unknown"))
            runs.append([(a.content, _stable_headers(a)) for a in answers])
    assert runs[0] == runs[1]
    assert len({content for content, _ in runs[0]}) == 4


def _stable_headers(answer: httpx2.Response) -> dict[str, str]:
    """Return the headers that are the same for every answer."""
    varying = {"date", "x-mockllm-request"}
    return {name: value for name, value in answer.headers.items() if name not in varying}


def test_answers_say_how_long_an_idle_connection_stays_open(tmp_path: Path) -> None:
    with run_server(tmp_path, warm=True, MOCKLLM_KEEP_ALIVE_SECONDS="7") as server:
        answers = [
            ask(server.port),
            ask(server.port, stream=True),
            httpx2.get(f"http://127.0.0.1:{server.port}/livez"),
        ]
        assert [answer.headers["keep-alive"] for answer in answers] == ["timeout=7"] * 3


async def test_200_clients_get_50_steps_exactly_once_each(tmp_path: Path) -> None:
    steps = [{"produce": {"text": f"answer {i}"}} for i in range(50)]
    scenarios = write_scenarios(tmp_path, scenario("contended", *steps))
    call = chat()
    with run_server(tmp_path, warm=True, MOCKLLM_SCENARIOS=scenarios) as server:
        url = f"http://127.0.0.1:{server.port}{call.path}"
        limits = httpx2.Limits(max_connections=200)
        async with httpx2.AsyncClient(timeout=60, limits=limits) as client:
            requests = (
                client.post(url, content=call.body, headers=dict(call.headers)) for _ in range(200)
            )
            answers = await asyncio.gather(*requests)
        texts = [
            answer.json()["choices"][0]["message"]["content"]
            for answer in answers
            if answer.status_code == 200
        ]
        assert sorted(texts) == sorted(f"answer {i}" for i in range(50))
        assert {a.status_code for a in answers} == {200, 404}
        assert server.end()[0] == 0


@pytest.mark.parametrize("declared", [True, False], ids=["with a length", "chunked"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/control/scenarios", "/admin/login/"])
def test_a_client_gets_its_413_while_it_is_still_sending(
    small_body_server: ServerProcess, path: str, declared: bool
) -> None:
    pieces = [b"x" * 100_000] * 100
    headers = {"authorization": "Bearer k"}
    if declared:
        headers["content-length"] = str(sum(map(len, pieces)))
    url = f"http://127.0.0.1:{small_body_server.port}{path}"
    answer = httpx2.post(url, content=iter(pieces), headers=headers, timeout=20)
    assert answer.status_code == 413
    assert "larger than 100000 bytes" in answer.text
    assert httpx2.get(f"http://127.0.0.1:{small_body_server.port}/healthz").status_code == 200


@pytest.fixture(scope="module")
def small_body_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that accepts only small bodies."""
    directory = tmp_path_factory.mktemp("small")
    with run_server(directory, warm=True, MOCKLLM_MAX_BODY_BYTES="100000") as server:
        yield server


def test_a_signal_before_the_server_runs_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", installed.__setitem__)
    stop = Stop()
    with pytest.raises(SystemExit) as raised:
        installed[signal.SIGTERM](signal.SIGTERM, None)
    assert raised.value.code == 0
    stop.mark_running()
    installed[signal.SIGINT](signal.SIGINT, None)
    assert stop.requested


async def test_a_signal_while_the_server_starts_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    async def skip_startup(*_: object, **__: object) -> None: ...

    monkeypatch.setattr(uvicorn.Server, "startup", skip_startup)
    stop = Stop()
    stop.requested = True
    server = Server(uvicorn.Config("none:app"), ready=lambda: print("ready"), stop=stop)
    await server.startup()
    assert server.should_exit and capsys.readouterr().out == ""


def test_the_admin_password_may_be_chosen(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ADMIN_PASSWORD": "chosen-password", "MOCKLLM_ENV": "test"}
    with run_server(tmp_path, warm=True, **variables) as server:
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
