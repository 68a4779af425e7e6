"""Every test's verdict in one file, in the form that its name asks for."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from scenarios_app.verdict.reports import Case, coverage_cases, junit

MARKER = "mockllm"
# Tests by their ids, with the verdict that each got.
Verdicts: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]


class Report:
    """A plugin of pytest's that hears of every test: JSON (`.json`), JUnit XML (`.xml`) or text."""

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self._verdicts: list[tuple[str, Mapping[str, Any]]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        verdict = getattr(report, MARKER, None)
        if verdict is not None:
            self._verdicts.append((report.nodeid, verdict))

    def pytest_sessionfinish(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write = {".json": as_json, ".xml": as_junit}.get(self._path.suffix.lower(), as_text)
        self._path.write_text(write(self._verdicts), encoding="utf-8")


def as_text(verdicts: Verdicts) -> str:
    failed = [verdict for _, verdict in verdicts if not verdict["passed"]]
    lines = [f"{len(verdicts)} tests, {len(failed)} with a verdict that failed"]
    for test, verdict in verdicts:
        lines += ["", test, *(f"  {line}" for line in verdict["text"].splitlines())]
    return "\n".join(lines) + "\n"


def as_json(verdicts: Verdicts) -> str:
    """`{"passed", "tests": [{"test", …the verdict}]}`."""
    passed = all(verdict["passed"] for _, verdict in verdicts)
    tests = [{"test": test, **verdict} for test, verdict in verdicts]
    return json.dumps({"passed": passed, "tests": tests}, indent=1, ensure_ascii=False) + "\n"


def as_junit(verdicts: Verdicts) -> str:
    """A test case for each test; what its verdict says is its failure."""
    cases = []
    for test, verdict in verdicts:
        file, _, name = test.partition("::")
        reasons = () if verdict["passed"] else (verdict["text"],)
        cases.append(Case(file, name or file, reasons))
    return junit(MARKER, cases)


def write_coverage(file: str, found: Mapping[str, Any]) -> None:
    """What `/control/coverage` gives, as JSON, JUnit XML or text."""

    def as_cases(found: Mapping[str, Any]) -> str:
        return junit(f"{MARKER} coverage", coverage_cases(found))

    def as_text(found: Mapping[str, Any]) -> str:
        return f"{found['text']}\n"

    def as_json(found: Mapping[str, Any]) -> str:
        return json.dumps(found, indent=1, ensure_ascii=False) + "\n"

    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    write = {".json": as_json, ".xml": as_cases}.get(path.suffix.lower(), as_text)
    path.write_text(write(found), encoding="utf-8")
