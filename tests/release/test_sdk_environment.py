"""`mockllm env` prints the variables of `mockllm run` for a server that is running."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mockllm_site import sdk_environment
from scenarios_app.testing.variables import API_KEY, sdk_variables, unset_variables

URL = "http://127.0.0.1:8123"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOCKLLM_URL", "MOCKLLM_READY_FILE", "NO_PROXY", "no_proxy", *unset_variables()):
        monkeypatch.delenv(name, raising=False)


def command_output(capsys: Any, *arguments: str) -> str:
    assert sdk_environment.main(arguments) == 0
    output: str = capsys.readouterr().out
    return output


def test_shell_that_evaluates_it_has_the_variables_of_run(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "it's; $HOME")
    script = command_output(capsys, "--url", f"{URL}/", "--key", "my test")
    shell = {"PATH": os.environ["PATH"], "OPENAI_ORG_ID": "mine"}
    process = subprocess.run(
        ["sh", "-ec", f"{script}\nenv -0"], env=shell, capture_output=True, text=True, check=True
    )
    variables = dict(line.split("=", 1) for line in process.stdout.split("\0") if line)
    expected = sdk_variables(URL, "my test", environment={"NO_PROXY": "it's; $HOME"})
    assert {name: variables[name] for name in expected} == expected
    assert expected["OPENAI_API_KEY"] == "my test" and "OPENAI_ORG_ID" not in variables


def test_dotenv_empties_only_variables_that_are_set(
    capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sdk_variables(URL, API_KEY, environment={})
    lines = command_output(capsys, "--url", URL, "--format", "dotenv").splitlines()
    assert dict(line.split("=", 1) for line in lines) == expected
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    lines = command_output(capsys, "--url", URL, "--format", "dotenv").splitlines()
    assert lines[-1] == "GOOGLE_GENAI_USE_VERTEXAI="


def test_json_has_null_for_variables_to_remove(capsys: Any) -> None:
    variables = json.loads(command_output(capsys, "--url", URL, "--format", "json"))
    assert variables["OPENAI_BASE_URL"] == f"{URL}/v1"
    assert {name for name, value in variables.items() if value is None} == set(unset_variables())


def test_server_is_the_one_of_the_environment_or_of_its_ready_file(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "address").write_text("http://127.0.0.1:2\n")
    monkeypatch.setenv("MOCKLLM_READY_FILE", str(tmp_path / "address"))
    assert "MOCKLLM_URL=http://127.0.0.1:2\n" in command_output(capsys)
    monkeypatch.setenv("MOCKLLM_URL", "http://127.0.0.1:1")
    assert "MOCKLLM_URL=http://127.0.0.1:1\n" in command_output(capsys)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "no server is named: use --url or MOCKLLM_URL"),
        (("--url", "x:1"), "x:1: expected http://…"),
    ],
)
def test_missing_server_is_one_error_line(
    capsys: Any, arguments: tuple[str, ...], problem: str
) -> None:
    assert sdk_environment.main(arguments) == 1
    assert capsys.readouterr().err == f"mockllm env: {problem}\n"
