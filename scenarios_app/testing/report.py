"""Writes the verdicts of all tests, or the coverage, to a file; its suffix selects the format."""

import json
from collections.abc import Iterable, Mapping
from itertools import starmap
from pathlib import Path
from typing import Any

from scenarios_app.verdict.reports import Case, coverage_cases, junit

MARKER = "mockllm"


class Report:
    """A pytest plugin that writes all verdicts: JSON (`.json`), JUnit XML (`.xml`) or text."""

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self._verdicts: list[tuple[str, Mapping[str, Any]]] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        verdict = getattr(report, MARKER, None)
        if verdict is not None:
            self._verdicts.append((report.nodeid, verdict))

    def pytest_sessionfinish(self) -> None:
        failed = sum(not verdict["passed"] for _, verdict in self._verdicts)
        lines = [f"{len(self._verdicts)} tests, {failed} with a verdict that failed"]
        for test, verdict in self._verdicts:
            lines += ["", test, *(f"  {line}" for line in verdict["text"].splitlines())]
        tests = [{"test": test, **verdict} for test, verdict in self._verdicts]
        body = {"passed": not failed, "tests": tests}
        _write_file(self._path, body, MARKER, starmap(_to_case, self._verdicts), "\n".join(lines))


def _to_case(test: str, verdict: Mapping[str, Any]) -> Case:
    file, _, name = test.partition("::")
    return Case(file, name or file, () if verdict["passed"] else (verdict["text"],))


def write_coverage(file: str, coverage: Mapping[str, Any]) -> None:
    """Write the JSON of `/control/coverage` in the format of the file's suffix."""
    cases = coverage_cases(coverage)
    _write_file(Path(file), coverage, f"{MARKER} coverage", cases, coverage["text"])


def _write_file(
    path: Path, body: Mapping[str, Any], suite: str, cases: Iterable[Case], text: str
) -> None:
    """Write a report in the format of its suffix: JSON, JUnit XML or text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix.lower():
        case ".json":
            content = json.dumps(body, indent=1, ensure_ascii=False) + "\n"
        case ".xml":
            content = junit(suite, cases)
        case _:
            content = f"{text}\n"
    path.write_text(content, encoding="utf-8")
