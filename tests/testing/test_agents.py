"""Coding agents: the variables and files that point them at a server, for commands and in tests."""

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest

from scenarios_app.testing.agents import AGENTS, agent_variables, find_project
from scenarios_app.testing.run import run_command
from scenarios_app.testing.variables import API_KEY
from tests.testing.conftest import Run

URL = "http://127.0.0.1:5099"
ADDRESSES = {
    "claude": "ANTHROPIC_BASE_URL",
    "codex": "CODEX_HOME",
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "opencode": "OPENCODE_CONFIG_CONTENT",
}
PRINT_VARIABLES = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w'))"


def read_config(agent: str, variables: dict[str, str]) -> str:
    """Return the text that names the server's address to an agent."""
    value = variables[ADDRESSES[agent]]
    return Path(value, "config.toml").read_text() if agent == "codex" else value


@pytest.mark.parametrize("agent", ADDRESSES)
def test_every_agent_is_told_the_address_of_the_server(agent: str) -> None:
    with agent_variables(URL, command=[]) as variables:
        assert URL in read_config(agent, variables)


def test_every_agent_has_a_test_of_its_address() -> None:
    assert [agent.executable for agent in AGENTS] == list(ADDRESSES)


def test_folders_of_agents_are_separate_and_removed_at_the_end() -> None:
    with agent_variables(URL, command=["opencode"]) as variables:
        names = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME")
        folders = [Path(variables[name]) for name in names]
        assert len(set(folders)) == len(names)
        assert all(folder.is_dir() for folder in folders)
    assert not folders[0].parent.exists()


def test_codex_trusts_a_project_with_quotes_in_its_path(tmp_path: Path) -> None:
    project = tmp_path / 'my "größte" project'
    with agent_variables(URL, command=[], project=project) as variables:
        config = tomllib.loads(Path(variables["CODEX_HOME"], "config.toml").read_text())
    assert config["projects"] == {str(project): {"trust_level": "trusted"}}
    assert config["model_provider"] in config["model_providers"]


def test_claude_code_has_no_question_about_the_key_of_run_or_the_project(tmp_path: Path) -> None:
    with agent_variables(URL, command=[], project=tmp_path) as variables:
        state = json.loads(Path(variables["CLAUDE_CONFIG_DIR"], ".claude.json").read_text())
    assert state["customApiKeyResponses"]["approved"] == [API_KEY]
    assert state["projects"][str(tmp_path)]["hasTrustDialogAccepted"]


def test_keys_are_not_written_to_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-secret")
    with agent_variables(URL, command=[]) as variables:
        folder = Path(variables["CODEX_HOME"]).parent
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert len(files) > 3
        assert not any("sk-secret" in file.read_text() for file in files)
        assert "sk-secret" not in json.dumps(variables)


@pytest.mark.parametrize(
    "command",
    [
        ("opencode", "run", "hello"),
        ("/usr/local/bin/opencode", "run"),
        ("timeout", "60", "opencode", "run"),
        ("npx", "--yes", "opencode-ai@1.18", "run"),
    ],
)
def test_opencode_gets_its_own_home_folders_if_the_command_names_it(
    command: tuple[str, ...],
) -> None:
    with agent_variables(URL, command=command) as variables:
        assert variables["XDG_CONFIG_HOME"] == variables["XDG_DATA_HOME"]


@pytest.mark.parametrize("command", [("pytest", "tests/opencode.py"), ("claude", "-p"), ()])
def test_home_folders_stay_if_the_command_does_not_name_opencode(command: tuple[str, ...]) -> None:
    with agent_variables(URL, command=command) as variables:
        assert [name for name in variables if name.startswith("XDG_")] == []


def test_project_is_the_repository_around_a_folder_or_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "repository" / "packages" / "one"
    inner.mkdir(parents=True)
    assert find_project(inner) == inner
    (tmp_path / "repository" / ".git").mkdir()
    assert find_project(inner) == tmp_path / "repository"


def test_configuration_is_written_for_a_project_whose_name_is_not_utf8(tmp_path: Path) -> None:
    project = Path(os.fsdecode(bytes(tmp_path) + b"/gr\xf6\xdfe"))
    with agent_variables(URL, command=[], project=project) as variables:
        config = tomllib.loads(Path(variables["CODEX_HOME"], "config.toml").read_text())
    assert list(config["projects"]) == [f"{tmp_path}/gr??e"]


def test_command_sees_the_agents_variables_and_no_other_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/somewhere/else")
    variables_file = tmp_path / "variables.json"
    command = [sys.executable, "-c", PRINT_VARIABLES, str(variables_file)]
    assert run_command(command, URL) == 0
    variables = json.loads(variables_file.read_text())
    assert variables["ANTHROPIC_BASE_URL"] == URL
    assert variables["CLAUDE_CONFIG_DIR"] != "/somewhere/else"
    assert "CLAUDE_CODE_USE_BEDROCK" not in variables


def test_fixture_points_agents_at_the_session_of_the_test(run: Run) -> None:
    result = run(
        test_agents="""
        import json
        import os
        import tomllib

        def test_agents(mockllm, mockllm_agents, tmp_path):
            with open(os.environ["CODEX_HOME"] + "/config.toml", "rb") as file:
                config = tomllib.load(file)
            assert config["model_providers"]["mockllm"]["base_url"] == mockllm.openai_base_url
            assert config["projects"] == {str(tmp_path): {"trust_level": "trusted"}}
            assert mockllm_agents == tmp_path
            assert os.environ["ANTHROPIC_API_KEY"] == mockllm.api_key
            assert os.environ["XDG_CONFIG_HOME"]

        def test_without_agents(mockllm):
            assert "CODEX_HOME" not in os.environ
        """
    )
    result.assert_outcomes(passed=2)
