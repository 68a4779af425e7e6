"""Bugs planted in an agent are found by `mockllm torture`; without them it finds nothing."""

import json
from pathlib import Path

import pytest

from scenarios_app.verdict.fault_kinds import KINDS
from tests.proof.dinner import agent_command, read_outcomes, run_sweep

# The agent's arguments; the cell that shows the bug, its outcome, and a part of the reason.
BUGS = {
    "never retries": ("server_error@1", "failed_loudly", "names it: 500"),
    "swallows errors never retries": ("reset@1", "failed_silently", "nothing says why"),
    "stream shows what came before an error": ("cut_text@4", "wrong", "A table at Chez Anna"),
    "takes refusals": ("refusal@4", "wrong", "shows the refusal"),
    "ignores the finish reason": ("max_tokens@4", "wrong", "A table at Chez Anna is booke"),
    "takes empty answers": ("empty_answer@4", "failed_silently", "nothing says why"),
    "waits forever": ("reset@1", "hung", "did not end in time"),
    "starts again when a request fails": ("server_error@2", "multiplied", "2 good answers"),
    "runs the same call twice": ("call_twice@2", "multiplied", "2 good answers"),
    "drops results when it retries": ("server_error@2", "failed_silently", "get_weather"),
    "guesses broken arguments": ("broken_arguments@1", "failed_silently", "sunny in London"),
    "runs any tool": ("unknown_tool@1", "failed_silently", "sunny in Paris"),
}
SEPARATE_ARGUMENTS = ("never retries", "swallows errors", "stream")


def agent_arguments(bug: str) -> list[str]:
    """Return the arguments of the agent for a bug."""
    arguments = [argument for argument in SEPARATE_ARGUMENTS if argument in bug]
    for argument in arguments:
        bug = bug.replace(argument, "")
    return [*arguments, *([rest] if (rest := bug.strip()) else [])]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_found_with_the_outcome_that_fits(
    bug: str, tmp_path: Path, dinner: str
) -> None:
    cell, outcome, reason = BUGS[bug]
    options = ["--scenario", dinner, "--only", cell, "--json", "r.json"]
    process = run_sweep(*options, *agent_command(*agent_arguments(bug)), folder=tmp_path)
    (result,) = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert (result["outcome"], reason in result["why"]) == (outcome, True), process.stdout
    assert process.returncode == (0 if outcome == "failed_loudly" else 1)
    assert result["repeat"].startswith(f"mockllm torture --scenario {dinner} --only {cell} -- ")


@pytest.mark.timeout(180)
@pytest.mark.parametrize("arguments", [(), ("stream",)], ids=["whole", "stream"])
def test_correct_agent_has_no_findings_over_all_kinds(
    arguments: tuple[str, ...], tmp_path: Path, dinner: str
) -> None:
    options = ["--scenario", dinner, "--jobs", "4", "--json", "r.json"]
    process = run_sweep(*options, *agent_command(*arguments), folder=tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
    outcomes = read_outcomes(tmp_path / "r.json")
    kinds = {cell.partition("@")[0] for cell in outcomes}
    assert kinds == {kind.name for kind in KINDS if kind.needs != "socket"}
    loud = {cell for cell, outcome in outcomes.items() if outcome == "failed_loudly"}
    assert loud == {
        *(f"{kind}@{number}" for kind in ("empty_answer", "refusal") for number in range(1, 5)),
        *("max_tokens@3", "max_tokens@4"),
    }
    assert set(outcomes.values()) == {"survived", "failed_loudly"} and len(outcomes) == 64
