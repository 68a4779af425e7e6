"""Writes the verdicts of all tests, or the coverage, to a file; its suffix selects the format."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from scenarios_app.verdict.reports import Case, coverage_cases, junit

MARKER = "mockllm"
# Test ids with their verdicts.
Verdicts: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]


class Report:
    """A pytest plugin that collects verdicts: JSON (`.json`), JUnit XML (`.xml`) or text."""

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
    """Return a JUnit case for each test; a failed verdict is its failure."""
    cases = []
    for test, verdict in verdicts:
        file, _, name = test.partition("::")
        reasons = () if verdict["passed"] else (verdict["text"],)
        cases.append(Case(file, name or file, reasons))
    return junit(MARKER, cases)


def write_coverage(file: str, coverage: Mapping[str, Any]) -> None:
    """Write the JSON of `/control/coverage` as JSON, JUnit XML or text."""

    def as_cases(coverage: Mapping[str, Any]) -> str:
        return junit(f"{MARKER} coverage", coverage_cases(coverage))

    def as_text(coverage: Mapping[str, Any]) -> str:
        return f"{coverage['text']}\n"

    def as_json(coverage: Mapping[str, Any]) -> str:
        return json.dumps(coverage, indent=1, ensure_ascii=False) + "\n"

    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    write = {".json": as_json, ".xml": as_cases}.get(path.suffix.lower(), as_text)
    path.write_text(write(coverage), encoding="utf-8")
