"""`mockllm`: its version, the overview of commands, and help despite wrong settings."""

import os
import sys
from pathlib import Path

import pytest

from mockllm_site import __version__
from mockllm_site.__main__ import LIGHT_COMMANDS, is_light, main, wants_help
from mockllm_site.command_line import FULL_SERVER_COMMANDS, LINE_CHARS, overview
from tests.project import command_lines, processes
from tests.project.command_lines import CommandLine

CHECKOUT = Path(__file__).resolve().parents[2]
OURS = {
    file.stem
    for file in CHECKOUT.glob("*/management/commands/*.py")
    if not file.stem.startswith("_") and "tests" not in file.parts
}


def test_overview_lists_our_commands_before_djangos() -> None:
    ours, _, others = overview().partition("\n\nAlso ")
    lines = ours.partition("\nCommands:\n")[2].strip("\n").splitlines()
    assert {line.split()[0] for line in lines} == OURS
    assert lines[0].split()[0] == "serve"
    assert [line for line in lines if len(line) > LINE_CHARS or not line.endswith(".")] == []
    assert "commands of Django" in others and "help --commands" in others


def test_all_spellings_of_help_print_the_same(tmp_path: Path) -> None:
    help_commands = [[], ["help"], ["--help"], ["-h"]]
    other_commands = [
        ["help", "serve"],
        ["serve", "--help"],
        ["serve", "-h"],
        ["help", "--commands"],
    ]
    commands = [*help_commands, *other_commands, ["serve", "--version"]]
    lines = {" ".join(arguments): CommandLine(arguments, str(tmp_path)) for arguments in commands}
    results = command_lines.run(lines, mode="dev")
    assert {(result.code, result.err) for result in results.values()} == {(0, "")}
    assert {results[" ".join(command)].out for command in help_commands} == {overview() + "\n"}
    assert results["help serve"].out == results["serve --help"].out == results["serve -h"].out
    assert "--fixture NAME" in results["help serve"].out
    assert "--settings" not in results["help serve"].out
    assert set(results["help --commands"].out.split()) >= OURS
    assert results["serve --version"].out == f"mockllm {__version__}\n"


@pytest.mark.parametrize("version_argument", ["--version", "version"])
@pytest.mark.parametrize("entry", ["mockllm", "manage.py"])
def test_version_is_printed_despite_wrong_settings(
    tmp_path: Path, entry: str, version_argument: str
) -> None:
    commands = {"mockllm": [processes.COMMAND], "manage.py": ["python", CHECKOUT / "manage.py"]}
    path = f"{processes.COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    variables = {"MOCKLLM_ENV": "qa", "PATH": path}
    process = processes.run(*commands[entry], version_argument, cwd=tmp_path, variables=variables)
    assert (process.returncode, process.stdout, process.stderr) == (
        0,
        f"mockllm {__version__}\n",
        "",
    )


def test_help_is_printed_despite_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DEBUG=maybe\n")
    variables = {"MOCKLLM_ENV": "prod"}
    done = processes.run(processes.COMMAND, "serve", "--help", cwd=tmp_path, variables=variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: mockllm serve ")


@pytest.mark.parametrize(
    "arguments", [["loaddata", "help"], ["run", "--", "x", "--help"], ["serve", "--port", "-h"]]
)
def test_arguments_that_only_resemble_help_do_not_want_help(arguments: list[str]) -> None:
    assert not wants_help(arguments)


def test_light_commands_are_those_about_scenarios() -> None:
    folder = CHECKOUT / "scenarios_app" / "management" / "commands"
    about_scenarios = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    assert set(LIGHT_COMMANDS) == about_scenarios - {"dumpdata", "flush"} | {"skill"}
    assert OURS - set(LIGHT_COMMANDS) >= FULL_SERVER_COMMANDS


@pytest.mark.parametrize(
    ("arguments", "light"),
    [
        (["serve", "--port", "0", "--light"], True),
        (["play", "a.json"], True),
        (["serve", "--port", "0"], False),
        (["chat", "--light"], False),
        ([], False),
    ],
)
def test_only_light_servers_and_commands_about_scenarios_are_light(
    arguments: list[str], light: bool
) -> None:
    assert is_light(arguments) is light


def test_light_option_that_is_abbreviated_is_refused(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "test"}
    arguments = ("serve", "--port", "0", "--ligh")
    done = processes.run(processes.COMMAND, *arguments, cwd=tmp_path, variables=variables)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "mockllm: write --light in full: it is read before the other options\n"


def test_command_of_the_chat_is_refused_on_a_light_site(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "test", "MOCKLLM_LIGHT": "1"}
    done = processes.run(processes.COMMAND, "prune", cwd=tmp_path, variables=variables)
    assert (done.returncode, done.stderr) == (1, "mockllm: prune: not with MOCKLLM_LIGHT\n")


def test_ctrl_c_during_a_commands_start_ends_it_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scenarios_app.testing.run.run", interrupt)
    monkeypatch.setattr(sys, "argv", ["mockllm", "run", "--", "true"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
