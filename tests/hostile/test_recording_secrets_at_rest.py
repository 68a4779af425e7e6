"""After recording or importing, no API key is left in databases, logs or cassettes."""

import base64
import json
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.hostile.test_recording_secrets import (
    LETTERS,
    NAMES,
    requests_with_keys,
    run_echo_server,
)
from tests.project import processes
from tests.serving.processes.serve_process import ServerProcess, run_server
from tests.support import fork_server, migrated_database

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]
DEV = {"MOCKLLM_ENV": "dev", "MOCKLLM_ADMIN_PASSWORD": "a password of a test"}
ROUNDS = 3
MIN_LEAK_CHARS = 12


class Keys:
    """Generates random API keys and finds those that occur in stored data."""

    def __init__(self) -> None:
        self.issued: list[str] = []
        self._random = Random(11)

    def __call__(self) -> str:
        self.issued.append("sk-" + "".join(self._random.choices(LETTERS, k=40)))
        return self.issued[-1]

    def find_leaks(self, *contents: bytes) -> list[str]:
        """Return the keys of which a part occurs in the data, plain or in Base64."""
        pieces = {
            key: [key[at : at + MIN_LEAK_CHARS] for at in range(3, len(key) - MIN_LEAK_CHARS + 1)]
            for key in self.issued
        }
        return [
            key
            for key, parts in pieces.items()
            for data in contents
            if any(part.encode() in data for part in parts)
            or base64.b64encode(key.encode())[4:-4] in data
        ]


def read_files(*folders: Path) -> list[bytes]:
    contents = [
        path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()
    ]
    assert contents
    return contents


def request(
    server: ServerProcess, method: str, path: str, body: Any, **headers: str
) -> tuple[int, bytes]:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request(method, path, data, {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("real", [False, True], ids=["own keys", "real keys"])
def test_no_key_of_a_recording_is_left_on_disk(tmp_path: Path, real: bool) -> None:
    keys = Keys()
    home = tmp_path / "home"
    home.mkdir()
    with run_echo_server() as upstream:
        upstreams = ",".join(f"{name}={upstream.url}" for name in NAMES)
        with run_server(home, "--no-demo", warm=True, **DEV, MOCKLLM_UPSTREAMS=upstreams) as server:
            real_keys = {name: keys() for name in NAMES} if real else {}
            recording_options = {"mode": "all", "name": "c", "keys": real_keys}
            assert request(server, "PUT", "/control/recording", recording_options)[0] == 201
            request_count = 0
            for _ in range(ROUNDS):
                for path, body, headers in requests_with_keys(keys):
                    assert request(server, "POST", path, body, **headers)[0] == 401, path
                    request_count += 1
            status, result = request(server, "DELETE", "/control/recording", "")
            document = json.loads(result)["document"]
            assert (status, len(document["steps"])) == (200, request_count)
            assert request(server, "PUT", "/control/scenarios/c", document)[0] == 201
            responses = [
                request(server, "GET", path, "")[1] for path in ("/control/requests", "/metrics")
            ]
            code, stdout, stderr = server.end()
    assert code == 0
    upstream_requests = "\n".join(upstream.requests)
    assert all(key in upstream_requests for key in (real_keys.values() if real else keys.issued))
    contents = [result, *responses, stdout.encode(), stderr.encode(), *read_files(home)]
    assert any(b"chat/completions" in data for data in read_files(home))
    assert keys.find_leaks(*contents) == []


def recorded_interactions(keys: Keys) -> Iterator[dict[str, Any]]:
    """Yield requests with keys and the responses of an upstream that repeats them."""
    for path, body, headers in requests_with_keys(keys):
        request_body = body if isinstance(body, str) else json.dumps(body)
        response_body = json.dumps({"heard": [path, headers, request_body]})
        yield {
            "url": f"https://api.openai.com{path}",
            "request_headers": {**headers, "cookie": f"sid={keys()}"},
            "request_body": request_body,
            "response_body": response_body,
            "response_headers": {
                "content-type": "application/json",
                "set-cookie": f"sid={keys()}",
            },
        }


def vcr_file(keys: Keys) -> bytes:
    return yaml.safe_dump(
        {
            "version": 1,
            "interactions": [
                {
                    "request": {
                        "method": "POST",
                        "uri": interaction["url"],
                        "headers": {
                            name: [value] for name, value in interaction["request_headers"].items()
                        },
                        "body": interaction["request_body"],
                    },
                    "response": {
                        "status": {"code": 401, "message": "No"},
                        "headers": {
                            name: [value] for name, value in interaction["response_headers"].items()
                        },
                        "body": {"string": interaction["response_body"]},
                    },
                }
                for interaction in recorded_interactions(keys)
            ],
        }
    ).encode()


def har_file(keys: Keys) -> bytes:
    def header_list(headers: dict[str, str]) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in headers.items()]

    entries = [
        {
            "startedDateTime": "2025-01-01T00:00:00Z",
            "request": {
                "method": "POST",
                "url": interaction["url"],
                "headers": header_list(interaction["request_headers"]),
                "postData": {"mimeType": "application/json", "text": interaction["request_body"]},
            },
            "response": {
                "status": 401,
                "headers": header_list(interaction["response_headers"]),
                "content": {"mimeType": "application/json", "text": interaction["response_body"]},
            },
        }
        for interaction in recorded_interactions(keys)
    ]
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def wiremock_file(keys: Keys) -> bytes:
    mappings = [
        {
            "request": {
                "method": "POST",
                "url": interaction["url"].removeprefix("https://api.openai.com"),
                "headers": {
                    name: {"equalTo": value}
                    for name, value in interaction["request_headers"].items()
                },
                "bodyPatterns": [{"equalToJson": interaction["request_body"]}],
            },
            "response": {
                "status": 401,
                "headers": interaction["response_headers"],
                "body": interaction["response_body"],
            },
        }
        for interaction in recorded_interactions(keys)
        if interaction["request_body"].endswith("}")
    ]
    return json.dumps({"mappings": mappings}).encode()


@pytest.mark.parametrize(
    ("name", "render_file"), [("a.yaml", vcr_file), ("a.har", har_file), ("a.json", wiremock_file)]
)
def test_no_key_of_an_imported_file_is_left_on_disk(
    tmp_path: Path, name: str, render_file: Callable[[Keys], bytes]
) -> None:
    keys = Keys()
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / name).write_bytes(render_file(keys))
    # The files contain the secrets, except a few for which the format has no place.
    assert len(keys.find_leaks(*read_files(tmp_path))) >= len(keys.issued) - 3
    contents = []
    migrated_database.copy_to(home / "mockllm.sqlite3")
    command = (fork_server.python(), "-P", "-m", "mockllm_site")
    for arguments in (("import", f"../{name}"), ("export_scenarios",)):
        process = processes.run(*command, *arguments, cwd=home, variables=DEV)
        assert process.returncode == 0, process.stderr
        contents += [process.stdout.encode(), process.stderr.encode()]
    assert b'"steps"' in contents[-2]
    assert keys.find_leaks(*contents, *read_files(home)) == []
