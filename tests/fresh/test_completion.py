"""`mockllm completion`: scripts for three shells complete commands, options and values."""

import shutil
import subprocess
from pathlib import Path

import pytest

from mockllm_site.completion import (
    SHELLS,
    CompletedCommand,
    CompletedOption,
    bash_script,
    fish_script,
    zsh_script,
)
from tests.project import command_lines
from tests.project.command_lines import CommandLine

MODE = CompletedOption("--mode", "it's one of [two]\nmodes", ("none", "once"), takes_value=True)
COMMANDS = [
    CompletedCommand(
        "record", "Records what's answered: all.", (MODE, CompletedOption("--all", ""))
    ),
    CompletedCommand("serve", "Serves."),
]
IN_BASH = """\
eval "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_mockllm; printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete_in_bash(script: str, *words: str) -> list[str]:
    """Return what bash offers in place of the last word."""
    process = subprocess.run(
        ["bash", "-c", IN_BASH, "bash", script, *words], capture_output=True, text=True, check=True
    )
    return process.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["re"], ["record"]),
        ([""], ["record", "serve"]),
        (["record", "--"], ["--mode", "--all"]),
        (["record", "--m"], ["--mode"]),
        (["record", "--mode", ""], ["none", "once"]),
        (["record", "--mode", "on"], ["once"]),
        (["record", "fi"], []),
        (["serve", "--"], []),
    ],
)
def test_bash_completes_commands_options_and_values(words: list[str], offered: list[str]) -> None:
    assert complete_in_bash(bash_script(COMMANDS), "mockllm", *words) == offered


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish_completes_commands_options_and_values(tmp_path: Path) -> None:
    file = tmp_path / "mockllm.fish"
    file.write_text(fish_script(COMMANDS))
    lines = [f"complete -C 'mockllm {words}'" for words in ("re", "record --m", "record --mode on")]
    process = subprocess.run(
        ["fish", "--no-config", "-c", "\n".join([f"source {file}", *lines])],
        capture_output=True,
        text=True,
        check=True,
    )
    offered = [line.split("\t")[0] for line in process.stdout.splitlines()]
    assert (offered, process.stderr) == (["record", "--mode", "once"], "")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
def test_zsh_reads_the_script_and_knows_the_command(tmp_path: Path) -> None:
    file = tmp_path / "_mockllm"
    file.write_text(zsh_script(COMMANDS))
    lines = f"autoload -Uz compinit; compinit -u -d {tmp_path}/dump; source {file}"
    process = subprocess.run(
        ["zsh", "-f", "-c", lines + "; print ${_comps[mockllm]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (process.stdout, process.stderr) == ("_mockllm\n", "")


def test_command_prints_the_options_of_every_command(tmp_path: Path) -> None:
    lines = {shell: CommandLine(["completion", shell], str(tmp_path)) for shell in SHELLS}
    lines["unknown"] = CommandLine(["completion", "tcsh"], str(tmp_path))
    results = command_lines.run(lines, mode="dev")
    script = results["bash"].out
    assert complete_in_bash(script, "mockllm", "serve", "--wa") == ["--watch"]
    assert "export_traces" in complete_in_bash(script, "mockllm", "ex")
    assert complete_in_bash(script, "mockllm", "dumpd") == ["dumpdata"]
    assert all("--mode" in results[shell].out for shell in ("bash", "zsh"))
    assert "-l mode" in results["fish"].out
    assert (results["unknown"].code, "choose from" in results["unknown"].err) == (2, True)
