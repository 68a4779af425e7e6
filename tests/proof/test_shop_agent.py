"""The example project `examples/shop_agent`: ten green tests, and the bugs that they miss."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "shop_agent"
# For each test, the cell that shows the agent's bug, and its outcome.
BUGS = {
    "test_summary_is_short": ("max_tokens@1", "wrong"),
    "test_translation_is_the_models": ("refusal@1", "wrong"),
    "test_title_has_one_line": ("empty_answer@1", "failed_silently"),
    "test_story_is_told": ("cut_text@1", "wrong"),
    "test_category_is_one_of_ours": ("server_error@1", "failed_silently"),
    "test_answer_comes_later": ("server_error@1", "hung"),
    "test_advice_is_given": ("rate_limit@1", "failed_silently"),
    "test_parcel_is_tracked": ("wrong_finish@1", "failed_silently"),
    "test_refund_is_paid": ("server_error@2", "multiplied"),
    "test_customer_gets_a_mail": ("unknown_tool@1", "failed_silently"),
}
KINDS = sorted({cell.partition("@")[0] for cell, _ in BUGS.values()})
WEAK = {"test_summary_is_short", "test_title_has_one_line", "test_refund_is_paid"}


def run(folder: Path, *options: str) -> dict[str, Any]:
    """Run the example's tests in a copy of it; return the JSON report."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    process = subprocess.run(
        [*command, *options], cwd=folder, capture_output=True, text=True, timeout=280, check=False
    )
    assert "10 passed" in process.stdout, process.stdout
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return report


@pytest.mark.timeout(300)
def test_sweep_finds_the_bug_behind_each_of_ten_green_tests(tmp_path: Path) -> None:
    kinds = ("--mockllm-torture-kinds", ",".join(KINDS))
    report = run(tmp_path, "--mockllm-torture", *kinds, "--mockllm-torture-json", "report.json")
    outcomes = {
        (cell["session"].partition("::")[2], f"{cell['kind']}@{cell['request']}"): cell["outcome"]
        for cell in report["cells"]
    }
    reported = {test: (cell, outcomes[test, cell]) for test, (cell, _) in BUGS.items()}
    assert reported == BUGS


@pytest.mark.timeout(300)
def test_mutants_find_the_three_tests_that_say_too_little(tmp_path: Path) -> None:
    report = run(tmp_path, "--mockllm-mutants", "--mockllm-mutants-json", "report.json")
    mutants = [
        mutant
        for mutant in report["mutants"]
        if mutant["kind"] in ("language", "argument", "number")
    ]
    survived = {
        test for mutant in mutants if mutant["outcome"] == "survived" for test in mutant["tests"]
    }
    assert {test.partition("::")[2] for test in survived} == WEAK
