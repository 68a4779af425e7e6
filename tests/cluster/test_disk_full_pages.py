"""Admin pages, imports and exports on a full disk: a clear error, and nothing stored in part."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.admin.pages import IMPORT, LIST, fields
from tests.cluster.test_disk_full import full_disk
from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tests.support import fork_server, migrated_database
from tools.soak.servers import drain_output

PASSWORD = "a password of a test"
GREETING = {"name": "greeting", "steps": [{"produce": {"text": "Hello."}}]}
IMPORTED = {"name": "imported", "steps": [{"produce": {"text": "Hello."}}]}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    migrated_database.copy_to(tmp_path / "db.sqlite3")
    variables = {
        "MOCKLLM_ENV": "dev",
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "MOCKLLM_SCENARIOS": write_scenarios(tmp_path, GREETING),
        "MOCKLLM_ADMIN_PASSWORD": PASSWORD,
    }
    with run_server(tmp_path, "--no-demo", **variables) as server, drain_output(server):
        yield server


@pytest.fixture
def admin(server: ServerProcess) -> Iterator[httpx2.Client]:
    """Return a client that is logged in to the admin."""
    with httpx2.Client(base_url=server.base_url, timeout=60, trust_env=False) as client:
        client.get("/admin/login/")
        form = {"username": "admin", "password": PASSWORD, "next": "/admin/"}
        assert post(client, "/admin/login/", form).status_code == 302
        yield client


def post(client: httpx2.Client, path: str, form: dict[str, str]) -> httpx2.Response:
    token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
    headers = {"Referer": str(client.base_url)}
    return client.post(path, data=form | token, headers=headers)


def scenarios(client: httpx2.Client) -> dict[str, Any]:
    documents = client.get("/control/scenarios").json()["scenarios"]
    return {document["name"]: document for document in documents}


def page_path(client: httpx2.Client, name: str) -> str:
    text = client.get(LIST, params={"q": name}).text
    (key,) = set(re.findall(rf"{LIST}([0-9]+)/change/", text))
    return f"{LIST}{key}/change/"


def test_scenario_save_on_full_disk_is_503_and_keeps_the_stored_one(
    server: ServerProcess, admin: httpx2.Client
) -> None:
    before = scenarios(admin)
    path = page_path(admin, "greeting")
    form = fields(admin.get(path).text) | {"description": "changed"}
    with full_disk(server):
        response = post(admin, path, form)
        assert response.status_code == 503
        assert "Nothing was saved." in response.text
        assert scenarios(admin) == before
        assert admin.get(path).status_code == 200
    assert post(admin, path, form).status_code == 302
    assert scenarios(admin)["greeting"]["description"] == "changed"


def test_import_on_full_disk_is_503_and_loads_nothing(
    server: ServerProcess, admin: httpx2.Client
) -> None:
    documents = json.dumps({"scenarios": [IMPORTED, {**IMPORTED, "name": "other"}]})
    form = {"text": documents, "existing": "replace", "load": "1"}
    with full_disk(server):
        response = post(admin, IMPORT, form)
        assert response.status_code == 503
        assert "Nothing was saved." in response.text
        assert scenarios(admin).keys() == {"greeting"}
    assert post(admin, IMPORT, form).status_code == 302
    assert scenarios(admin).keys() == {"greeting", "imported", "other"}


def test_new_draft_on_full_disk_is_503_and_is_created_afterwards(
    server: ServerProcess, admin: httpx2.Client
) -> None:
    path = "/admin/scenarios_app/draft/add/"
    form = fields(admin.get(path, params={"example": "empty"}).text, "draft_form") | {"name": "new"}
    with full_disk(server):
        assert post(admin, path, form).status_code == 503
    assert post(admin, path, form).status_code == 302


def test_login_on_full_disk_is_503_and_works_afterwards(server: ServerProcess) -> None:
    with httpx2.Client(base_url=server.base_url, timeout=60, trust_env=False) as client:
        client.get("/admin/login/")
        form = {"username": "admin", "password": PASSWORD, "next": "/admin/"}
        with full_disk(server):
            assert post(client, "/admin/login/", form).status_code == 503
        assert post(client, "/admin/login/", form).status_code == 302


@pytest.mark.parametrize("command", ["export_scenarios", "check_scenarios"])
def test_export_to_full_disk_is_one_line_and_exit_code_1(tmp_path: Path, command: str) -> None:
    migrated_database.copy_to(tmp_path / "db.sqlite3")
    variables = {"MOCKLLM_ENV": "dev", "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3"}
    arguments = [fork_server.python(), "-P", "-m", "mockllm_site", command]
    with open("/dev/full", "w", encoding="utf-8") as full_device:
        completed = subprocess.run(
            arguments,
            cwd=tmp_path,
            env=variables,
            stdout=full_device,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert completed.returncode == 1
    assert completed.stderr.startswith("mockllm: ") and completed.stderr.count("\n") == 1
    assert "No space left on device" in completed.stderr
