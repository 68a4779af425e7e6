"""`mockllm`: its version, its overview of commands, and help where a setting is wrong."""

import os
from pathlib import Path

import pytest

from mockllm_site import __version__
from mockllm_site.__main__ import LIGHT, is_light, wants_help
from mockllm_site.command_line import NOT_LIGHT, WIDTH, overview
from tests.project import command_lines, processes
from tests.project.command_lines import Line

CHECKOUT = Path(__file__).resolve().parents[2]
OURS = {
    file.stem
    for file in CHECKOUT.glob("*/management/commands/*.py")
    if not file.stem.startswith("_") and "tests" not in file.parts
}


def test_each_command_of_ours_has_a_line_before_djangos() -> None:
    ours, _, others = overview().partition("\nDjango's:\n")
    lines = ours.partition("\nCommands:\n")[2].strip("\n").splitlines()
    assert {line.split()[0] for line in lines} == OURS
    assert lines[0].split()[0] == "serve"
    assert [line for line in lines if len(line) > WIDTH or not line.endswith(".")] == []
    assert {"makemigrations", "createsuperuser"} <= set(others.replace(",", " ").split())
    assert not OURS & set(others.replace(",", " ").split())


def test_all_ways_to_ask_say_the_same(tmp_path: Path) -> None:
    ways = [[], ["help"], ["--help"], ["-h"]]
    more = [["help", "serve"], ["serve", "--help"], ["serve", "-h"], ["help", "--commands"]]
    typed = [*ways, *more, ["serve", "--version"]]
    lines = {" ".join(arguments): Line(arguments, str(tmp_path)) for arguments in typed}
    done = command_lines.run(lines, mode="dev")
    assert {(said.code, said.err) for said in done.values()} == {(0, "")}
    assert {done[" ".join(way)].out for way in ways} == {overview() + "\n"}
    assert done["help serve"].out == done["serve --help"].out == done["serve -h"].out
    assert "--fixture NAME" in done["help serve"].out
    assert set(done["help --commands"].out.split()) >= OURS
    assert done["serve --version"].out == f"mockllm {__version__}\n"


@pytest.mark.parametrize("way", ["--version", "version"])
@pytest.mark.parametrize("entry", ["mockllm", "manage.py"])
def test_the_version_is_the_products_whatever_the_settings(
    tmp_path: Path, entry: str, way: str
) -> None:
    commands = {"mockllm": [processes.COMMAND], "manage.py": ["python", CHECKOUT / "manage.py"]}
    path = f"{processes.COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    variables = {"MOCKLLM_ENV": "qa", "PATH": path}
    done = processes.run(*commands[entry], way, cwd=tmp_path, variables=variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mockllm {__version__}\n", "")


def test_help_comes_where_a_setting_is_wrong_too(tmp_path: Path) -> None:
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
    assert set(LIGHT) == about_scenarios | {"skill"}
    assert OURS - set(LIGHT) >= NOT_LIGHT


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
    assert done.stderr == "mockllm: --light: write it out; it is read before everything else\n"


def test_command_of_the_chat_is_refused_on_a_light_site(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "test", "MOCKLLM_LIGHT": "1"}
    done = processes.run(processes.COMMAND, "prune", cwd=tmp_path, variables=variables)
    assert (done.returncode, done.stderr) == (1, "mockllm: prune: not with MOCKLLM_LIGHT\n")
