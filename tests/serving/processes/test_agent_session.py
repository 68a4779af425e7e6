"""A coding agent's session through `serve`: the journal has its requests byte for byte."""

import html
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tests.state.other_process import postgres_database
from tests.support.agent_traffic import agent_turns

PASSWORD = "a password of a test"
MB = 1_048_576
KEY = "sk-agent-0123456789"
LONG = "word " * 20_000
STEPS = [
    {
        "name": "long",
        "consume": False,
        "match": {"messages": [{"role": "user", "contains": "Write it all"}]},
        "produce": {"text": LONG},
    },
    {"name": "turn", "consume": False, "produce": {"text": "Done."}},
]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    variables = {
        "MOCKLLM_SCENARIOS": write_scenarios(tmp_path, {"name": "agent", "steps": STEPS}),
        "MOCKLLM_ADMIN_PASSWORD": PASSWORD,
        "MOCKLLM_ENV": "test" if request.param == "memory" else "dev",
    }
    if request.param != "postgres":
        with run_server(tmp_path, warm=True, **variables) as process:
            yield process
        return
    with (
        postgres_database() as address,
        run_server(tmp_path, warm=True, DATABASE_URL=address, **variables) as process,
    ):
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.base_url, trust_env=False, timeout=60) as client:
        yield client


def send(client: httpx2.Client, body: bytes) -> httpx2.Response:
    headers = {"x-api-key": KEY, "content-type": "application/json"}
    headers["anthropic-version"] = "2023-06-01"
    return client.post("/v1/messages", content=body, headers=headers)


def read_entry(client: httpx2.Client, response: httpx2.Response) -> dict[str, Any]:
    uid = response.headers["x-mockllm-request"]
    entry: dict[str, Any] = client.get(f"/control/requests/{uid}").raise_for_status().json()
    return entry


def log_in(client: httpx2.Client) -> None:
    client.get("/admin/login/")
    form = {"username": "admin", "password": PASSWORD, "next": "/admin/"}
    assert post(client, "/admin/login/", form).status_code == 302


def post(client: httpx2.Client, path: str, form: dict[str, str]) -> httpx2.Response:
    token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
    headers = {"referer": f"{client.base_url}/admin/"}
    return client.post(path, data=form | token, headers=headers)


def journal_pages(client: httpx2.Client, query: str) -> list[str]:
    page = client.get("/admin/scenarios_app/servedrequest/", params={"q": query}).text
    return sorted(set(re.findall(r"/admin/scenarios_app/servedrequest/\d+/change/", page)))


def test_turns_of_an_agent_are_the_same_in_journal_play_and_verdict(client: httpx2.Client) -> None:
    turns = list(agent_turns())
    responses = [send(client, body) for body in turns]
    for body, response in zip(turns, responses, strict=True):
        entry = read_entry(client, response)
        assert entry["request"]["body"].encode() == body
        assert (entry["request"]["bytes"], entry["request"]["cut"]) == (len(body), False)
        assert entry["response"]["body"].encode() == response.content
    session = read_entry(client, responses[0])["session"]
    log_in(client)

    # Only the last two bodies contain the result of the tool in turn 18.
    entry_paths = journal_pages(client, "Größe 18:")
    assert len(entry_paths) == 1
    page = html.unescape(client.get(entry_paths[0]).text)
    assert json.dumps(json.loads(turns[-1]), ensure_ascii=False, indent=2) in page
    assert len(journal_pages(client, "größe 17:")) == 2

    play = "/admin/scenarios_app/scenario/test/?tab=conversation"
    page = client.get(play, params={"tab": "conversation", "session": session}).text
    conversation = re.search(r'<script id="conversation"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert conversation is not None
    form = {"conversation": conversation[1]}
    export = post(client, play, form | {"download": "1"}).json()
    exported_turns = export["conversations"][0]["turns"]
    assert [turn["request"]["body"] for turn in exported_turns] == [*map(json.loads, turns)]
    assert "All turns passed." in post(client, play, form | {"play": "1"}).text

    step_page = client.get(entry_paths[0].replace("/change/", "/make-step/"))
    assert step_page.status_code == 200
    assert "Make a step" in step_page.text

    match = {"tools": ["Tool17"]}
    verification = client.post("/control/verify", json={"session": session, "match": match}).json()
    assert (verification["count"], verification["unjudged"]) == (20, [])
    verdict = client.get("/control/verdict", params={"session": session}).json()
    assert (verdict["passed"], verdict["complete"]) == (True, True)


def test_body_over_a_megabyte_is_cut(client: httpx2.Client) -> None:
    for extra in (0, 1):
        text = "x" * (MB + extra)
        body = json.dumps({"model": "m", "max_tokens": 1, "messages": [{"role": "user"}]})
        body = body.replace('"user"', f'"user", "content": "{text[: len(text) - len(body) - 15]}"')
        assert len(body) == MB + extra
        entry = read_entry(client, send(client, body.encode()))["request"]
        assert (entry["bytes"], entry["cut"]) == (len(body), bool(extra))
        assert entry["body"] == body[:MB]


@pytest.mark.parametrize("stream", [False, True])
def test_long_response_is_kept_as_it_was_sent(client: httpx2.Client, stream: bool) -> None:
    body = {"model": "m", "max_tokens": 100_000, "stream": stream}
    body["messages"] = [{"role": "user", "content": "Write it all"}]
    response = send(client, json.dumps(body).encode())
    entry = read_entry(client, response)["response"]
    assert entry["bytes"] == len(response.content) > 100_000
    assert entry["cut"] is (len(response.content) > MB)
    assert entry["body"].encode() == response.content[:MB]


def test_server_that_is_killed_leaves_readable_rows(tmp_path: Path) -> None:
    scenarios = write_scenarios(tmp_path, {"name": "agent", "steps": STEPS})
    variables = {"MOCKLLM_ENV": "dev", "MOCKLLM_SCENARIOS": scenarios}
    turns = list(agent_turns())
    with run_server(tmp_path, warm=True, **variables) as server:
        with httpx2.Client(base_url=server.base_url, trust_env=False, timeout=60) as client:
            before = [read_entry(client, send(client, body))["id"] for body in turns[:10]]
            for body in turns[10:]:
                send(client, body)
        server.end(signal.SIGKILL)
    with (
        run_server(tmp_path, warm=True, **variables) as server,
        httpx2.Client(base_url=server.base_url, trust_env=False, timeout=60) as client,
    ):
        rows = client.get("/control/requests").json()["requests"]
        assert [row["id"] for row in rows][:10] == before
        for row, body in zip(rows, turns, strict=False):
            entry = client.get(f"/control/requests/{row['id']}").json()
            assert entry["request"]["body"].encode() == body
        assert read_entry(client, send(client, turns[0]))["request"]["body"].encode() == turns[0]
