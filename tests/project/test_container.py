"""The commands of the Dockerfile, run in a temporary folder without a container."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
import yaml

from tests.project import processes
from tests.project.conftest import CHECKOUT
from tests.support.project_files import source_files

DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()
READY = "mockllm ready on http://"
SECRET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"


def command(instruction: str) -> list[str]:
    """Return the arguments of the last command of an instruction."""
    start = r"HEALTHCHECK.*\\\n *CMD" if instruction == "HEALTHCHECK" else instruction
    matches = re.findall(rf"^{start} (\[.+\])$", DOCKERFILE, re.MULTILINE)
    parts: list[str] = json.loads(matches[-1])
    return parts


def test_image_copies_all_files_of_the_build(tmp_path: Path) -> None:
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    for name in names:
        target = tmp_path / name
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, target)
        else:
            shutil.copy2(CHECKOUT / name, target)
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel")
    assert processes.run(*build, cwd=tmp_path).returncode == 0
    included = {
        line[1:] for line in (CHECKOUT / ".dockerignore").read_text().split() if line[0] == "!"
    }
    assert {name.split("/")[0] for name in names} <= included


@pytest.mark.parametrize(
    "settings",
    [{}, {"MOCKLLM_ENV": "prod", "SECRET_KEY": SECRET, "ALLOWED_HOSTS": ".mock.example,b.example"}],
    ids=["dev", "prod with other host names"],
)
def test_health_check_follows_the_port_of_the_server(
    wheel: Path, tmp_path: Path, settings: dict[str, str]
) -> None:
    start, check = [*command("ENTRYPOINT"), *command("CMD")], command("HEALTHCHECK")
    assert start[:4] == ["mockllm", "serve", "--host", "0.0.0.0"]
    assert check[0] == start[0] and start[-2:] == ["--port", "8000"]
    (name,) = re.findall(r"^ENV .*\b(MOCKLLM_READY_FILE)=/", DOCKERFILE, re.MULTILINE)
    variables = {"PYTHONPATH": str(wheel), name: str(tmp_path / "address"), **settings}
    program = (sys.executable, "-P", "-m", "mockllm_site")

    def health() -> str:
        done = processes.run(*program, *check[1:], cwd=tmp_path, variables=variables)
        return f"{done.returncode} {done.stdout}{done.stderr}"

    assert "1 mockllm healthcheck: MOCKLLM_READY_FILE: [Errno 2] No such file" in health()
    server = subprocess.Popen(
        # Not the image's port.
        [*program, *start[1:-1], "0"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    try:
        port = server.stdout.readline().removeprefix(READY).strip().rpartition(":")[2]
        address = f"http://127.0.0.1:{port}"
        # The first request imports modules, which may take longer than a probe waits.
        httpx2.get(f"{address}/readyz", timeout=60)
        assert health() == f"0 ready: {address}\n"
    finally:
        server.terminate()
        server.communicate(timeout=60)
    assert server.returncode == 0
    assert health().startswith(f"1 mockllm healthcheck: no server answers at {address}: ")
    assert (tmp_path / "mockllm.sqlite3").is_file()


def test_container_does_not_run_as_root() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["10001"]


def test_compose_file_has_one_server_process() -> None:
    services = yaml.safe_load((CHECKOUT / "compose.yaml").read_text())["services"]
    assert [name for name in services if "build" in services[name]] == ["web"]
    assert services["web"]["ports"] == ["127.0.0.1:8000:8000"]
    env_names = set(
        re.findall(r"^([A-Z_]+)=", (CHECKOUT / ".env.example").read_text(), re.MULTILINE)
    )
    assert set(services["web"]["environment"]) <= env_names


def test_examples_in_other_languages_are_short() -> None:
    folders = ("examples/vitest/", "examples/go/", "examples/java/", "examples/playwright/")
    files = [name for name in source_files(CHECKOUT) if name.startswith(folders)]
    assert {name.split("/")[1] for name in files} == {"vitest", "go", "java", "playwright"}
    assert [name for name in files if len((CHECKOUT / name).read_text().splitlines()) > 60] == []
