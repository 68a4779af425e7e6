"""Keys on their way through a real server that records, and in files that are imported: in nothing
that stays when the processes have ended, neither in the database nor in logs nor in cassettes."""

import base64
import json
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.hostile.test_recording_secrets import LETTERS, NAMES, calls, echoing
from tests.project import processes
from tests.serving.processes.serve_process import Serving, serving
from tests.support import fork_server, migrated_database

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]
DEV = {"MOCKLLM_ENV": "dev", "MOCKLLM_ADMIN_PASSWORD": "a password of a test"}
ROUNDS = 3
SHORTEST = 12


class Keys:
    """Keys that are made up, each of which is to be found nowhere."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self._random = Random(11)

    def __call__(self) -> str:
        self.made.append("sk-" + "".join(self._random.choices(LETTERS, k=40)))
        return self.made[-1]

    def found_in(self, *kept: bytes) -> list[str]:
        """The keys of which a piece stands in one of these, plain or in Base64."""
        pieces = {
            key: [key[at : at + SHORTEST] for at in range(3, len(key) - SHORTEST + 1)]
            for key in self.made
        }
        return [
            key
            for key, parts in pieces.items()
            for data in kept
            if any(part.encode() in data for part in parts)
            or base64.b64encode(key.encode())[4:-4] in data
        ]


def files_of(*folders: Path) -> list[bytes]:
    found = [
        path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()
    ]
    assert found
    return found


def asked(server: Serving, method: str, path: str, body: Any, **headers: str) -> tuple[int, bytes]:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request(method, path, data, {"Content-Type": "application/json", **headers})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("real", [False, True], ids=["own keys", "real keys"])
def test_no_key_stays_of_what_a_server_records(tmp_path: Path, real: bool) -> None:
    keys = Keys()
    home = tmp_path / "home"
    home.mkdir()
    with echoing() as upstream:
        upstreams = ",".join(f"{name}={upstream.url}" for name in NAMES)
        with serving(home, "--no-demo", warm=True, **DEV, MOCKLLM_UPSTREAMS=upstreams) as one:
            given = {name: keys() for name in NAMES} if real else {}
            begun = {"mode": "all", "name": "c", "keys": given}
            assert asked(one, "PUT", "/control/recording", begun)[0] == 201
            number = 0
            for _ in range(ROUNDS):
                for path, body, headers in calls(keys):
                    assert asked(one, "POST", path, body, **headers)[0] == 401, path
                    number += 1
            status, ended = asked(one, "DELETE", "/control/recording", "")
            document = json.loads(ended)["document"]
            assert (status, len(document["steps"])) == (200, number)
            assert asked(one, "PUT", "/control/scenarios/c", document)[0] == 201
            shown = [asked(one, "GET", path, "")[1] for path in ("/control/requests", "/metrics")]
            code, out, err = one.end()
    assert code == 0
    said = "\n".join(upstream.heard)
    assert all(key in said for key in (given.values() if real else keys.made))
    kept = [ended, *shown, out.encode(), err.encode(), *files_of(home)]
    assert any(b"chat/completions" in data for data in files_of(home))
    assert keys.found_in(*kept) == []


def interactions(keys: Keys) -> Iterator[dict[str, Any]]:
    """What went over the wire, with what an upstream repeats of it."""
    for path, body, headers in calls(keys):
        text = body if isinstance(body, str) else json.dumps(body)
        said = json.dumps({"heard": [path, headers, text]})
        yield {
            "url": f"https://api.openai.com{path}",
            "headers": {**headers, "cookie": f"sid={keys()}"},
            "text": text,
            "said": said,
            "answered": {"content-type": "application/json", "set-cookie": f"sid={keys()}"},
        }


def vcr(keys: Keys) -> bytes:
    return yaml.safe_dump(
        {
            "version": 1,
            "interactions": [
                {
                    "request": {
                        "method": "POST",
                        "uri": one["url"],
                        "headers": {name: [value] for name, value in one["headers"].items()},
                        "body": one["text"],
                    },
                    "response": {
                        "status": {"code": 401, "message": "No"},
                        "headers": {name: [value] for name, value in one["answered"].items()},
                        "body": {"string": one["said"]},
                    },
                }
                for one in interactions(keys)
            ],
        }
    ).encode()


def har(keys: Keys) -> bytes:
    def listed(headers: dict[str, str]) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in headers.items()]

    entries = [
        {
            "startedDateTime": "2025-01-01T00:00:00Z",
            "request": {
                "method": "POST",
                "url": one["url"],
                "headers": listed(one["headers"]),
                "postData": {"mimeType": "application/json", "text": one["text"]},
            },
            "response": {
                "status": 401,
                "headers": listed(one["answered"]),
                "content": {"mimeType": "application/json", "text": one["said"]},
            },
        }
        for one in interactions(keys)
    ]
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def wiremock(keys: Keys) -> bytes:
    mappings = [
        {
            "request": {
                "method": "POST",
                "url": one["url"].removeprefix("https://api.openai.com"),
                "headers": {name: {"equalTo": value} for name, value in one["headers"].items()},
                "bodyPatterns": [{"equalToJson": one["text"]}],
            },
            "response": {"status": 401, "headers": one["answered"], "body": one["said"]},
        }
        for one in interactions(keys)
        if one["text"].endswith("}")
    ]
    return json.dumps({"mappings": mappings}).encode()


@pytest.mark.parametrize(("name", "write"), [("a.yaml", vcr), ("a.har", har), ("a.json", wiremock)])
def test_no_key_stays_of_a_file_that_is_imported(
    tmp_path: Path, name: str, write: Callable[[Keys], bytes]
) -> None:
    keys = Keys()
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / name).write_bytes(write(keys))
    # The files contain the secrets, except a few for which the format has no place.
    assert len(keys.found_in(*files_of(tmp_path))) >= len(keys.made) - 3
    kept = []
    migrated_database.copy_to(home / "mockllm.sqlite3")
    command = (fork_server.python(), "-P", "-m", "mockllm_site")
    for arguments in (("import", f"../{name}"), ("export_scenarios",)):
        done = processes.run(*command, *arguments, cwd=home, variables=DEV)
        assert done.returncode == 0, done.stderr
        kept += [done.stdout.encode(), done.stderr.encode()]
    assert b'"steps"' in kept[-2]
    assert keys.found_in(*kept, *files_of(home)) == []
