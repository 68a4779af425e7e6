"""Writes the verdicts of all tests, or the coverage, to a file; its suffix selects the format."""

import json
from collections.abc import Iterable, Mapping
from itertools import starmap
from pathlib import Path
from typing import Any

from scenarios_app.testing.control import ServerFailed
from scenarios_app.verdict.reports import Case, coverage_cases, junit

MARKER = "mockllm"


class Report:
    """A pytest plugin that writes all verdicts: JSON (`.json`), JUnit XML (`.xml`) or text."""

    def __init__(self, file: str) -> None:
        self._path = Path(file)
        self._verdicts: list[tuple[str, Mapping[str, Any]]] = []
        self._write_error = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        verdict = getattr(report, MARKER, None)
        if verdict is not None:
            self._verdicts.append((report.nodeid, verdict))

    def pytest_sessionfinish(self, session: Any) -> None:
        failed = sum(not verdict["passed"] for _, verdict in self._verdicts)
        lines = [f"{len(self._verdicts)} tests, {failed} with a verdict that failed"]
        for test, verdict in self._verdicts:
            lines += ["", test, *(f"  {line}" for line in verdict["text"].splitlines())]
        tests = [{"test": test, **verdict} for test, verdict in self._verdicts]
        body = {"passed": not failed, "tests": tests}
        cases = starmap(_to_case, self._verdicts)
        try:
            _write_report(self._path, body, MARKER, cases, "\n".join(lines))
        except ServerFailed as error:
            # An exception here would keep pytest from printing its results.
            self._write_error = f"mockllm: {error}"
            session.exitstatus = session.exitstatus or 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._write_error:
            terminalreporter.write_line(self._write_error, red=True)


def _to_case(test: str, verdict: Mapping[str, Any]) -> Case:
    file, _, name = test.partition("::")
    return Case(file, name or file, () if verdict["passed"] else (verdict["text"],))


def write_coverage(file: str, coverage: Mapping[str, Any]) -> None:
    """Write the JSON of `/control/coverage` as `_write_report` does. Raises ServerFailed."""
    cases = coverage_cases(coverage)
    _write_report(Path(file), coverage, f"{MARKER} coverage", cases, coverage["text"])


def _write_report(
    path: Path, body: Mapping[str, Any], suite: str, cases: Iterable[Case], text: str
) -> None:
    """Write a report in the format of its suffix: JSON, JUnit XML or text. Raises ServerFailed."""
    match path.suffix.lower():
        case ".json":
            content = json.dumps(body, indent=1, ensure_ascii=False) + "\n"
        case ".xml":
            content = junit(suite, cases)
        case _:
            content = f"{text}\n"
    write_file(path, content)


def write_file(path: str | Path, text: str) -> None:
    """Write a text to a file, and make its folder if it is missing. Raises ServerFailed."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ServerFailed(f"{path}: cannot be written: {error.strerror}") from None
